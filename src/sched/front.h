/* Shelves in the order in which the potential would have them, for one shape of task: kept from one
 * decision to the next, so that a decision costs no look at every state.
 *
 * A memory of a set of shelves, not part of them: it is never copied, and forgotten at will. */
#ifndef SCHED_FRONT_H
#define SCHED_FRONT_H

#include "sched/mix.h"

#include <stdbool.h>

#define FRONTS 64u /* shapes at a time */

struct grade { /* of a node, or of the lowest one of a shelf; the least is the best */
    uint64_t units;
    int32_t price;             /* what the potential rises by */
    uint32_t filled;           /* of the device that a share goes to, milli */
    uint64_t gpu, cpu, memory; /* free */
    uint32_t node;
};
/* More units; then less waste; then fuller: less gpu free, then less cpu, then less memory; then
 * the earlier node. */
bool rank_better(const struct grade *, const struct grade *);

struct front_entry {
    struct grade rank; /* node: not known here */
    uint32_t shelf, serial;
};
struct front {
    struct shape shape;
    bool built;    /* only when it is asked for a second time */
    uint32_t seen; /* serials below this are in it */
    struct front_entry *heap;
    uint32_t n, cap;
};
struct fronts {
    struct front at[FRONTS];
    uint32_t n, oldest;
    uint64_t version; /* of the potential */
};

struct fronts *fronts_create(void);
void fronts_forget(struct fronts *);
void fronts_destroy(struct fronts *); /* NULL-safe */
/* The front of the shape; another one is forgotten when there are too many. */
struct front *fronts_find(struct fronts *, const struct shape *);

void front_push(struct front *, const struct front_entry *);
struct front_entry front_pop(struct front *);

#endif
