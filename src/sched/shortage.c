/* Counting what is there against what is asked.
 *
 * Every figure here is at least what placing could reach, so a shortage is a fact; the reverse does
 * not hold (several groups may fit each by itself and not together), and that is what placing and
 * searching are for. */
#include "sched/shortage.h"

#include "sched/choice.h"
#include "sched/fit.h"

#include <string.h>

struct sum { /* of one demand of a group over the nodes it may use */
    const struct demand *demand;
    uint64_t slots, free, best, largest;
    uint32_t node;
};

/* n nodes that have the same free as this one. */
static void count_nodes(const struct placement *placement, struct sum *t, uint32_t node, uint32_t n,
                        uint64_t limit)
{
    uint64_t free = demand_free(placement->cluster, node, t->demand);
    uint64_t slots = demand_slots(placement->cluster, node, t->demand, limit);
    uint64_t left = slots ? demand_left(placement->cluster, node, t->demand) : free;
    t->slots += slots * n;
    t->free = plus(t->free, times(free, n));
    t->largest = free > t->largest ? free : t->largest;
    if (t->node == UINT32_MAX || left > t->best || (left == t->best && node < t->node)) {
        t->best = left;
        t->node = node;
    }
}

/* Nodes of one host share its ports: each host counts once. */
static struct sum count_demand(const struct placement *placement, const struct group *g,
                               const struct demand *d, uint64_t limit)
{
    struct sum t = { .demand = d, .node = UINT32_MAX };
    bool by_host = d->kind == DEMAND_PORT || d->kind == DEMAND_PORTS;
    uint8_t *seen = NULL;
    if (by_host)
        seen = ARENA_ARRAY(placement->arena, placement->cluster->layout->n_hosts, uint8_t);
    struct node_walk walk = choice_nodes(placement, g, by_host);
    uint32_t node, n;
    while (node_walk_next(&walk, &node, &n)) {
        if (!fit_allowed(placement, g, node))
            continue;
        uint32_t host = cluster_form(placement->cluster, node)->host;
        if (seen && seen[host])
            continue;
        if (seen)
            seen[host] = 1;
        count_nodes(placement, &t, node, n, limit);
    }
    return t;
}

static bool misfits(const struct placement *placement, const struct group *g,
                    enum node_refusal *why)
{
    struct node_walk walk = choice_nodes(placement, g, false);
    uint32_t node, n;
    *why = placement->job->placing.nodes.n ? NODE_REFUSAL_NAME : NODE_REFUSAL_OWNER;
    while (node_walk_next(&walk, &node, &n)) {
        enum node_refusal here = NODE_REFUSAL_NONE;
        for (size_t m = 0; m < g->n_members && here == NODE_REFUSAL_NONE; m++)
            here = task_request_refusal(g->members[m].want, cluster_form(placement->cluster, node));
        if (here == NODE_REFUSAL_NONE)
            return false;
        *why = here > *why ? here : *why; /* how far the best node came */
    }
    return cluster_count(placement->cluster) > 0;
}

/* The node that lacks the fewest things for one more unit, and the first of them. */
static void closest(const struct placement *placement, const struct group *g, struct shortage *s)
{
    size_t fewest = SIZE_MAX;
    struct node_walk walk = choice_nodes(placement, g, g->has_ports), again = walk;
    uint32_t node, n;
    while (node_walk_next(&walk, &node, &n)) {
        const struct demand *first = NULL;
        size_t lacking = 0;
        if (!fit_allowed(placement, g, node))
            continue;
        uint32_t here = fit_units(placement, g, node, s->needed);
        for (size_t k = 0; k < g->n_demands; k++)
            if (demand_slots(placement->cluster, node, &g->demands[k], UINT32_MAX) <= here) {
                first = first ? first : &g->demands[k];
                lacking++;
            }
        if (!first || lacking > fewest || (lacking == fewest && node > s->node))
            continue;
        fewest = lacking;
        s->demand = first;
        s->node = node;
        s->best = less(demand_free(placement->cluster, node, first), first->need * here);
    }
    while (s->demand && node_walk_next(&again, &node, &n))
        if (fit_allowed(placement, g, node))
            s->free = plus(s->free, times(demand_free(placement->cluster, node, s->demand), n));
}

static bool alone(const struct placement *placement, const struct group *g, struct shortage *s)
{
    struct sum worst = { .slots = UINT64_MAX };
    for (size_t i = 0; i < g->n_demands; i++) {
        struct sum t = count_demand(placement, g, &g->demands[i], s->needed);
        if (t.slots < s->needed && t.slots < worst.slots)
            worst = t;
    }
    if (!worst.demand)
        return false;
    s->kind = SHORTAGE_DEMAND;
    s->demand = worst.demand;
    s->fits = (uint32_t)worst.slots;
    s->free = worst.free;
    s->best = worst.best;
    s->largest = worst.largest;
    s->node = worst.node;
    return true;
}

bool shortage_of_group(const struct placement *placement, const struct group *g, uint32_t needed,
                       struct shortage *s)
{
    *s = (struct shortage){ .group = g, .needed = needed, .node = UINT32_MAX };
    if (needed == 0)
        return false;
    if (misfits(placement, g, &s->misfit)) {
        s->kind = SHORTAGE_MISFIT;
        return true;
    }
    s->fits = choice_count(placement, g, needed);
    if (s->fits >= needed && !g->has_static_ports)
        return false;
    if (alone(placement, g, s)) /* may see more than the count of nodes: ports are the host's */
        return true;
    if (s->fits >= needed)
        return false;
    s->kind = g->apart || !g->n_demands ? SHORTAGE_NODES : SHORTAGE_MIX;
    if (s->kind == SHORTAGE_MIX)
        closest(placement, g, s);
    if (!s->demand)
        s->kind = SHORTAGE_NODES;
    return true;
}

static bool total_is_short(const struct placement *placement, const struct demand *d,
                           struct shortage *s)
{
    *s = (struct shortage){ .kind = SHORTAGE_TOTAL, .demand = d, .needed = 1, .node = UINT32_MAX };
    struct node_walk walk = choice_nodes(placement, NULL, false);
    uint32_t node, n;
    while (node_walk_next(&walk, &node, &n)) {
        if (!node_usable(&placement->cluster->nodes[node]))
            continue;
        uint64_t free = demand_free(placement->cluster, node, d);
        s->free = plus(s->free, times(free, n));
        if (s->free >= d->need)
            return false;
        if (s->node == UINT32_MAX || free > s->best || (free == s->best && node < s->node)) {
            s->best = s->largest = free;
            s->node = node;
        }
    }
    return true;
}

static uint32_t roles_asking(const struct member *members, size_t n, const struct demand *d,
                             struct arena *arena)
{
    uint32_t roles = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_demands;
        const struct demand *own = demand_list(arena, &members[i], 1, &n_demands);
        for (size_t k = 0; k < n_demands; k++)
            if (strcmp(own[k].name, d->name) == 0) {
                roles++;
                break;
            }
    }
    return roles;
}

bool shortage_find(const struct placement *placement, struct shortage *s)
{
    size_t n_members = 0, n_demands, asking = 0;
    for (size_t i = 0; i < placement->n_groups; i++) {
        const struct group *g = &placement->groups[i];
        n_members += g->n_members;
        asking += g->least > 0;
        if (shortage_of_group(placement, g, g->least, s))
            return true;
    }
    if (asking < 2)
        return false; /* there are units enough, so there is enough of each thing */
    struct member *all = ARENA_ARRAY(placement->arena, n_members, struct member);
    n_members = 0;
    for (size_t i = 0; i < placement->n_groups; i++)
        for (size_t m = 0; m < placement->groups[i].n_members && placement->groups[i].least; m++) {
            all[n_members] = placement->groups[i].members[m];
            all[n_members++].per *= placement->groups[i].least;
        }
    const struct demand *totals = demand_list(placement->arena, all, n_members, &n_demands);
    for (size_t i = 0; i < n_demands; i++)
        if (totals[i].kind != DEMAND_PORT && totals[i].kind != DEMAND_PORTS &&
            total_is_short(placement, &totals[i], s)) {
            s->short_roles = roles_asking(all, n_members, &totals[i], placement->arena);
            return true;
        }
    return false;
}
