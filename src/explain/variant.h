/* Variants of a snapshot, to ask the planner of: without a waiting job, or with one more. */
#ifndef EXPLAIN_VARIANT_H
#define EXPLAIN_VARIANT_H

#include "sched/plan.h"

struct queues;

void variant_drop(struct arena *, struct sched_snapshot *, uint64_t job);
/* Its user, from queues, may be new to the snapshot. */
void variant_add(struct arena *, struct sched_snapshot *, const struct sched_job *,
                 const struct queues *, uint64_t now_ms);

#endif
