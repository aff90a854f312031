/* The queues of this server, and what each user has had of them lately.
 *
 * A user's usage of a queue is the dominant share of the cluster that their jobs hold there, times
 * the hours, and halves every half-life (a setting). It is brought up to date whenever what is held
 * changes, in the turn that records it, and is computed in between: a restarted server goes on from
 * the rows and from what its jobs hold, to the same numbers. Integers only. */
#ifndef CTL_QUEUES_H
#define CTL_QUEUES_H

#include "ctl/live.h"
#include "queue/tree.h"

struct ctl;
struct queues;
#define QUEUES_HALF_LIFE_MS (7ull * 24 * 3600 * 1000) /* when the setting is 0 */

struct queues *queues_create(void);
void queues_destroy(struct queues *); /* NULL-safe */
/* The tree anew, from the catalogue and the cluster as they are now. Users stay. */
void queues_make(struct ctl *);
const struct queue_tree *queues_tree(const struct ctl *);

/* ---- for a plan ---- */
/* Parents before children; "default" is always there. They live until the next declaration. */
const struct queue_spec *queues_specs(const struct ctl *, size_t *n);
/* Of a job's queue; "" and a name that nobody declared: the default one. */
uint32_t queues_position(const struct ctl *, const char *name);
/* Of this owner in this queue; dense, from 0, the same as long as the server runs. Made when new.
 */
uint32_t queues_user(struct ctl *, uint32_t queue, const char *owner);
/* Millionths of the cluster times hours, as decayed by now_ms, with what is held now. */
uint64_t queues_usage(const struct ctl *, uint32_t user, uint64_t now_ms);
uint32_t queues_version(const struct ctl *); /* another one after each queues_make() */
/* Writes both into the job, when the tree changed since. */
void queues_locate(struct ctl *, struct live_job *);
/* queues_user_count() users by position, in arena: those of the snapshot's jobs have their usage.
 */
const struct sched_user *queues_users(const struct ctl *, struct arena *,
                                      const struct sched_snapshot *);

/* What users would have if others ran: a copy, for forecasts (sched/forecast.h: struct
 * forecast_usage). In arena. */
struct queues_ahead;
struct queues_ahead *queues_ahead(const struct ctl *, struct arena *);
uint64_t queues_ahead_at(void *ahead, uint32_t user, uint64_t at_ms);
void queues_ahead_hold(void *ahead, uint32_t user, const struct vector *, bool more,
                       uint64_t at_ms);

/* ---- charging ---- */
/* Before the commit: charges the users of all touched jobs for what these hold now instead of what
 * was charged before, and writes the rows of users whose charge changed. So nobody has to call
 * anything when places are taken or given. */
void queues_record(struct ctl *);
void queues_release(struct ctl *, const struct live_job *); /* it is forgotten: holds nothing */
void queues_undone(struct ctl *);                           /* the commit failed */
/* At the start: the rows, before jobs are loaded; what a loaded job holds, as held since. */
void queues_load(struct ctl *);
void queues_resume(struct ctl *, const struct live_job *);

/* ---- for views ---- */
struct queue_user {
    uint32_t queue; /* position */
    const char *owner;
    struct vector held;
};
size_t queues_user_count(const struct ctl *);
struct queue_user queues_user_at(const struct ctl *, uint32_t user);

/* 2^60 times how much of a usage is left after dt_ms: 2^(-dt_ms / half_ms). half_ms UINT64_MAX:
 * all. For tests. */
uint64_t queues_decay(uint64_t dt_ms, uint64_t half_ms);

#endif
