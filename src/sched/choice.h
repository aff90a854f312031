/* Which node is next: for some units of a group, or for a whole job. */
#ifndef SCHED_CHOICE_H
#define SCHED_CHOICE_H

#include "sched/placement.h"

struct choice {
    uint32_t node;   /* POSITION_NONE: there is none */
    uint32_t device; /* for a unit of one sharing task: the one to use, or FIT_ANY_DEVICE */
    uint32_t units; /* that it holds, at most as many as are left; may be too high as fit_units() */
};
/* The node that takes most of the `left` units; of equal ones that where the potential of the
 * cluster rises least, without one the fullest. */
struct choice choice_for(const struct placement *, const struct group *, uint32_t left);
/* The fullest node that may hold all units of all groups, or POSITION_NONE. */
uint32_t choice_for_all(const struct placement *);
/* Units of the group that one node holds now, counted up to `most`. */
uint32_t choice_units(const struct placement *, const struct group *, uint32_t node, uint32_t most);
/* How many units of the group fit where it is now, counted up to `most`. */
uint32_t choice_count(const struct placement *, const struct group *, uint32_t most);

/* Nodes that count alike for the group: one of each class, or each node by itself where a look at
 * one says nothing of the next (each: in any case so). In no order. */
struct node_walk {
    const struct placement *placement;
    bool each;
    uint32_t at;
};
struct node_walk choice_nodes(const struct placement *, const struct group *, bool each);
/* The lowest node of the next ones, and how many there are; false at the end. */
bool node_walk_next(struct node_walk *, uint32_t *node, uint32_t *n);

#endif
