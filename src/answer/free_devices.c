/* Counts the free parts of devices for each node, from the places of live tasks; a device that is
 * not given out has none. Nothing is kept: each question is answered anew. */
#include "answer/free_devices.h"

#include "base/mem.h"
#include "live/live.h"
#include "sched/cluster.h"

const uint32_t free_block_sizes[FREE_BLOCKS] = { 8, 4, 2, 1 };

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void take(struct free_node *node, const struct task_place *place)
{
    bool share = place->gpu_share_milli > 0 && place->gpu_share_milli < 1000;
    for (uint32_t i = 0; i < place->n_gpus; i++)
        if (place->gpus[i] < node->n)
            node->device[place->gpus[i]] =
                minus(node->device[place->gpus[i]], share ? place->gpu_share_milli : 1000);
}

static void take_job(const struct contents *core, const struct live_job *job,
                     struct free_node *nodes)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!task->taken || task->place.n_gpus == 0)
            continue;
        uint32_t at = cluster_find(core->cluster, task->place.node);
        if (at != UINT32_MAX)
            take(&nodes[at], &task->place);
    }
}

struct free_node *free_nodes(const struct contents *core, struct arena *arena)
{
    uint32_t n = cluster_count(core->cluster);
    struct free_node *nodes = ARENA_ARRAY(arena, n, struct free_node);
    size_t cursor = 0;
    struct live_job *job;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i].n = cluster_node(core->cluster, i).spec->gpus;
        nodes[i].device = ARENA_ARRAY(arena, nodes[i].n, uint64_t);
        for (uint32_t k = 0; k < nodes[i].n; k++)
            nodes[i].device[k] = cluster_device_is_closed(core->cluster, i, k) ? 0 : 1000;
    }
    while (live_next(core->live, &cursor, &job))
        take_job(core, job, nodes);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < nodes[i].n; k++)
            nodes[i].idle += nodes[i].device[k] == 1000;
    return nodes;
}

struct free_sum free_sum(const struct contents *core, const struct free_node *nodes)
{
    struct free_sum sum = { 0 };
    for (uint32_t i = 0; i < cluster_count(core->cluster); i++) {
        const struct node_view view = cluster_node(core->cluster, i);
        uint32_t left = nodes[i].idle;
        if (!view.up || view.drained)
            continue;
        sum.cpu_milli += minus(view.spec->cpu_milli, view.cpu_used);
        sum.memory += minus(view.spec->memory, view.memory_used);
        for (uint32_t k = 0; k < nodes[i].n; k++)
            sum.gpu_milli += nodes[i].device[k];
        sum.idle += left;
        for (size_t b = 0; b < FREE_BLOCKS; left %= free_block_sizes[b], b++)
            sum.blocks[b] += left / free_block_sizes[b];
    }
    return sum;
}
