/* Since when an agent is silent is known in memory alone: a server that starts anew has not heard
 * any, and gives them the time that they take to come back. A state of its own, `silent`, is in the
 * records, so that a commit that fails forgets no silence. */
#include "ctl/silence.h"

#include "base/scan.h"
#include "ctl/core.h"
#include "ctl/meeting.h"
#include "ctl/nodes.h"
#include "sched/cluster.h"

#include <stdio.h>
#include <string.h>

#define COME_BACK_MS 10000u /* to a server that was started anew */

static uint64_t bound_of(const struct live_job *job, const struct live_agent *agent)
{
    uint64_t bound = job->spec->health.silent_after_ms;
    return agent->unheard && bound && bound < COME_BACK_MS ? COME_BACK_MS : bound;
}

void silence_look(struct ctl *ctl, const struct live_job *job, const struct live_agent *agent)
{
    uint64_t bound = bound_of(job, agent);
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

void silence_end(struct live_job *job, const char *node)
{
    struct live_agent *agent = live_agent(job, node);
    if (!agent || !agent->silent_ms)
        return;
    agent->silent_ms = 0;
    job->silent--;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (strcmp(job->tasks[flat].place.node, node) == 0)
            job->tasks[flat].left = false;
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

bool silence_past(const struct ctl *ctl, const struct live_job *job, const struct live_agent *agent)
{
    if (!agent || !agent->silent_ms)
        return false;
    uint64_t bound = bound_of(job, agent);
    return bound && core_now(ctl) >= agent->silent_ms + bound;
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

static void count_tasks(const struct live_job *job, struct away_view *view)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!live_attempt(task) || strcmp(task->place.node, view->node) != 0)
            continue;
        view->tasks++;
        view->left |= task->left;
    }
}

struct away_list silence_view(const struct ctl *ctl, struct arena *arena,
                              const struct live_job *job)
{
    struct away_list list = { .n = 0 };
    for (size_t i = 0; job->tasks && i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        const struct node_away *away = nodes_away(ctl, agent->node);
        if (!agent->launched || (!agent->silent_ms && !away))
            continue;
        if (!list.at)
            list.at = ARENA_ARRAY(arena, job->agents.n, struct away_view);
        struct away_view *view = &list.at[list.n++];
        *view = (struct away_view){
            .node = arena_strdup(arena, agent->node),
            .why = away ? nodes_why(arena, away) : NULL,
            .tried = away && *away->note ? arena_strdup(arena, away->note) : NULL,
            .since_ms = away ? away->since_ms : core_date(ctl) - (core_now(ctl) - agent->silent_ms)
        };
        count_tasks(job, view);
    }
    return list;
}

const char *silence_text(char out[96], const struct ctl *ctl, const struct live_agent *agent)
{
    char time[FMT_MAX];
    uint64_t ms = core_now(ctl) - agent->silent_ms;
    snprintf(out, 96, "its machine has been silent for %s",
             fmt_duration(time, ms >= 1000 ? ms / 1000 * 1000 : ms));
    return out;
}
