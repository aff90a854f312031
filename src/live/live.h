/* Jobs that have not ended, in memory: what their rows say plus what only this process knows (calls
 * made, places taken). A live job can always be rebuilt from its rows; that is recovery and also
 * what follows a failed commit. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "live/live_job.h"

struct live;
struct live *live_create(void);
void live_destroy(struct live *);
struct live_job *live_find(const struct live *, uint64_t id); /* NULL: not live */
size_t live_count(const struct live *);
bool live_next(const struct live *, size_t *cursor, struct live_job **);
/* A new entry from a row: texts are copied, notes decoded; nothing is taken, no tasks. */
struct live_job *live_add(struct live *, const struct job_row *);
void live_remove(struct live *,
                 struct live_job *); /* frees it; its places must have been given back */

/* Jobs in state queued: priority first, then age. */
size_t live_waiting(const struct live *);
struct live_job *live_waiting_at(const struct live *, size_t i);
size_t live_wait_add(struct live *, struct live_job *); /* returns its position */
void live_wait_remove(struct live *, struct live_job *);
size_t live_wait_position(const struct live *, const struct live_job *);
struct lines *live_lines(const struct live *); /* the same jobs, those alike together */
/* Why it waits, ended ...: of its line while it stands in one. */
struct sentence live_reason(const struct live_job *);
const struct live_refusal *live_refusal(const struct live_job *);

/* Jobs that may hold places (job_state_holds()), in no order. */
size_t live_active(const struct live *);
struct live_job *live_active_at(const struct live *, size_t i);
void live_set_active(struct live *, struct live_job *, bool active);
/* What the scheduler is told of them, in the same order; kept by pass_note(). */
struct sched_running *live_running(const struct live *);

/* Memory for the tasks of the first generation (spec must be there). */
void live_make_tasks(struct live_job *);
/* Each changes a task and what its job counts of them; started_ms is of the state that is left. A
 * phase that may not follow is a fault of the core: it is logged, and taken. */
void live_set_state(struct live_job *, struct live_task *, enum task_state);
void live_set_phase(struct live_job *, struct live_task *, enum task_phase);
void live_set_taken(struct live_job *, struct live_task *, bool);
void live_set_turned(struct live_job *, struct live_task *, bool);
void live_count_tasks(struct live_job *); /* all of it anew: tasks were read from rows */
/* The tallies of all roles together. false: it has no tasks yet. */
bool live_tally(const struct live_job *, struct role_tally *sum);
/* Tasks of a job in that phase, and in one of a set (phase.h). */
uint32_t live_in_phase(const struct live_job *, enum task_phase);
uint32_t live_in_phases(const struct live_job *, bool (*in)(enum task_phase));
uint32_t live_taken(const struct live_job *); /* in all roles */
bool live_was_up(const struct live_task *);   /* it runs, or has run and ended: not if refused */
bool live_attempt(const struct live_task *);  /* its attempt has not ended */
bool live_untold(const struct live_task *);   /* it is to be launched, and never was */
bool live_due(const struct live_task *);      /* it is to be launched, first or once more */
bool live_again(const struct live_task *);    /* another attempt follows at not_before_ms */
/* Flat position, or UINT32_MAX when the job has no such task. */
uint32_t live_flat(const struct live_job *, struct task_ref);
uint64_t live_array_number(const struct live_job *); /* number of its array; 0: it is of none */
struct live_agent *live_agent(const struct live_job *, const char *node); /* NULL: none */
/* It has none there yet. The other agents move with an addition or a removal. */
struct live_agent *live_add_agent(struct live_job *, const char *node);
void live_remove_agent(struct live_job *, struct live_agent *); /* the last one takes its place */
void live_clear_agents(struct live_job *);
bool live_closing(const struct live_job *); /* an outcome is decided or a restart under way */
void live_set_reason(struct live_job *, const char *text);
void live_set_sentence(struct live_job *, const struct sentence *); /* may be its own */
const char *live_task_name(char out[160], const struct live_job *, uint32_t flat); /* "worker/1" */
/* Flat position of the task that it calls so, or UINT32_MAX. The spec must be there. */
uint32_t live_task_named(const struct live_job *, const char *name);

#endif
