/* Launchers inside a job's tasks meet here: one rendezvous (rdzv/) for each role and run id
 * of a generation, made by the first JOIN and never stored: after a restart it is made again from
 * what its members still hold. What is said is applied when it is heard, orders go out in the turn,
 * events wait for its commit. */
#ifndef RDZV_JOBS_RDZV_TABLE_H
#define RDZV_JOBS_RDZV_TABLE_H

#include "engine/engine.h"
#include "rdzv/jobs/launcher_events.h"

#include <stdbool.h>
#include <stdint.h>

struct dialects;
struct job_spec;
struct live;
struct live_job;
struct rdzv_table;

/* What the server tells it when asked, and does for it. */
struct rdzv_table_server {
    void *arg;
    uint64_t (*now)(const void *arg);        /* milliseconds, by which is decided */
    uint64_t (*mono_us)(const void *arg);    /* microseconds that go on */
    void (*wake)(void *arg, uint64_t at_ms); /* rdzv_table_tick() not later than that */
    /* The job's spec, decoded when needed. NULL: its row cannot be read. */
    const struct job_spec *(*spec)(void *arg, struct live_job *);
    launcher_events_write *write;
};
struct rdzv_table_config {
    struct engine *engine; /* by which launchers are told */
    const struct dialects *dialects;
    struct live *live;
    struct rdzv_table_server server;
};
struct rdzv_table *rdzv_table_create(const struct rdzv_table_config *);
void rdzv_table_destroy(struct rdzv_table *); /* NULL-safe */

/* LAUNCHER, and AGENT_JOINED: launchers known over an earlier connection of that agent have to come
 * again, within a time. Other facts are none of its business. */
void rdzv_table_hear(struct rdzv_table *, const struct engine_fact *);
/* What follows from the tasks' states: members whose attempt is over are lost, and how many can
 * still come changes. */
void rdzv_table_follow(struct rdzv_table *, struct live_job *);
/* Which rank failed first, when the launchers that this task (flat) met ended because of it: a
 * clause that holds until the next call, and the task that rank was of. NULL: they did not. */
const char *rdzv_table_root(struct rdzv_table *, const struct live_job *, uint32_t flat,
                            uint32_t *of);
/* Have the launchers that this role's tasks met ended their last rendezvous, and well? */
bool rdzv_table_done(const struct rdzv_table *, const struct live_job *, uint32_t role);
/* Has a launcher of the job been told that all ranks ended well, and its attempt still lives? It is
 * about to end by itself. */
bool rdzv_table_ending(const struct rdzv_table *, const struct live_job *);
/* Deadlines that are due; when the next one is, the core is woken. */
void rdzv_table_tick(struct rdzv_table *);

/* The steps of a turn: events into the open transaction; orders to launchers, which wait for no
 * commit; undone or committed.
 * A job that is over or begins anew leaves its rendezvous. */
void rdzv_table_record(struct rdzv_table *);
void rdzv_table_act(struct rdzv_table *);
void rdzv_table_undone(struct rdzv_table *);
void rdzv_table_committed(struct rdzv_table *);
void rdzv_table_forget(struct rdzv_table *, uint64_t job,
                       uint32_t generation);        /* all but that one */
bool rdzv_table_idle(const struct rdzv_table *);    /* nothing to record or to send */
size_t rdzv_table_count(const struct rdzv_table *); /* jobs whose launchers have met */

#endif
