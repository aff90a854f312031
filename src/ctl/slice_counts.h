/* What is left of a turn's slices (slices.h). Internal to ctl/. */
#ifndef CTL_SLICE_COUNTS_H
#define CTL_SLICE_COUNTS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slices {          /* of struct ctl */
    uint32_t rows;       /* tasks whose rows may still be written, of facts and of places;
                          * a member of an array is as many as one */
    uint32_t launches;   /* tasks that agents may still be told of until the next tick */
    uint32_t hosts;      /* tasks whose hosts may still be named, for launches */
    uint32_t deleted;    /* rows of deleted jobs that may still be removed; a replay has none, so
                          * nothing else is cut by it */
    bool deleting;       /* there may be such rows (removal.c) */
    bool plan_waits;     /* for the next tick, which has no slices */
    bool plans;          /* the last tick was one for plans */
    size_t coming;       /* agents that launches under way are still to start */
    VEC(uint64_t) later; /* jobs that go on with the next tick */
};

#endif
