/* Taking and giving a whole job.
 *
 * Tasks of one role ask for the same and mostly lie side by side, so what they ask for is read once
 * for a run of them. */
#include "sched/held_places.h"

#include "base/err.h"
#include "sched/nodes.h"

struct held_places held_places_of(const struct job_spec *spec, const struct task_place *places,
                                  uint32_t n)
{
    return (struct held_places){ .spec = spec, .first = places, .stride = sizeof *places, .n = n };
}

const struct task_place *held_places_place(const struct held_places *h, uint32_t i)
{
    return (const void *)((const char *)h->first + i * h->stride);
}

static bool counts(const struct held_places *h, uint32_t i)
{
    return !h->taken || *(const bool *)((const char *)h->taken + i * h->stride);
}

uint32_t held_places_node(const struct held_places *h, const struct cluster *c, uint32_t i)
{
    if (h->nodes)
        return h->nodes[i];
    if (!counts(h, i))
        return UINT32_MAX;
    const struct task_place *p = held_places_place(h, i);
    uint32_t node = place_node(c, p);
    if (node == UINT32_MAX || p->role >= h->spec->n_roles)
        BUG("task %u/%u is held on node \"%s\"", p->role, p->index, p->node ? p->node : "");
    return node;
}

void held_places_locate(struct held_places *h, const struct cluster *c, struct arena *arena)
{
    if (h->nodes)
        return;
    uint32_t *nodes = ARENA_ARRAY(arena, h->n, uint32_t);
    for (uint32_t i = 0; i < h->n; i++)
        nodes[i] = held_places_node(h, c, i);
    h->nodes = nodes;
}

void held_places_fetch(const struct held_places *h, const struct cluster *c, uint32_t steps)
{
    const struct task_place *p = h->first;
    if (!h->n)
        return;
    switch (steps) {
    case HELD_PLACES_AHEAD:
        __builtin_prefetch(p);
        __builtin_prefetch(&h->spec->roles);
        break;
    case HELD_PLACES_AHEAD * 2 / 3:
        __builtin_prefetch(p->node);
        __builtin_prefetch(&h->spec->roles->resources);
        __builtin_prefetch(&h->spec->roles->ports);
        if (p->hint && p->hint <= cluster_count(c))
            __builtin_prefetch(cluster_form(c, p->hint - 1));
        break;
    case HELD_PLACES_AHEAD / 3:
        __builtin_prefetch(p->gpus);
        if (p->hint && p->hint <= cluster_count(c))
            __builtin_prefetch(cluster_form(c, p->hint - 1)->spec.name);
        break;
    default: break;
    }
}

/* What place i asks for: *w already says it when the place before it was of the same role. */
static void read_want(struct task_request *w, const struct held_places *h, uint32_t i)
{
    const struct task_place *p = held_places_place(h, i);
    if (!w->role || w->at != p->role)
        task_request_init(w, h->spec, p->role);
}

static void give_first(struct cluster *c, const struct held_places *h, uint32_t n)
{
    struct task_request w = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = held_places_node(h, c, i);
        if (node == UINT32_MAX)
            continue;
        read_want(&w, h, i);
        node_drop(c, node, &w, held_places_place(h, i));
    }
}

bool held_places_take(struct cluster *c, const struct held_places *h)
{
    struct task_request w = { 0 };
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t node = held_places_node(h, c, i);
        if (node == UINT32_MAX)
            continue;
        read_want(&w, h, i);
        if (!node_hold(c, node, &w, held_places_place(h, i))) {
            give_first(c, h, i);
            return false;
        }
    }
    return true;
}

void held_take_back(struct cluster *c, const struct held_places *h)
{
    struct task_request w = { 0 };
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t node = held_places_node(h, c, i);
        if (node == UINT32_MAX)
            continue;
        read_want(&w, h, i);
        node_hold_back(c, node, &w, held_places_place(h, i));
    }
}

void held_places_give(struct cluster *c, const struct held_places *h)
{
    give_first(c, h, h->n);
}

struct held_places_sum held_places_amounts(const struct held_places *h)
{
    struct held_places_sum sum = { 0 };
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->nodes ? h->nodes[i] == UINT32_MAX : !counts(h, i))
            continue;
        const struct resources *r = &h->spec->roles[held_places_place(h, i)->role].resources;
        sum.cpu_milli += r->cpu_milli;
        sum.memory += r->memory;
        sum.gpu_milli += r->gpu_milli;
    }
    return sum;
}
