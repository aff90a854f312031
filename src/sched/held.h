/* What a running job holds, read where its tasks are kept: nothing is copied. */
#ifndef SCHED_HELD_H
#define SCHED_HELD_H

#include "sched/cluster.h"

#include <stddef.h>

/* Place i lies i * stride bytes after first. It counts when the flag as far after taken is true;
 * taken NULL: every place counts. */
struct held {
    const struct job_spec *spec;
    const struct task_place *first;
    const bool *taken;
    size_t stride;
    uint32_t n;
    const uint32_t *nodes; /* position of each place's node, UINT32_MAX where nothing counts; NULL:
                              looked up by name each time */
};
struct held_sum {
    uint64_t cpu_milli, memory, gpu_milli;
};

/* Places that lie side by side and all count. */
struct held held_of(const struct job_spec *, const struct task_place *, uint32_t n);
const struct task_place *held_place(const struct held *, uint32_t i);
/* Node of place i; UINT32_MAX when nothing counts there. */
uint32_t held_node(const struct held *, const struct cluster *, uint32_t i);
/* Fills nodes, in the arena; for what is given and taken more than once. */
void held_locate(struct held *, const struct cluster *, struct arena *);

/* What is read to take or give a job lies in four places, each known from the one before. Who goes
 * through many calls this for those to come, HELD_AHEAD of them, each time he goes on to the next;
 * steps: how far it still is. */
#define HELD_AHEAD 12u
void held_fetch(const struct held *, const struct cluster *, uint32_t steps);
/* All of it or, when it does not fit, nothing and false. */
bool held_take(struct cluster *, const struct held *);
/* What was taken before; anything else is a bug. */
void held_give(struct cluster *, const struct held *);
/* Undoes held_give, also where a device is closed or the node has less than its tasks hold. */
void held_take_back(struct cluster *, const struct held *);
struct held_sum held_amounts(const struct held *);

#endif
