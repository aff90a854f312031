/* What the core does about agents that are silent (quiet.h): when their jobs are looked at again,
 * and when these end without them. A state of its own, `silent`, is in the records, so that a
 * commit that fails forgets no silence. */
#include "ctl/silence.h"

#include "ctl/core.h"
#include "ctl/meeting.h"
#include "ctl/quiet.h"
#include "sched/cluster.h"

#include <string.h>

void silence_look(struct ctl *ctl, const struct live_job *job, const struct live_agent *agent)
{
    uint64_t bound = quiet_bound(job, agent);
    if (bound)
        core_deadline(ctl, job, agent->silent_ms + bound);
}

void silence_begin(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact)
{
    struct live_agent *agent = live_agent(job, fact->node);
    uint64_t now = core_now(ctl);
    if (!agent || agent->silent_ms)
        return;
    enum agent_state next = agent_next_state(agent->state, AGENT_SILENT);
    if (next == AGENT_NONE)
        return;
    agent->state = next;
    agent->changed = true;
    agent->silent_ms = now > fact->quiet_ms ? now - fact->quiet_ms : 1;
    job->silent++;
    silence_look(ctl, job, agent);
    core_touch(ctl, job);
}

static bool on_machine(const struct ctl *ctl, const char *node)
{
    uint32_t at = cluster_find(ctl->cluster, node);
    return at != UINT32_MAX && cluster_node(ctl->cluster, at).spec->machine;
}

void silence_recover(struct ctl *ctl)
{
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(ctl->live, &cursor, &job)) {
        for (size_t i = 0; job->tasks && i < job->agents.n; i++) {
            struct live_agent *agent = &job->agents.at[i];
            bool heard = agent->state == AGENT_JOINED || agent->state == AGENT_SILENT;
            if (!heard || !on_machine(ctl, agent->node) || !core_spec(ctl, job))
                continue;
            job->silent += agent->silent_ms == 0;
            agent->silent_ms = core_now(ctl);
            silence_look(ctl, job, agent);
        }
    }
}

struct verdict silence_verdict(const struct ctl *ctl, const struct live_job *job)
{
    struct verdict verdict = job_verdict(job->spec, job->tally);
    bool any = false;
    if (verdict.outcome != OUTCOME_NONE || !job->silent)
        return verdict;
    struct role_tally *sum = ARENA_ARRAY(ctl->scratch, job->spec->n_roles, struct role_tally);
    memcpy(sum, job->tally, job->spec->n_roles * sizeof *sum);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!task->left || !live_attempt(task) || !meetings_done(ctl, job, task->place.role))
            continue;
        sum[task->place.role].stopped++;
        any = true;
    }
    return any ? job_verdict(job->spec, sum) : verdict;
}
