/* One job on the cluster: all of what it needs, or nothing. */
#ifndef SCHED_GANG_H
#define SCHED_GANG_H

#include "sched/placement.h"

/* On GANG_PLACED the cluster holds what placement->places says (n_places of them, shortened when
 * not all replicas fit); otherwise nothing was taken. */
enum gang_answer gang_place(struct placement *);

/* Tasks of a running job that trickle: as many as fit, also none (n_places 0). */
void gang_place_some(struct placement *);
/* The same, before the places are shortened to those that were given. */
void gang_fill(struct placement *);

/* For explaining: places what fits, group by group, and returns the first group that does not get
 * its least; NULL when all do. What was placed stays taken until fit_back(). */
struct group *gang_stuck(struct placement *);

#endif
