/* That an agent was told to be silent is in the records, as a state of its own. Since when it is,
 * and who was not heard since the server started, is in memory alone: it is saved over a commit
 * that fails, because no engine says it again. */
#include "live/silence.h"

#include "live/silence_bound.h"

#include <string.h>

struct live_agent *silence_begin(struct live_job *job, const char *node, uint64_t now_ms,
                                 uint64_t quiet_ms)
{
    struct live_agent *agent = live_agent(job, node);
    if (!agent || agent->state == AGENT_SILENT)
        return NULL;
    enum agent_state next = agent_next_state(agent->state, AGENT_SILENT);
    if (next == AGENT_NONE)
        return NULL;
    agent->state = next;
    agent->changed = true;
    if (!agent->silent_ms) { /* else this server has not heard it yet, and counts from its start */
        agent->silent_ms = now_ms > quiet_ms ? now_ms - quiet_ms : 1;
        job->silent++;
    }
    return agent;
}

void silence_assume(struct live_job *job, struct live_agent *agent, uint64_t now_ms)
{
    job->silent += agent->silent_ms == 0;
    agent->silent_ms = now_ms;
}

uint64_t silence_until(const struct live_job *job, const struct live_agent *agent)
{
    uint64_t bound = silence_bound(job, agent);
    return bound ? agent->silent_ms + bound : 0;
}

/* ---- over a commit that fails ---- */

struct silence_memory {
    uint32_t generation;
    struct live_agent *agents; /* those with .silent_ms or .unheard */
    size_t n_agents;
    struct live_task *tasks; /* as they were; NULL: none was left */
};

const struct silence_memory *silence_save(struct arena *arena, const struct live_job *job)
{
    struct silence_memory *memory = ARENA_NEW(arena, struct silence_memory);
    memory->generation = job->row.generation;
    memory->agents = ARENA_ARRAY(arena, job->agents.n, struct live_agent);
    for (size_t i = 0; i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        if (!agent->silent_ms && !agent->unheard)
            continue;
        struct live_agent *saved = &memory->agents[memory->n_agents++];
        *saved = *agent;
        saved->node = arena_strdup(arena, agent->node);
    }
    if (job->silent && job->tasks) {
        memory->tasks = ARENA_ARRAY(arena, job->row.tasks, struct live_task);
        memcpy(memory->tasks, job->tasks, job->row.tasks * sizeof *memory->tasks);
    }
    return memory;
}

static void restore_agent(struct live_job *job, const struct live_agent *saved)
{
    struct live_agent *agent = live_agent(job, saved->node);
    if (!agent || memcmp(agent->token_hash, saved->token_hash, sizeof agent->token_hash) != 0)
        return;
    agent->unheard = saved->unheard;
    if (!saved->silent_ms)
        return;
    silence_assume(job, agent, saved->silent_ms);
}

/* The same attempt, on a machine that is silent still. */
static void restore_left(struct live_job *job, uint32_t flat, const struct live_task *saved)
{
    struct live_task *task = &job->tasks[flat];
    bool same = saved->left && live_attempt(task) && task->attempt == saved->attempt;
    const struct live_agent *agent = same ? live_agent(job, task->place.node) : NULL;
    task->left = agent && agent->silent_ms;
}

void silence_restore(struct live_job *job, const struct silence_memory *memory)
{
    if (!job->tasks || job->row.generation != memory->generation)
        return;
    for (size_t i = 0; i < memory->n_agents; i++)
        restore_agent(job, &memory->agents[i]);
    for (uint32_t flat = 0; memory->tasks && flat < job->row.tasks; flat++)
        restore_left(job, flat, &memory->tasks[flat]);
}

struct verdict silence_verdict(const struct live_job *job, struct arena *scratch,
                               struct silence_peers others)
{
    struct verdict verdict = job_verdict(job->spec, job->tally);
    bool any = false;
    if (verdict.outcome != OUTCOME_NONE || !job->silent)
        return verdict;
    struct role_tally *sum = ARENA_ARRAY(scratch, job->spec->n_roles, struct role_tally);
    memcpy(sum, job->tally, job->spec->n_roles * sizeof *sum);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!task->left || !live_attempt(task) || !others.done(others.arg, job, task->place.role))
            continue;
        sum[task->place.role].stopped++;
        any = true;
    }
    return any ? job_verdict(job->spec, sum) : verdict;
}
