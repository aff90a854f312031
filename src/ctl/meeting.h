/* Launchers inside a job's tasks meet here: one rendezvous machine (rdzv/) for each role and run id
 * of a generation, made by the first JOIN and never stored: after a restart it is made again from
 * what its members still hold. What is said is applied when it is heard, orders go out in the turn,
 * events wait for its commit. */
#ifndef CTL_MEETING_H
#define CTL_MEETING_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct live_job;
struct meetings;

struct meetings *meetings_create(void);
void meetings_destroy(struct meetings *); /* NULL-safe */

/* LAUNCHER, and AGENT_JOINED: launchers known over an earlier connection of that agent have to come
 * again, within a time. Other facts are none of its business. */
void meetings_hear(struct ctl *, const struct engine_fact *);
/* What follows from the tasks' states: members whose attempt is over are lost, and how many can
 * still come changes. */
void meetings_follow(struct ctl *, struct live_job *);
/* Which rank failed first, when the launchers that this task (flat) met ended because of it: a
 * clause that holds until the next call, and the task that rank was of. NULL: they did not. */
const char *meetings_root(struct ctl *, const struct live_job *, uint32_t flat, uint32_t *of);
/* Have the launchers that this role's tasks met ended their last rendezvous, and well? */
bool meetings_done(const struct ctl *, const struct live_job *, uint32_t role);
/* Has a launcher of the job been told that all ranks ended well, and its attempt still lives? It is
 * about to end by itself. */
bool meetings_ending(const struct ctl *, const struct live_job *);
/* Deadlines that are due; when the next one is, the core is woken. */
void meetings_tick(struct ctl *);

/* The steps of a turn: events into the open transaction; orders to launchers, which wait for no
 * commit; undone or committed.
 * A job that is over or begins anew leaves its meetings. */
void meetings_record(struct ctl *);
void meetings_act(struct ctl *);
void meetings_undone(struct ctl *);
void meetings_committed(struct ctl *);
void meetings_forget(struct ctl *, uint64_t job, uint32_t generation); /* all but that one */
bool meetings_idle(const struct ctl *);    /* nothing to record or to send */
size_t meetings_count(const struct ctl *); /* jobs whose launchers have met */

#endif
