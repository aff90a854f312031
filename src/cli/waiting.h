/* While a job waits: why, its place in the queue and when it starts, as one line on stderr. On a
 * terminal the line is written again in its place, elsewhere a new one is printed when it changes.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include "cli/cmd.h"

#include <sys/types.h>

struct waiting {
    struct cli *cli;
    uint64_t number; /* of the job */
    pid_t child;     /* looks and writes; 0: none */
    bool waits;      /* the job does, as far as is known */
};
/* Follows the job's state: the line is there while it is one that waits ("queued", "suspended");
 * NULL: the state is the one it had. Says nothing when --quiet or --json was given. */
void waiting_state(struct waiting *, const char *state);
/* Ends the line, which is wiped off a terminal. */
void waiting_end(struct waiting *);

/* A line on stderr that the next one takes the place of, on a terminal; wiped by NULL. */
void waiting_put_line(struct cli *, const char *text);
/* How far fetching an image is, of an event of a job, in arena; NULL: it says nothing of that. */
const char *waiting_image(struct arena *, const struct text_node *event);

/* One line for the job's view and its explanation (NULL: not known), in arena; NULL: it does not
 * wait. */
const char *waiting_text(struct arena *, const struct refused *here, const struct text_node *view,
                         const struct text_node *explanation, uint64_t now_ms);

#endif
