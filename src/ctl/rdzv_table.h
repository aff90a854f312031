/* Launchers inside a job's tasks meet here: one rendezvous machine (rdzv/) for each role and run id
 * of a generation, made by the first JOIN and never stored: after a restart it is made again from
 * what its members still hold. What is said is applied when it is heard, orders go out in the turn,
 * events wait for its commit. */
#ifndef CTL_RDZV_TABLE_H
#define CTL_RDZV_TABLE_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct live_job;
struct rdzv_table;

struct rdzv_table *rdzv_table_create(void);
void rdzv_table_destroy(struct rdzv_table *); /* NULL-safe */

/* LAUNCHER, and AGENT_JOINED: launchers known over an earlier connection of that agent have to come
 * again, within a time. Other facts are none of its business. */
void rdzv_table_hear(struct ctl *, const struct engine_fact *);
/* What follows from the tasks' states: members whose attempt is over are lost, and how many can
 * still come changes. */
void rdzv_table_follow(struct ctl *, struct live_job *);
/* Which rank failed first, when the launchers that this task (flat) met ended because of it: a
 * clause that holds until the next call, and the task that rank was of. NULL: they did not. */
const char *rdzv_table_root(struct ctl *, const struct live_job *, uint32_t flat, uint32_t *of);
/* Have the launchers that this role's tasks met ended their last rendezvous, and well? */
bool rdzv_table_done(const struct ctl *, const struct live_job *, uint32_t role);
/* Has a launcher of the job been told that all ranks ended well, and its attempt still lives? It is
 * about to end by itself. */
bool rdzv_table_ending(const struct ctl *, const struct live_job *);
/* Deadlines that are due; when the next one is, the core is woken. */
void rdzv_table_tick(struct ctl *);

/* The steps of a turn: events into the open transaction; orders to launchers, which wait for no
 * commit; undone or committed.
 * A job that is over or begins anew leaves its rendezvous. */
void rdzv_table_record(struct ctl *);
void rdzv_table_act(struct ctl *);
void rdzv_table_undone(struct ctl *);
void rdzv_table_committed(struct ctl *);
void rdzv_table_forget(struct ctl *, uint64_t job, uint32_t generation); /* all but that one */
bool rdzv_table_idle(const struct ctl *);    /* nothing to record or to send */
size_t rdzv_table_count(const struct ctl *); /* jobs whose launchers have met */

#endif
