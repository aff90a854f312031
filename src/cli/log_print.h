/* Records of the log stream as lines with the task's name in front, and the place reached of each
 * task. */
#ifndef CLI_LOG_PRINT_H
#define CLI_LOG_PRINT_H

#include "base/map.h"
#include "base/vec.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct log_task {
    char *name;
    uint64_t attempt, offset;
    struct buf *partial; /* a line that has not ended */
    unsigned color;
};
struct log_print {
    VEC(struct log_task *) tasks; /* in the order of their first record */
    FILE *to;
    bool names, color, json;
    int width; /* of the widest name so far */
};
void log_print_init(struct log_print *, FILE *to, bool names, bool color);
void log_print_fini(struct log_print *); /* lines that never ended are printed */
void log_print_record(struct log_print *, const struct text_node *record);
/* Goes on there: this much of the task was shown elsewhere. */
void log_print_place(struct log_print *, const char *task, uint64_t attempt, uint64_t offset);
/* {"from": {"worker/0": {"attempt": 1, "offset": 123}}}; "" when nothing was read yet. */
void log_print_resume(const struct log_print *, struct buf *body);

#endif
