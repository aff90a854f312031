/* The queues of a server, and what each user has had of them lately.
 *
 * A user's usage of a queue is the dominant share of the cluster that their jobs hold there, times
 * the hours, and halves every half-life (a setting). It is brought up to date whenever what is held
 * changes, in the turn that records it, and is computed in between: a restarted server goes on from
 * the rows and from what its jobs hold, to the same numbers. Integers only. Times are the core's
 * (ms); the caller commits. */
#ifndef QUEUE_QUEUES_H
#define QUEUE_QUEUES_H

#include "base/report.h"
#include "queue/tree.h"
#include "sched/plan.h"
#include "store/store.h"

struct queues_config { /* all of it outlives the queues */
    struct store *store;
    const struct cluster *cluster;
    const struct words *topology; /* as queue_tree_make() has it */
    uint64_t half_life_ms;        /* 0: QUEUES_HALF_LIFE_MS; UINT64_MAX: nothing is forgotten */
};
#define QUEUES_HALF_LIFE_MS (7ull * 24 * 3600 * 1000)

struct queues;
struct queues *queues_create(
    const struct queues_config *);    /* to be declared before any other call */
void queues_destroy(struct queues *); /* NULL-safe */
/* The tree anew, from that catalogue and the cluster as it is now. Users stay. */
void queues_declare(struct queues *, const struct catalogue *);
const struct queue_tree *queues_tree(const struct queues *);
uint32_t queues_version(const struct queues *); /* another one after each queues_declare() */

/* ---- for a plan ---- */
/* Parents before children; "default" is always there. They live until the next declaration. */
const struct queue_spec *queues_specs(const struct queues *, size_t *n);
/* Of a job's queue; "" and a name that nobody declared: the default one. */
uint32_t queues_position(const struct queues *, const char *name);
/* Of this owner in this queue; dense, from 0, the same as long as the server runs. Made when new.
 */
uint32_t queues_user(struct queues *, uint32_t queue, const char *owner, uint64_t now_ms);
/* Millionths of the cluster times hours, as decayed by now_ms, with what is held now. */
uint64_t queues_usage(const struct queues *, uint32_t user, uint64_t now_ms);
/* queues_user_count() users by position, in arena: those of the snapshot's jobs have their usage.
 */
const struct sched_user *queues_users(const struct queues *, struct arena *,
                                      const struct sched_snapshot *, uint64_t now_ms);

/* What users would have if others ran: a copy, for forecasts (sched/forecast.h: struct
 * forecast_usage). In arena. */
struct queues_forecast;
struct queues_forecast *queues_ahead(const struct queues *, struct arena *);
uint64_t queues_ahead_at(void *ahead, uint32_t user, uint64_t at_ms);
void queues_ahead_hold(void *ahead, uint32_t user, const struct vector *, bool more,
                       uint64_t at_ms);

/* ---- charging ---- */
struct queue_charge { /* what a job holds; nothing: it is forgotten */
    uint64_t job;
    const char *queue, *owner;
    struct vector held;
};
/* Its user is charged for that from now on instead of what was charged before. */
void queues_charge(struct queues *, const struct queue_charge *, uint64_t now_ms);
/* A job that was loaded held that since the user's row was written. */
void queues_resume(struct queues *, const struct queue_charge *, uint64_t now_ms);
/* Before a commit: the rows of users whose charge changed. */
void queues_record(struct queues *);
void queues_undone(struct queues *);                /* the commit failed */
void queues_load(struct queues *, uint64_t now_ms); /* the rows, before jobs are */

/* ---- bounds.c ---- */
/* A job that alone, with all tasks it may ever have, is more than its queue or one above ever
 * gives, or than one user may have of it, can never start: refused in report. 0, or -1. */
int queues_check_job(const struct queues *, const struct job_spec *, struct report *);

/* ---- for views ---- */
struct queue_user {
    uint32_t queue; /* position */
    const char *owner;
    struct vector held;
};
size_t queues_user_count(const struct queues *);
struct queue_user queues_user_at(const struct queues *, uint32_t user);

/* 2^60 times how much of a usage is left after dt_ms: 2^(-dt_ms / half_ms). half_ms UINT64_MAX:
 * all. For tests. */
uint64_t queues_decay(uint64_t dt_ms, uint64_t half_ms);

#endif
