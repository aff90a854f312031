/* When jobs of silent agents are looked at again, and when they end without them. Deadlines are in
 * memory alone: they are set again whenever the silence is. */
#include "ctl/silence_work.h"

#include "ctl/core.h"
#include "live/silence.h"
#include "sched/cluster.h"

void core_look_at_silence(struct ctl *ctl, const struct live_job *job,
                          const struct live_agent *agent)
{
    uint64_t at = silence_until(job, agent);
    if (at)
        core_deadline(ctl, job, at);
}

void core_begin_silence(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    const struct live_agent *agent = silence_begin(job, fact->node, core_now(ctl), fact->quiet_ms);
    if (!agent)
        return;
    core_look_at_silence(ctl, job, agent);
    core_touch(ctl, job);
}

static bool on_machine(const struct ctl *ctl, const char *node)
{
    uint32_t at = cluster_find(ctl->cluster, node);
    return at != UINT32_MAX && cluster_node(ctl->cluster, at).spec->machine;
}

void core_recover_silence(struct ctl *ctl)
{
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(ctl->live, &cursor, &job)) {
        for (size_t i = 0; job->tasks && i < job->agents.n; i++) {
            struct live_agent *agent = &job->agents.at[i];
            bool heard = agent->state == AGENT_JOINED || agent->state == AGENT_SILENT;
            if (!heard || !on_machine(ctl, agent->node) || !core_spec(ctl, job))
                continue;
            silence_assume(job, agent, core_now(ctl));
            core_look_at_silence(ctl, job, agent);
        }
    }
}

void core_restore_silence(struct ctl *ctl, struct live_job *job,
                          const struct silence_memory *memory)
{
    silence_restore(job, memory);
    for (size_t i = 0; job->tasks && i < job->agents.n; i++)
        if (job->agents.at[i].silent_ms)
            core_look_at_silence(ctl, job, &job->agents.at[i]);
}
