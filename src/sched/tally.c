/* Sums per group over the nodes, with the nodes' parts kept, so that a node that changed costs one
 * look at it. Ports are left out: they are shared by the nodes of a host, and a part has to depend
 * on its node alone. */
#include "sched/tally.h"

#include "sched/fit.h"

/* Nodes of a kind suit a group all alike, unless it names nodes or asks for a label that tells them
 * apart. */
static bool is_of_kind(const struct group *g, const struct kinds *kinds)
{
    for (size_t i = 0; i < g->n_members; i++)
        if (!task_request_is_of_kind(g->members[i].want, kinds) ||
            g->members[i].want->job->spot_bid_milli)
            return false;
    return true;
}

static void find_allowed(struct tally *t, struct arena *arena, size_t i)
{
    enum { UNKNOWN, SUITS, DOES_NOT };
    size_t n = t->placement.n_groups;
    const struct group *g = &t->placement.groups[i];
    const struct kinds *kinds = cluster_kinds(t->placement.cluster);
    uint8_t *known = ARENA_ARRAY(arena, kinds->n, uint8_t);
    bool of_kind = is_of_kind(g, kinds);
    for (uint32_t node = 0; node < t->n_nodes; node++) {
        uint8_t *suits = &known[kinds->of[node]];
        if (*suits == UNKNOWN || !of_kind)
            *suits = fit_suits(&t->placement, g, node) ? SUITS : DOES_NOT;
        bool allowed = *suits == SUITS && fit_reaches(&t->placement, g, node);
        t->allowed[node * n + i] = allowed;
        t->of_use[node] = t->of_use[node] || allowed;
    }
}

void tally_init(struct tally *t, struct arena *arena, struct cluster *c, const struct job_spec *job)
{
    *t = (struct tally){ .n_nodes = cluster_count(c) };
    placement_init(&t->placement, arena, c, job);
    size_t n = t->placement.n_groups;
    t->units = ARENA_ARRAY(arena, n * t->n_nodes, uint32_t);
    t->allowed = ARENA_ARRAY(arena, n * t->n_nodes, bool);
    t->of_use = ARENA_ARRAY(arena, t->n_nodes, bool);
    t->sums = ARENA_ARRAY(arena, n, uint64_t);
    for (size_t i = 0; i < n; i++)
        find_allowed(t, arena, i);
    t->placement.cluster = NULL; /* may not live as long */
    for (size_t i = 0; i < n; i++)
        t->too_few += t->placement.groups[i].least > 0;
}

static uint32_t count_units(const struct cluster *c, const struct group *g, uint32_t node)
{
    if (c->nodes[node].idle_gpus < g->devices)
        return 0; /* most nodes of a busy cluster */
    uint64_t units = g->apart && g->least > 1 ? 1 : g->least;
    for (size_t i = 0; i < g->n_demands && units; i++)
        if (g->demands[i].kind != DEMAND_PORT && g->demands[i].kind != DEMAND_PORTS)
            units = demand_slots(c, node, &g->demands[i], units);
    return (uint32_t)units;
}

void tally_node(struct tally *t, const struct cluster *c, uint32_t node)
{
    size_t n = t->placement.n_groups;
    for (size_t i = 0; i < n && t->of_use[node]; i++) {
        const struct group *g = &t->placement.groups[i];
        uint32_t *units = &t->units[node * n + i];
        if (!t->allowed[node * n + i])
            continue;
        t->too_few -= t->sums[i] < g->least;
        t->sums[i] -= *units;
        *units = count_units(c, g, node);
        t->sums[i] += *units;
        t->too_few += t->sums[i] < g->least;
    }
}

void tally_count(struct tally *t, const struct cluster *c)
{
    size_t n = t->placement.n_groups;
    t->too_few = 0;
    for (size_t i = 0; i < n; i++) {
        const struct group *g = &t->placement.groups[i];
        t->sums[i] = 0;
        for (uint32_t node = 0; node < t->n_nodes; node++)
            if (t->allowed[node * n + i])
                t->sums[i] += t->units[node * n + i] = count_units(c, g, node);
        t->too_few += t->sums[i] < g->least;
    }
}

bool tally_would_do(const struct tally *t, const struct cluster *c)
{
    size_t n = t->placement.n_groups;
    for (size_t i = 0; i < n; i++) {
        const struct group *g = &t->placement.groups[i];
        uint64_t sum = 0;
        for (uint32_t node = 0; node < t->n_nodes && sum < g->least; node++)
            if (t->allowed[node * n + i])
                sum += count_units(c, g, node);
        if (sum < g->least)
            return false;
    }
    return true;
}

bool tally_enough(const struct tally *t)
{
    return t->too_few == 0;
}

bool tally_is_certain(const struct tally *t)
{
    const struct job_spec *job = t->placement.job;
    if (t->placement.n_groups != 1 || t->placement.groups[0].size != 1)
        return false;
    for (size_t i = 0; i < job->n_gangs; i++)
        if (job->gangs[i].min)
            return false;
    return t->placement.groups[0].members[0].want->role->n_ports == 0;
}
