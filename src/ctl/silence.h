/* Agents of other machines that are not heard: since when, and for how long their jobs wait. What
 * follows of it is decided where somebody can go on without them (meeting.c). */
#ifndef CTL_SILENCE_H
#define CTL_SILENCE_H

#include "ctl/away_view.h"
#include "engine/engine.h"
#include "job/completion.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct ctl;
struct live_agent;
struct live_job;

/* AGENT_SILENT: nothing is known of what it runs. */
void silence_begin(struct ctl *, struct live_job *, const struct engine_fact *);
/* It is heard again; its tasks are left out of nothing from now on. */
void silence_end(struct live_job *, const char *node);
/* It is silent since .silent_ms: its job is looked at when that is too long. The spec must be
 * there.
 */
void silence_look(struct ctl *, const struct live_job *, const struct live_agent *);
/* After a restart: agents on machines were heard by the server of before. */
void silence_recover(struct ctl *);
/* Has it been silent for longer than its job waits for those that it can do without? */
bool silence_past(const struct ctl *, const struct live_job *, const struct live_agent *);
/* As job_verdict, when tasks that were left need not be waited for: the others have done what they
 * met for. */
struct verdict silence_verdict(const struct ctl *, const struct live_job *);
/* Machines that cannot be reached and have an agent of the job, in arena. */
struct away_list silence_view(const struct ctl *, struct arena *, const struct live_job *);
/* "its machine has been silent for 3 s" */
const char *silence_text(char out[96], const struct ctl *, const struct live_agent *);

#endif
