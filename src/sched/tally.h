/* May a job fit, by counting what each node could hold of it; kept up to date node by node while
 * things come and go. */
#ifndef SCHED_TALLY_H
#define SCHED_TALLY_H

#include "sched/placement.h"

struct tally {
    struct placement placement; /* what the groups ask for; nothing is placed with it */
    uint32_t *units; /* a slot per node and group: units it could hold, at most `least` */
    bool *allowed;   /* the same slots: may be there at all */
    uint64_t *sums;  /* per group */
    size_t too_few;  /* groups whose sum is below their least */
    bool *of_use;    /* per node: may have a task of the job at all */
    uint32_t n_nodes;
};

/* In the arena. The cluster tells which nodes are in question; they have to stay as they are: up,
 * drained, labels. Nothing is counted yet. */
void tally_init(struct tally *, struct arena *, struct cluster *, const struct job_spec *);
void tally_count(struct tally *, const struct cluster *); /* all nodes */
void tally_node(struct tally *, const struct cluster *, uint32_t node);
/* false: certainly no room for its least. Ports are not looked at. */
bool tally_enough(const struct tally *);
/* What tally_enough() would say of this cluster, without keeping the count. */
bool tally_would_do(const struct tally *, const struct cluster *);
/* Enough means room: one role of single tasks without ports. */
bool tally_is_certain(const struct tally *);

#endif
