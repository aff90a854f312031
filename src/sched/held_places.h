/* What a running job holds, read where its tasks are kept: nothing is copied. */
#ifndef SCHED_HELD_PLACES_H
#define SCHED_HELD_PLACES_H

#include "sched/cluster.h"

#include <stddef.h>

/* Place i lies i * stride bytes after first. It counts when the flag as far after taken is true;
 * taken NULL: every place counts. */
struct held_places {
    const struct job_spec *spec;
    const struct task_place *first;
    const bool *taken;
    size_t stride;
    uint32_t n;
    const uint32_t *nodes; /* position of each place's node, UINT32_MAX where nothing counts; NULL:
                              looked up by name each time */
};
struct held_places_sum {
    uint64_t cpu_milli, memory, gpu_milli;
};

/* Places that lie side by side and all count. */
struct held_places held_places_of(const struct job_spec *, const struct task_place *, uint32_t n);
const struct task_place *held_places_place(const struct held_places *, uint32_t i);
/* Node of place i; UINT32_MAX when nothing counts there. */
uint32_t held_places_node(const struct held_places *, const struct cluster *, uint32_t i);
/* Fills nodes, in the arena; for what is given and taken more than once. */
void held_places_locate(struct held_places *, const struct cluster *, struct arena *);

/* What is read to take or give a job lies in four places, each known from the one before. Who goes
 * through many calls this for those to come, HELD_PLACES_AHEAD of them, each time he goes on to the
 * next; steps: how far it still is. */
#define HELD_PLACES_AHEAD 12u
void held_places_fetch(const struct held_places *, const struct cluster *, uint32_t steps);
/* All of it or, when it does not fit, nothing and false. */
bool held_places_take(struct cluster *, const struct held_places *);
/* What was taken before; anything else is a bug. */
void held_places_give(struct cluster *, const struct held_places *);
/* Undoes held_places_give, also where a device is closed or the node has less than its tasks hold.
 */
void held_take_back(struct cluster *, const struct held_places *);
struct held_places_sum held_places_amounts(const struct held_places *);

#endif
