/* What a running job holds, told without copying: a view into the caller's array of tasks. */
#ifndef SCHED_HELD_H
#define SCHED_HELD_H

#include "job/place.h"

struct held {
    const struct job_spec *spec;
    const struct task_place *first; /* place i lies stride bytes after place i - 1 */
    const bool *taken;              /* at the same stride: does it count? NULL: all do */
    size_t stride;
    uint32_t n;
};

#endif
