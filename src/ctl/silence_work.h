/* What the core does about agents that are silent (live/silence.h): their jobs are looked at again
 * in time. Inside ctl/. */
#ifndef CTL_SILENCE_WORK_H
#define CTL_SILENCE_WORK_H

struct ctl;
struct engine_fact;
struct live_agent;
struct live_job;
struct silence_memory;

/* AGENT_SILENT: nothing is known of what it runs. */
void core_begin_silence(struct ctl *, struct live_job *, const struct engine_fact *);
/* It is silent: its job is looked at when that is too long. The spec must be there. */
void core_look_at_silence(struct ctl *, const struct live_job *, const struct live_agent *);
/* After a restart: agents on machines were heard by the server of before. */
void core_recover_silence(struct ctl *);
/* silence_restore(), and its jobs are looked at in time. */
void core_restore_silence(struct ctl *, struct live_job *, const struct silence_memory *);

#endif
