/* Shares of queues as time goes on: from when a queue and a user may have what a job asks, and what
 * is kept for it from then on. What future.h is for nodes, for limits.
 *
 * A job that is over a limit starts when enough of what counts against that limit has ended. Those
 * behind it that ask for less are within the limit before, and would use up each bit that comes
 * free. So what the first one asks is kept from the moment that run-time limits give it, and others
 * of the queue, of those beside it below the same limit, and of the user, start only when they are
 * over by then or leave that much. */
#ifndef SCHED_QUOTA_TIMELINE_H
#define SCHED_QUOTA_TIMELINE_H

#include "sched/quota.h"

#define QUOTA_NEVER            UINT64_MAX
#define QUOTA_RESERVATIONS_MAX 64u /* are kept in a pass; what comes after is not */

struct quota_request {
    uint64_t job;
    uint32_t queue, user;
    struct vector demand;
    uint64_t lasts_ms; /* it runs at most so long */
};

struct quota_timeline;
struct quota_timeline *quota_timeline_create(struct arena *, const struct queue_spec *, size_t n,
                                             uint64_t now_ms);
/* It runs, counts in its queue and ends by then at the latest; an end that is due is taken for the
 * next millisecond. */
void quota_timeline_runs(struct quota_timeline *, const struct quota_request *, uint64_t ends_ms);
/* The last n of quota_timeline_runs() were not meant. */
void quota_timeline_forget(struct quota_timeline *, size_t n);

/* The earliest time, not before from_ms, from which its queue, those above and its user may have
 * what it asks until it ends, beside everything that is kept. QUOTA_NEVER: it asks for more than a
 * limit, or limits are kept for ever. */
uint64_t quota_timeline_earliest(struct quota_timeline *, const struct quota_request *,
                                 uint64_t from_ms);
/* From then on it is kept for the job, until it would end. */
void quota_timeline_keep(struct quota_timeline *, const struct quota_request *, uint64_t at_ms);
/* The job for which something is kept that this one would use when it starts now; 0: it may. */
uint64_t quota_timeline_blocker(const struct quota_timeline *, const struct quota_request *);

#endif
