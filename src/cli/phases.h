/* The life of one job as lines on a screen, from its events. */
#ifndef CLI_PHASES_H
#define CLI_PHASES_H

#include "base/buf.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct phases {
    uint64_t start_ms; /* of the job's first event */
    uint64_t last_seq; /* event reached */
    uint64_t tasks;
    const char *work_dir; /* NULL: a fresh one per task */
    bool color;
    uint64_t now_ms; /* the time of an end that is not final yet */
    unsigned failed; /* tasks told of so far */
    char fell[80];   /* the task whose rank ended the round, until ranks run again */
};
/* Adds the lines of one event; nothing for events that say nothing new. */
void phases_event(struct phases *, const struct text_node *event, struct buf *out);
/* The last line, from the job's view: that comes after the output, events of the end come before.
 */
void phases_final(struct phases *, const struct text_node *job, struct buf *out);

#endif
