/* Why a job waits, or why it can never run. */
#ifndef SCHED_REASON_H
#define SCHED_REASON_H

#include "sched/gang.h"

/* A job that gang_place() just refused, on the same cluster. */
struct wait_reason reason_now(struct placement *, enum gang_answer);
/* The same for a cluster on which nothing is taken: said as what the cluster has. */
struct wait_reason reason_ever(struct placement *, enum gang_answer);
/* One that needs no look at the cluster: back-off, other jobs, the queue. */
struct wait_reason reason_plain(enum wait_why);

/* Its queue or its user has what it may have. */
struct wait_reason reason_quota(const struct quota_check *, const struct queue_spec *,
                                const struct vector *demand);

#endif
