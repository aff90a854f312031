/* One pass of the scheduler, for the files that share it: plan.c whose turn it is, start.c a job
 * that may start, claim.c room that is made by ending others, bundle.c jobs that start together,
 * wait_report.c and probe.c what is asked of it. */
#ifndef SCHED_PASS_H
#define SCHED_PASS_H

#include "base/map.h"
#include "base/vec.h"
#include "sched/future.h"
#include "sched/order.h"
#include "sched/quota_timeline.h"

#define RUN_MS_DEFAULT 86400000ull /* of jobs without a limit, unless the snapshot says */

struct waiting { /* becomes an entry at the end: most jobs wait, and entries are large */
    uint64_t job;
    const struct wait_reason *reason;
    uint32_t ahead;
};

struct pass {
    const struct sched_snapshot *snapshot;
    uint64_t now_ms;
    struct arena *arena;     /* of the plan */
    struct cluster *cluster; /* the clone */
    struct quota *quota;
    struct order *order;
    struct future *future;
    struct quota_timeline *quota_timeline;
    struct vector total;
    uint32_t *started;  /* of each job and those alike behind it */
    struct map *failed; /* shape -> reason */
    uint32_t depth, blocked, steps;
    uint32_t squeezes;           /* jobs that were fitted in beside promises */
    uint32_t evictions;          /* jobs for which others were to be ended */
    bool leaves;                 /* somebody is being ended */
    uint32_t right;              /* of the turn: rank_right() */
    uint64_t promised_to;        /* the first that something was promised in this pass */
    uint32_t heads;              /* jobs over a limit for which room was looked for, too */
    bool *leaving;               /* per running job: ended by this pass too */
    struct future_release *ends; /* of what runs, in the order of the snapshot */
    struct running *running;     /* what others may be offered of it; NULL: nobody looked */
    VEC(struct future_release) begun;
    VEC(struct promise) promises;
    VEC(size_t) claimants; /* jobs that others are being ended for */
    struct wait_reason ahead, after;
    uint32_t in_line; /* jobs of the order that wait for room so far */
    struct waiting *waits;
    size_t n_waits;
    struct entries {
        struct plan_entry *at;
        size_t n, cap;
    } entries, others; /* others: EVICT and RESERVE */
};

/* A pass step by step. Between two turns others may look at it. */
void pass_open(struct pass *, const struct sched_snapshot *, uint64_t now_ms, struct arena *);
bool pass_next(struct pass *, size_t *job, struct rank *); /* whose turn it is */
void pass_turn(struct pass *, size_t job, const struct rank *);
struct plan pass_entries(struct pass *); /* all turns are over */
void pass_close(struct pass *);

static inline const struct sched_job *job_at(const struct pass *pass, size_t i)
{
    return &pass->snapshot->jobs[i];
}
struct plan_entry *pass_entry(struct pass *); /* a new one */
struct plan_entry *pass_later(struct pass *); /* of EVICT and RESERVE, which come last */
uint64_t pass_usual(const struct pass *);     /* run time taken for jobs without a limit */
uint64_t pass_lasts(const struct pass *, const struct job_spec *); /* its limit, or that */
struct wait_reason *pass_reason(struct pass *, const struct wait_reason *);

void pass_wait(struct pass *, uint64_t job, const struct wait_reason *, uint32_t ahead);
/* Its reason and those alike behind it; the lane of its queue knows that it is blocked. */
void pass_blocked(struct pass *, size_t job, const struct rank *, const struct wait_reason *);
/* It starts, is counted, and the next one that asks for the same stands in its place. */
void pass_started(struct pass *, size_t job);
void pass_admit(struct pass *, const struct future_release *);

/* It waits for a time or for others: no turn comes to it. */
bool pass_aside(const struct pass *, size_t job);

/* Does the job run on capacity that nobody was sure of, so that its queue does not count it? */
bool start_idle(const struct pass *, size_t job);
struct quota_request start_ask(const struct pass *, size_t job, uint64_t id);
/* NULL: the queue and the user may have what the job asks. */
const struct wait_reason *start_over(struct pass *, size_t job, uint64_t id);
/* More than its queue or its user may ever have. */
bool start_hopeless(const struct pass *, size_t job);

struct placed_job { /* a job on places that it may have now; the cluster holds them */
    struct future_release release;
    struct task_place *places;
    uint32_t n_places;
};
/* Places for the job beside everything that is promised. Else why not, and nothing is taken. */
const struct wait_reason *start_seat(struct pass *, const struct job_spec *, uint64_t id,
                                     struct placed_job *);
/* The same, and it starts, as `id`. NULL: it does. Else why not. */
const struct wait_reason *start_job(struct pass *, size_t job, uint64_t id);
/* It cannot start now: keeps what it asks, of limits and of room, from the earliest time on. Its
 * reason, with that time. */
const struct wait_reason *start_later(struct pass *, size_t job, uint64_t id,
                                      const struct wait_reason *);
/* Ends others for it, when it may and that helps. true: some are being ended. */
bool claim_room(struct pass *, size_t job, uint64_t id);
/* All of its bundle at the turn of the first, or none. */
void bundle_turn(struct pass *, size_t job, const struct rank *);
/* Spot jobs whose bid is below the price of a node they hold. */
void claim_prices(struct pass *);

#endif
