/* What the node check does, in order and blocking; for a child process (check.c). */
#ifndef LAUNCH_CHECK_WORK_H
#define LAUNCH_CHECK_WORK_H

#include "launch/check_task.h"

#define CHECK_FIGURES_MAX 512

struct check_answer { /* through a pipe, from the child to its parent */
    int32_t result;   /* enum rdzv_check_result */
    uint64_t took_us;
    char figures[CHECK_FIGURES_MAX], why[CHECK_WHY_MAX];
};

/* took_us: time of work that nodes are compared by: matmul, memory, loopback, partners; not the
 * disk (it differs between good nodes) and not waiting. */
void check_work(const struct check_task *, struct check_answer *);

#endif
