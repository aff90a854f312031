/* What the core knows of agents that are not heard is compared with who can be heard. Nothing of it
 * is told a second time: what a server forgets of a silence, it waits for without end. */
#include "ctl/core.h"
#include "ctl/test/faults/trial.h"

/* On a machine, all that the server of before had heard is silent until it joins this one. */
static bool is_silent(const struct trial *t, const struct sim_agent *a,
                      const struct live_agent *agent)
{
    bool machine = a->node >= t->agents.n_fixed;
    bool was_heard = agent->state == AGENT_SILENT || (agent->state == AGENT_JOINED && machine);
    return a->silent || (!a->heard && was_heard);
}

static const char *what_is_wrong(struct trial *t, struct sim_agent *a,
                                 const struct live_agent *agent)
{
    bool silent = is_silent(t, a, agent), known = agent->silent_ms != 0;
    if (silent && !known)
        return "is silent, and counts as heard";
    if (known && !silent && !a->comes_again)
        return "is heard, and counts as silent";
    if (a->silent && agent->state != AGENT_SILENT)
        return "is silent, and no record says so";
    if (known && a->since_ms && agent->silent_ms > a->since_ms)
        return "has been silent for longer than is counted";
    if (a->old && !a->heard && !a->asked && !agent->unheard)
        return "has not come back to this server, and is not known for that";
    a->since_ms = agent->silent_ms;
    return NULL;
}

static void check_agent(struct trial *t, struct sim_agent *a)
{
    const struct live_job *job = live_find(t->ctl->live, a->generation.job);
    bool now = job && job->tasks && job->row.generation == a->generation.number;
    const char *node = t->agents.nodes[a->node].name;
    const struct live_agent *agent = now ? live_agent(job, node) : NULL;
    const char *wrong = agent ? what_is_wrong(t, a, agent) : NULL;
    if (wrong)
        trial_wrong(t, "the agent of job %llu on %s %s", (unsigned long long)job->row.number, node,
                    wrong);
}

static void check_count(struct trial *t, const struct live_job *job)
{
    uint32_t n = 0;
    for (size_t i = 0; i < job->agents.n; i++)
        n += job->agents.at[i].silent_ms != 0;
    if (n != job->silent)
        trial_wrong(t, "job %llu counts %u silent agents, it has %u",
                    (unsigned long long)job->row.number, job->silent, n);
}

void check_silence(struct trial *t)
{
    struct live_job *job;
    size_t cursor = 0;
    while (live_next(t->ctl->live, &cursor, &job))
        check_count(t, job);
    for (size_t i = 0; i < t->agents.at.n; i++) {
        struct sim_agent *a = t->agents.at.at[i];
        if (!a->dead && !a->released)
            check_agent(t, a);
    }
}
