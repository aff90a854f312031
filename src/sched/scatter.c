/* A heap of nodes, emptiest of the group's units first.
 *
 * Only the node that got a unit changes its place, and nodes only fill up, so one that refuses a
 * unit is out for good. Of nodes with as many units the fullest comes first, as everywhere. */
#include "sched/scatter.h"

#include "base/mem.h"
#include "sched/choice.h"
#include "sched/fit.h"

struct node_load {  /* of a node; the least is next */
    uint32_t crowd; /* units of the group, or tasks, that are there */
    uint32_t node;
    uint64_t gpu, cpu, memory; /* free */
};

struct heap {
    struct node_load *at;
    uint32_t n;
};

bool scatters(const struct group *g)
{
    return g->spread || g->nothing;
}

static bool sooner(const struct node_load *a, const struct node_load *b)
{
    if (a->crowd != b->crowd)
        return a->crowd < b->crowd;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu;
    if (a->cpu != b->cpu)
        return a->cpu < b->cpu;
    return a->memory != b->memory ? a->memory < b->memory : a->node < b->node;
}

static struct node_load stand_of(const struct placement *placement, const struct group *g,
                                 uint32_t node)
{
    const struct node *n = &placement->cluster->nodes[node];
    const struct node_spec *spec = &cluster_form(placement->cluster, node)->spec;
    return (struct node_load){ .crowd = g->spread ? g->on[node] : n->tasks,
                               .node = node,
                               .gpu = less(UINT64_C(1000) * spec->gpus, n->gpu_milli),
                               .cpu = less(spec->cpu_milli, n->cpu),
                               .memory = less(spec->memory, n->memory) };
}

static void sink(struct heap *h, uint32_t i)
{
    struct node_load moved = h->at[i];
    for (uint32_t child = 2 * i + 1; child < h->n; child = 2 * i + 1) {
        if (child + 1 < h->n && sooner(&h->at[child + 1], &h->at[child]))
            child++;
        if (!sooner(&h->at[child], &moved))
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = moved;
}

bool scatter_fill(struct placement *placement, struct group *g, uint32_t upto)
{
    AUTO_FREE struct node_load *room =
        mem_new(sizeof(struct node_load) * cluster_count(placement->cluster) + 1);
    struct heap h = { .at = room };
    struct node_walk walk = choice_nodes(placement, g, true);
    uint32_t node, n;
    if (g->done >= upto)
        return true;
    while (node_walk_next(&walk, &node, &n))
        if (fit_units(placement, g, node, 1))
            h.at[h.n++] = stand_of(placement, g, node);
    for (uint32_t i = h.n / 2; i-- > 0;)
        sink(&h, i);
    while (h.n && g->done < upto) {
        node = h.at[0].node;
        if (fit_units(placement, g, node, 1) && fit_put(placement, g, node, FIT_ANY_DEVICE))
            h.at[0] = stand_of(placement, g, node);
        else
            h.at[0] = h.at[--h.n];
        sink(&h, 0);
    }
    return g->done >= upto;
}
