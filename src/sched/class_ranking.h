/* Node classes in the order in which the potential would have them, for one shape of task: kept
 * from one decision to the next, so that a decision costs no look at every state.
 *
 * A memory of a set of classes, not part of them: it is never copied, and forgotten at will. */
#ifndef SCHED_CLASS_RANKING_H
#define SCHED_CLASS_RANKING_H

#include "sched/mix.h"

#include <stdbool.h>

#define CLASS_RANKINGS 64u /* shapes at a time */

struct node_score { /* of a node, or of the lowest one of a class; the least is the best */
    uint64_t units;
    int32_t price;             /* what the potential rises by */
    uint32_t filled;           /* of the device that a share goes to, milli */
    uint64_t gpu, cpu, memory; /* free */
    uint32_t node;
};
/* More units; then less waste; then fuller: less gpu free, then less cpu, then less memory; then
 * the earlier node. */
bool rank_better(const struct node_score *, const struct node_score *);

struct ranking_entry {
    struct node_score rank; /* node: not known here */
    uint32_t class, serial;
};
struct class_ranking {
    struct shape shape;
    bool built;    /* only when it is asked for a second time */
    uint32_t seen; /* serials below this are in it */
    struct ranking_entry *heap;
    uint32_t n, cap;
};
struct class_rankings {
    struct class_ranking at[CLASS_RANKINGS];
    uint32_t n, oldest;
    uint64_t version; /* of the potential */
};

struct class_rankings *class_rankings_create(void);
void class_rankings_forget(struct class_rankings *);
void class_rankings_destroy(struct class_rankings *); /* NULL-safe */
/* The ranking of the shape; another one is forgotten when there are too many. */
struct class_ranking *class_rankings_find(struct class_rankings *, const struct shape *);

void class_ranking_push(struct class_ranking *, const struct ranking_entry *);
struct ranking_entry class_ranking_pop(struct class_ranking *);

#endif
