/* Agents of other machines that are not heard: since when, and what is kept of it. For how long
 * their jobs wait says silence_bound.h; what follows is decided where somebody can go on without
 * them (rdzv/jobs/rdzv_table.h). */
#ifndef LIVE_SILENCE_H
#define LIVE_SILENCE_H

#include "live/live.h"

struct silence_memory;

/* Nothing is known of what the agent there runs; it was last heard quiet_ms ago. NULL: there is
 * none, or it is known already. */
struct live_agent *silence_begin(struct live_job *, const char *node, uint64_t now_ms,
                                 uint64_t quiet_ms);
/* After a restart: it was heard by the server of before, and counts as silent from now on. */
void silence_assume(struct live_job *, struct live_agent *, uint64_t now_ms);
/* When its job has waited too long for an agent that is silent; 0: never. The spec must be there.
 */
uint64_t silence_until(const struct live_job *, const struct live_agent *);
/* A commit failed and the job comes back from its rows. They do not say since when an agent is
 * silent, nor which ones this server has not heard yet, nor which tasks are left: that is saved
 * before, in the arena, and given back to the agents and attempts that are still the same. */
const struct silence_memory *silence_save(struct arena *, const struct live_job *);
void silence_restore(struct live_job *, const struct silence_memory *);
/* As job_verdict, when tasks that were left need not be waited for: the others have done what they
 * met for, as done says of a role. */
struct silence_peers {
    const void *arg;
    bool (*done)(const void *arg, const struct live_job *, uint32_t role);
};
struct verdict silence_verdict(const struct live_job *, struct arena *scratch,
                               struct silence_peers);

#endif
