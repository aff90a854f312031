/* Whose turn it is: the waiting jobs of a snapshot, best rank first, while a pass changes what
 * queues and users have. */
#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include "sched/snapshot.h"

/* What a job's turn is made of, compared from top to bottom. */
struct rank {
    bool claims;          /* others were ended for it */
    bool sure;            /* its queue is sure of what it asks */
    bool idle;            /* it would start on capacity that nobody is sure of, and comes after */
    uint32_t priority;    /* 1 to 9; of an intelligent queue raised by waiting */
    uint64_t promised_ms; /* the earlier the better; UINT64_MAX: nothing was promised */
    uint64_t load;        /* of its queue: quota_load() */
    uint64_t usage;       /* of its user in the queue: decayed, and an hour of what is held now */
    uint64_t id;          /* age */
};

struct order;
/* Jobs that wait for a time or for others are left out. now_ms is the pass's. */
struct order *order_create(struct arena *, const struct sched_snapshot *, struct quota *,
                           const struct vector *total, uint64_t now_ms);
/* The position of the next job and its rank; false: no job is left. A job of a closed queue comes
 * too: see order_closed(). */
bool order_next(struct order *, size_t *job, struct rank *);
/* It started, and the next one that asks for the same (id) stands in its place. */
void order_again(struct order *, size_t job, uint64_t id);
/* It stays blocked: what that means for those behind it in its queue. blocked_ms: since when. */
void order_blocked(struct order *, size_t job, const struct rank *);
/* May nobody of the job's queue start any more in this pass? */
bool order_closed(const struct order *, size_t job);
/* A blocked job is told a time when it is the first of its queue that lacks this (of its user, when
 * that is over its limit): who lacks room must not wait behind those who are over a limit. Not in
 * round robin, where everybody passes. */
enum order_lack { LACKS_ROOM, LACKS_SHARE, LACKS_USER_SHARE };
bool order_first_blocked(const struct order *, size_t job, const struct rank *, enum order_lack);
void order_told(struct order *, size_t job, enum order_lack);

/* The job at that position of the snapshot, which has no turn, is another one now. */
void order_renew(struct order *, size_t job);
/* vector_of_job() of it. */
const struct vector *order_demand(const struct order *, size_t job);
/* A job of the snapshot as it would rank now, under this id. */
struct rank order_rank(const struct order *, size_t job, uint64_t id);
/* What of a rank stands before promises, as one number: the higher the better, below
 * PLAN_RIGHT_FIRST. */
uint32_t rank_right(const struct rank *);
bool rank_before(const struct rank *, const struct rank *); /* the first comes first */
struct rank rank_of(const struct sched_snapshot *, const struct quota *, size_t job,
                    const struct vector *total, uint64_t now_ms);

#endif
