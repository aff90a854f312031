/* The scheduler: (snapshot, now) -> plan. Pure: no I/O, no clock, integers only, stable order. */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include "sched/job_shape.h"
#include "sched/snapshot.h"

/* All of plan lives in arena. Gangs are all-or-nothing across roles; a gang that does not fit takes
 * nothing. Every job of the snapshot gets exactly one of ADMIT and WAIT; those alike that wait
 * share one WAIT under the id of the first that does. Besides, RESERVE says when the first blocked
 * job of a queue starts, and EVICT who is to be ended for a job that waits. */
struct plan sched_plan(const struct sched_snapshot *, uint64_t now_ms, struct arena *);

/* Could this job ever run with every node up, undrained and empty? 0; or -1 with the numbers in
 * reason. */
int sched_possible(const struct cluster *, const struct job_spec *, struct arena *,
                   struct wait_reason *);
/* What this one job would do now: ADMIT with places or WAIT with the reason; also for explain and
 * dry runs. */
struct plan_entry sched_try(const struct cluster *, const struct sched_job *, uint64_t now_ms,
                            struct arena *);
/* Example places for `check --env` without a server: one big node "node" at 127.0.0.1, ports from
 * port_first. */
struct plan_entry sched_example(const struct job_spec *, struct arena *);

/* Why the next task finds no place now. more: tasks of a running job, or n 0: its job as a whole,
 * of which the least is placed first. Texts in arena. */
struct unfits sched_unfit(const struct cluster *, const struct sched_more *more, struct arena *);

#endif
