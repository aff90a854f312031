/* What a job lacks: the first thing that certainly keeps it from being placed on the cluster as it
 * is. */
#ifndef SCHED_SHORTAGE_H
#define SCHED_SHORTAGE_H

#include "sched/placement.h"

enum shortage_kind {
    SHORTAGE_NONE,
    SHORTAGE_MISFIT, /* no node is named, labelled or of the type asked for */
    SHORTAGE_DEMAND, /* of one thing alone there is too little for the group */
    SHORTAGE_NODES,  /* tasks that keep apart need more nodes */
    SHORTAGE_MIX,    /* each thing alone would do, not on the same nodes */
    SHORTAGE_TOTAL   /* all groups together ask for more than there is */
};
struct shortage {
    enum shortage_kind kind;
    const struct group *group; /* NULL for SHORTAGE_TOTAL */
    enum node_refusal misfit;
    const struct demand *demand; /* DEMAND, MIX, TOTAL */
    uint32_t needed, fits;       /* units; TOTAL: 1 and 0 */
    uint64_t free;               /* of the demand on all nodes in question */
    uint64_t best;               /* on the node that comes closest, after what fits there */
    uint64_t largest;            /* on the node that has most, before anything */
    uint32_t node;               /* that comes closest; UINT32_MAX: none */
    uint32_t short_roles;        /* TOTAL: roles that ask for it */
};

/* Does the group get `needed` more units, by counting alone? true: certainly not, and why. */
bool shortage_of_group(const struct placement *, const struct group *, uint32_t needed,
                       struct shortage *);
/* The same for the whole job: its least. */
bool shortage_find(const struct placement *, struct shortage *);

#endif
