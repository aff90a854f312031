/* Each node keeps the waste of its free devices; only nodes that changed are looked at again. The
 * measure is that of "Beware of Fragmentation" (USENIX ATC 2023) over tasks that ask for GPUs. */
#include "sim/cluster_usage.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>
#include <strings.h>

#define WHOLE     1000u
#define ASKS_MOST 64u /* the rest is too rare to matter */

struct node {
    uint64_t cpu_free, memory_free, gpu_free;
    uint64_t cpu_all, gpu_all;
    uint64_t wasted; /* milli of free GPU times weight */
    uint32_t n;
    uint16_t *free; /* milli, of each device */
    const char *type;
    bool down, stale;
};
struct cluster_usage {
    struct node *nodes;
    size_t n;
    struct string_map *names; /* positions + 1 */
    struct ask asks[ASKS_MOST];
    size_t n_asks;
    uint64_t weight;
    VEC(uint32_t) stale;
    struct cluster_usage_sums sums;
    uint64_t gpu_free, wasted;
};

static int by_weight(const void *a, const void *b)
{
    const struct ask *x = a, *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

static void choose_asks(struct cluster_usage *usage, const struct ask *asks, size_t n)
{
    VEC(struct ask) all = { 0 };
    for (size_t i = 0; i < n; i++)
        if (asks[i].gpu_milli && asks[i].weight)
            vec_push(&all, asks[i]);
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_weight);
    for (size_t i = 0; i < all.n && i < ASKS_MOST; i++) {
        usage->asks[usage->n_asks++] = all.at[i];
        usage->weight += all.at[i].weight;
    }
    vec_fini(&all);
}

static void mark(struct cluster_usage *usage, uint32_t at)
{
    if (usage->nodes[at].stale)
        return;
    usage->nodes[at].stale = true;
    vec_push(&usage->stale, at);
}

struct cluster_usage *cluster_usage_create(const struct node_spec *nodes, size_t n,
                                           const struct ask *asks, size_t n_asks)
{
    struct cluster_usage *usage = mem_new(sizeof *usage);
    usage->nodes = mem_new((n ? n : 1) * sizeof *usage->nodes);
    usage->n = n;
    usage->names = string_map_create();
    choose_asks(usage, asks, n_asks);
    for (size_t i = 0; i < n; i++) {
        struct node *node = &usage->nodes[i];
        node->cpu_all = node->cpu_free = nodes[i].cpu_milli;
        node->memory_free = nodes[i].memory;
        node->gpu_all = node->gpu_free = (uint64_t)nodes[i].gpus * WHOLE;
        node->n = nodes[i].gpus;
        node->free = mem_new((node->n ? node->n : 1) * sizeof *node->free);
        node->type = nodes[i].gpu_type;
        for (uint32_t k = 0; k < node->n; k++)
            node->free[k] = WHOLE;
        usage->sums.cpu_all += node->cpu_all;
        usage->sums.gpu_all += node->gpu_all;
        usage->gpu_free += node->gpu_free;
        string_map_set(usage->names, nodes[i].name, (void *)(uintptr_t)(i + 1));
        mark(usage, (uint32_t)i);
    }
    return usage;
}

void cluster_usage_destroy(struct cluster_usage *usage)
{
    if (!usage)
        return;
    for (size_t i = 0; i < usage->n; i++)
        free(usage->nodes[i].free);
    free(usage->nodes);
    string_map_destroy(usage->names);
    vec_fini(&usage->stale);
    free(usage);
}

static struct node *find(const struct cluster_usage *usage, const char *name)
{
    uintptr_t at = (uintptr_t)string_map_get(usage->names, name);
    return at ? &usage->nodes[at - 1] : NULL;
}

/* What the hold takes of each of its devices, taken or given back. */
static void move_devices(struct node *node, const struct task_usage *hold, bool take)
{
    uint64_t each = hold->n_gpus ? hold->gpu_milli / hold->n_gpus : 0;
    for (uint32_t i = 0; i < hold->n_gpus; i++) {
        uint16_t *free = hold->gpus[i] < node->n ? &node->free[hold->gpus[i]] : NULL;
        if (free)
            *free = (uint16_t)(take ? *free - each : *free + each);
    }
}

static void move(struct cluster_usage *usage, struct node *node, const struct task_usage *hold,
                 bool take)
{
    uint64_t sign = take ? 1 : UINT64_MAX; /* modulo 2^64: plus or minus */
    node->cpu_free -= sign * hold->cpu_milli;
    node->memory_free -= sign * hold->memory;
    node->gpu_free -= sign * hold->gpu_milli;
    usage->sums.cpu_used += sign * hold->cpu_milli;
    usage->sums.gpu_used += sign * hold->gpu_milli;
    if (!node->down)
        usage->gpu_free -= sign * hold->gpu_milli;
    move_devices(node, hold, take);
    mark(usage, (uint32_t)(node - usage->nodes));
}

struct task_usage *cluster_usage_take(struct cluster_usage *usage, const char *name,
                                      const struct ask *ask, const uint32_t *gpus, uint32_t n_gpus)
{
    struct node *node = find(usage, name);
    if (!node)
        return NULL;
    struct task_usage *hold = mem_new(sizeof *hold + n_gpus * sizeof *hold->gpus);
    hold->node = (uint32_t)(node - usage->nodes);
    hold->cpu_milli = ask->cpu_milli;
    hold->memory = ask->memory;
    hold->gpu_milli = ask->gpu_milli;
    hold->n_gpus = n_gpus;
    if (n_gpus)
        memcpy(hold->gpus, gpus, n_gpus * sizeof *gpus);
    move(usage, node, hold, true);
    return hold;
}

void cluster_usage_give(struct cluster_usage *usage, struct task_usage *hold)
{
    move(usage, &usage->nodes[hold->node], hold, false);
    free(hold);
}

bool cluster_usage_set_up(struct cluster_usage *usage, const char *name, bool up)
{
    struct node *node = find(usage, name);
    if (!node || node->down == !up)
        return node != NULL;
    uint64_t sign = up ? 1 : UINT64_MAX;
    node->down = !up;
    usage->sums.cpu_all += sign * node->cpu_all;
    usage->sums.gpu_all += sign * node->gpu_all;
    usage->gpu_free += sign * node->gpu_free;
    mark(usage, (uint32_t)(node - usage->nodes));
    return true;
}

struct cluster_usage_sums cluster_usage_sums(const struct cluster_usage *usage)
{
    return usage->sums;
}

/* ---- what is of no use ---- */

static bool type_fits(const struct ask *ask, const char *type)
{
    for (size_t i = 0; i < ask->types.n; i++)
        if (strcasecmp(ask->types.at[i], type) == 0)
            return true;
    return ask->types.n == 0;
}

/* Milli of the node's free devices that this task could not use there. */
static uint64_t useless(const struct node *node, const struct ask *ask)
{
    uint64_t least = ask->gpu_milli < WHOLE ? ask->gpu_milli : WHOLE, too_small = 0;
    uint32_t fit = 0, wanted = ask->gpu_milli < WHOLE ? 1 : (uint32_t)(ask->gpu_milli / WHOLE);
    if (node->cpu_free < ask->cpu_milli || node->memory_free < ask->memory ||
        !type_fits(ask, node->type))
        return node->gpu_free;
    for (uint32_t i = 0; i < node->n; i++) {
        fit += node->free[i] >= least;
        too_small += node->free[i] >= least ? 0 : node->free[i];
    }
    return fit >= wanted ? too_small : node->gpu_free;
}

static uint64_t wasted(const struct cluster_usage *usage, const struct node *node)
{
    uint64_t sum = 0;
    for (size_t i = 0; !node->down && node->gpu_free && i < usage->n_asks; i++)
        sum += usage->asks[i].weight * useless(node, &usage->asks[i]);
    return sum;
}

uint32_t cluster_usage_fragmented(struct cluster_usage *usage)
{
    for (size_t i = 0; i < usage->stale.n; i++) {
        struct node *node = &usage->nodes[usage->stale.at[i]];
        uint64_t now = wasted(usage, node);
        usage->wasted += now - node->wasted;
        node->wasted = now;
        node->stale = false;
    }
    vec_clear(&usage->stale);
    if (!usage->gpu_free || !usage->weight)
        return 0;
    /* wasted <= gpu_free * weight: by the GPUs first, so that a million times it fits. */
    uint64_t per_weight = usage->wasted / usage->weight;
    return (uint32_t)(per_weight * 1000000 / usage->gpu_free);
}
