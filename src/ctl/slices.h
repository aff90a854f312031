/* How much of a large job one turn of the loop does. A job has up to 65,536 tasks, and nobody waits
 * for all of them in one turn: what is left goes on with the next tick. Work is counted in tasks,
 * so that a replay cuts it at the same places. */
#ifndef CTL_SLICES_H
#define CTL_SLICES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define SLICE_TASKS   512u
#define SLICE_HOSTS   4u /* times as many: tasks whose hosts are named */
#define SLICE_DELETED 4u /* times as many: rows of deleted jobs */

struct ctl;
struct live_job;

struct slices {           /* of struct ctl */
    uint32_t rows;        /* tasks whose rows may still be written, of facts and of places;
                           * a member of an array is as many as one */
    uint32_t launches;    /* tasks that agents may still be told of until the next tick */
    uint32_t hosts;       /* tasks whose hosts may still be named, for launches */
    uint32_t deleted;     /* rows of deleted jobs that may still be removed; a replay has none, so
                           * nothing else is cut by it */
    bool deleting;        /* there may be such rows (removal.c) */
    size_t coming;        /* agents that launches under way are still to start */
    VEC(uint64_t) later;  /* jobs that go on with the next tick */
    VEC(uint64_t) arrays; /* those whose members are not all written, or not all told (members.c) */
};

/* A new turn: all of its slices, and the jobs that wait for one are touched. */
void slices_begin(struct ctl *);
/* Tasks of one slice. */
uint32_t slices_size(const struct ctl *);
/* Takes n tasks, or what is left of it, out of a slice. */
void slices_spend(uint32_t *slice, uint32_t n);
/* The job goes on with the next tick, which comes at once. */
void slices_later(struct ctl *, struct live_job *);

/* removal.c: the next slice of what deleted jobs left in the records. */
void removal_go_on(struct ctl *);

#endif
