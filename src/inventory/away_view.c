/* Of each agent of a job that is not heard: the outage of its node, where that is known, and how
 * much of the job waits there. */
#include "inventory/away_view.h"

#include "inventory/nodes.h"
#include "live/live.h"

#include <string.h>

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

struct away_list nodes_away_of(const struct nodes *nodes, struct arena *arena,
                               const struct live_job *job)
{
    struct away_list list = { .n = 0 };
    for (size_t i = 0; job->tasks && i < job->agents.n; i++) {
        const struct live_agent *agent = &job->agents.at[i];
        const struct node_outage *away = nodes_away(nodes, agent->node);
        bool heard = agent->state == AGENT_JOINED; /* also where its machine's host is not */
        if (!agent->launched || (!agent->silent_ms && (!away || heard)))
            continue;
        if (!list.at)
            list.at = ARENA_ARRAY(arena, job->agents.n, struct away_view);
        struct away_view *view = &list.at[list.n++];
        *view = (struct away_view){
            .node = arena_strdup(arena, agent->node),
            .why = away ? nodes_why(arena, away) : NULL,
            .tried = away && *away->note ? arena_strdup(arena, away->note) : NULL,
            .since_ms = away ? away->since_ms : nodes_dated(nodes, agent->silent_ms)
        };
        count_tasks(job, view);
    }
    return list;
}
