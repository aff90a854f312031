/* Which machines jobs wait for, by what live jobs have there and since when their agents are
 * silent. Whoever may make sure that a machine is dead begins with these. */
#include "answer/machine_wait.h"

#include "base/arena.h"
#include "ctl/contents.h"
#include "ctl/ctl.h"
#include "ctl/node_work.h"
#include "inventory/known_machines.h"
#include "inventory/nodes.h"
#include "live/live.h"
#include "sched/cluster.h"

#include <string.h>

/* Does something of the job there keep it from going on, or from its end? */
static bool waits_for(struct ctl *ctl, const struct live_job *job, const struct live_agent *agent,
                      uint64_t silent_ms)
{
    bool waits = live_closing(job);
    if (!agent->silent_ms || ctl_now(ctl) - agent->silent_ms < silent_ms)
        return false;
    for (uint32_t flat = 0; !waits && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        waits = live_attempt(task) && !task->left && strcmp(task->place.node, agent->node) == 0;
    }
    return waits;
}

struct machine_wait answer_machines_waited(struct ctl *ctl, struct arena *arena, uint64_t silent_ms)
{
    const struct contents core = ctl_contents(ctl);
    struct machine_list all;
    struct machine_wait out = { .cut_off = true };
    if (!nodes_any_away(core.nodes) || known_machines_list(ctl_machines(ctl), arena, &all, NULL))
        return out;
    out.names.at = ARENA_ARRAY(arena, all.n, const char *);
    out.cut_off = all.n > 1;
    for (size_t i = 0; i < all.n; i++) {
        bool waited = false;
        uint32_t at = cluster_find(core.cluster, all.at[i].name);
        if (at != UINT32_MAX && cluster_node(core.cluster, at).up)
            out.cut_off = false;
        for (size_t k = 0; !waited && k < live_active(core.live); k++) {
            const struct live_job *job = live_active_at(core.live, k);
            const struct live_agent *agent = job->silent ? live_agent(job, all.at[i].name) : NULL;
            waited = agent && waits_for(ctl, job, agent, silent_ms);
        }
        if (waited)
            out.names.at[out.names.n++] = all.at[i].name;
    }
    return out;
}
