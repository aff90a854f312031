/* Nodes and figures as answers: what the cluster's accounting, the drivers of devices and the
 * core's counters have, at one moment. */
#include "answer/cluster_views.h"

#include "answer/devices.h"
#include "answer/free_devices.h"
#include "base/mem.h"
#include "ctl/counters.h"
#include "ctl/ctl.h"
#include "inventory/nodes.h"
#include "live/live.h"
#include "sched/cluster.h"
#include "store/find.h"

const char *node_state_word(enum node_state state)
{
    return state == NODE_DOWN ? "down" : state == NODE_DRAINED ? "drained" : "up";
}

static struct node_answer node_of(const struct contents *core, struct arena *arena, uint32_t i,
                                  const struct free_node *free)
{
    const struct node_view node = cluster_node(core->cluster, i);
    const struct node_spec *spec = node.spec;
    struct node_answer view = { .name = spec->name,
                                .address = spec->address,
                                .host = spec->host,
                                .state = !node.up       ? NODE_DOWN
                                         : node.drained ? NODE_DRAINED
                                                        : NODE_UP,
                                .gpu_type = spec->gpu_type,
                                .cpu_milli = spec->cpu_milli,
                                .cpu_used_milli = node.cpu_used,
                                .memory = spec->memory,
                                .memory_used = node.memory_used,
                                .disk = spec->disk,
                                .disk_used = node.disk_used,
                                .gpus = spec->gpus,
                                .gpu_used_milli = cluster_gpu_held(core->cluster, i),
                                .tasks = node.tasks,
                                .gpu_idle = free->idle,
                                .gpu_free = { free->device, free->n },
                                .labels = spec->labels,
                                .custom = spec->custom,
                                .engine = node_engine(spec),
                                .lasts_ms = spec->lasts_ms,
                                .declared = spec->declared };
    const struct node_outage *away = node.up ? NULL : nodes_away(core->nodes, spec->name);
    if (away) {
        view.why = nodes_why(arena, away);
        view.since_ms = away->since_ms;
    }
    if (spec->report) {
        view.gpu_driver = spec->report->driver;
        view.gpu_error = spec->report->error;
        view.devices = devices_tree(core, arena, spec);
    }
    return view;
}

struct nodes_view answer_nodes_view(struct ctl *ctl, struct arena *arena)
{
    const struct contents core = ctl_contents(ctl);
    const struct free_node *free = free_nodes(&core, arena);
    struct nodes_view view = { .free = free_sum(&core, free) };
    const uint32_t n = cluster_count(core.cluster);
    view.nodes.at = ARENA_ARRAY(arena, n, struct node_answer);
    for (uint32_t i = 0; i < n; i++)
        if (!cluster_node(core.cluster, i).spec->gone)
            view.nodes.at[view.nodes.n++] = node_of(&core, arena, i, &free[i]);
    return view;
}

static void add_nodes(const struct contents *core, struct stats_view *view)
{
    view->nodes = cluster_count(core->cluster);
    for (uint32_t i = 0; i < view->nodes; i++) {
        struct node_view node = cluster_node(core->cluster, i);
        view->nodes_up += node.up && !node.drained;
        view->cpu_milli += node.spec->cpu_milli;
        view->cpu_used_milli += node.cpu_used;
        view->memory += node.spec->memory;
        view->memory_used += node.memory_used;
        view->gpus += node.spec->gpus;
        view->gpu_used_milli += cluster_gpu_held(core->cluster, i);
    }
}

struct stats_view answer_stats_view(struct ctl *ctl)
{
    const struct contents core = ctl_contents(ctl);
    static const uint64_t bounds[] = { PLAN_BOUNDS_US };
    const struct counters *c = core.counters;
    struct job_counts counts = { 0 };
    struct stats_view view = { .live = live_count(core.live),
                               .waiting = live_waiting(core.live),
                               .turns = c->turns,
                               .commits = c->commits,
                               .commits_failed = c->commits_failed,
                               .facts = c->facts,
                               .events = store_last_event(core.store),
                               .plans = c->plans,
                               .plan_time = { .last_us = c->plan_us_last,
                                              .sum_us = c->plan_us_sum,
                                              .count = c->plans_timed,
                                              .bounds = bounds,
                                              .bins = c->plan_bins,
                                              .n = ARRAY_LEN(bounds) },
                               .submitted = c->submitted,
                               .evicted = c->evicted,
                               .promised = c->promised,
                               .late = c->late,
                               .storage_full = ctl_storage_full(ctl) };
    store_counts(core.store, &counts, NULL);
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        view.jobs[state] = (uint64_t)counts.by_state[state];
    add_nodes(&core, &view);
    return view;
}
