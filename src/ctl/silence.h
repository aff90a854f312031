/* Agents of other machines that are not heard: since when, and for how long their jobs wait. What
 * follows of it is decided where somebody can go on without them (rdzv_table.c). */
#ifndef CTL_SILENCE_H
#define CTL_SILENCE_H

#include "engine/engine.h"
#include "job/completion.h"

struct arena;
struct ctl;
struct live_agent;
struct live_job;
struct silence_memory;

/* AGENT_SILENT: nothing is known of what it runs. */
void silence_begin(struct ctl *, struct live_job *, const struct engine_fact *);
/* It is silent since .silent_ms: its job is looked at when that is too long. The spec must be
 * there.
 */
void silence_look(struct ctl *, const struct live_job *, const struct live_agent *);
/* After a restart: agents on machines were heard by the server of before. */
void silence_recover(struct ctl *);
/* A commit failed and the job comes back from its rows. They do not say since when an agent is
 * silent, nor which ones this server has not heard yet, nor which tasks are left: that is saved
 * before, in the arena, and given back to the agents and attempts that are still the same. */
const struct silence_memory *silence_save(struct arena *, const struct live_job *);
void silence_restore(struct ctl *, struct live_job *, const struct silence_memory *);
/* As job_verdict, when tasks that were left need not be waited for: the others have done what they
 * met for. */
struct verdict silence_verdict(const struct ctl *, const struct live_job *);
#endif
