/* Choosing devices and ports on one node.
 *
 * Whole devices: of those that nobody uses the best linked (sched/links.h), where no links are
 * known the lowest numbers. A share: the fullest device that still holds it, so that whole devices
 * stay whole. Ports: the role's own numbers, or what the host's map finds. Every taken task is
 * written down as a seat. */
#include "sched/fit.h"

#include "job/gpu.h"
#include "sched/links.h"

bool fit_suits(const struct placement *placement, const struct group *g, uint32_t node)
{
    for (size_t i = 0; i < g->n_members; i++)
        if (task_request_refusal(g->members[i].want, cluster_form(placement->cluster, node)) !=
            NODE_REFUSAL_NONE)
            return false;
    return true;
}

bool fit_allowed(const struct placement *placement, const struct group *g, uint32_t node)
{
    return fit_reaches(placement, g, node) && fit_suits(placement, g, node);
}

uint32_t fit_units(const struct placement *placement, const struct group *g, uint32_t node,
                   uint32_t limit)
{
    if (!limit || !fit_allowed(placement, g, node))
        return 0;
    uint64_t units = g->apart ? 1 : limit;
    for (size_t i = 0; i < g->n_demands && units; i++)
        units = demand_slots(placement->cluster, node, &g->demands[i], units);
    return (uint32_t)units;
}

static bool pick_whole(struct placement *placement, uint32_t node, const struct task_request *w,
                       uint32_t *out)
{
    const struct cluster *c = placement->cluster;
    const struct form *f = cluster_form(c, node);
    const struct gpu_report *report = f->spec.report;
    bool linked = report && report->near && f->spec.gpus <= report->n_slots;
    uint32_t *idle = linked ? ARENA_ARRAY(placement->arena, f->spec.gpus, uint32_t) : out,
             found = 0;
    for (uint32_t i = 0; i < f->spec.gpus && (linked || found < w->devices); i++)
        if (c->gpu[f->gpu_at + i] == 0 && task_request_takes_device(w, f, i))
            idle[found++] = i;
    if (found < w->devices)
        return false;
    if (linked)
        links_choose(report, idle, found, w->devices, out);
    return true;
}

static bool pick_share(const struct cluster *c, uint32_t node, const struct task_request *w,
                       uint32_t *out)
{
    const struct form *f = cluster_form(c, node);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->spec.gpus; i++) {
        uint32_t used = c->gpu[f->gpu_at + i];
        if (used + w->share <= 1000 && (best == UINT32_MAX || used > c->gpu[f->gpu_at + best]) &&
            task_request_takes_device(w, f, i))
            best = i;
    }
    *out = best;
    return best != UINT32_MAX;
}

static bool pick_devices(struct placement *placement, uint32_t node, const struct task_request *w,
                         uint32_t device, struct task_place *p)
{
    uint32_t n = w->devices ? w->devices : w->share ? 1 : 0;
    if (n > cluster_form(placement->cluster, node)->spec.gpus)
        return false;
    if (n && !p->gpus)
        p->gpus = ARENA_ARRAY(placement->arena, n, uint32_t);
    p->n_gpus = n;
    p->gpu_share_milli = w->share;
    if (w->devices)
        return pick_whole(placement, node, w, p->gpus);
    if (w->share && device != FIT_ANY_DEVICE)
        p->gpus[0] = device;
    else if (w->share)
        return pick_share(placement->cluster, node, w, p->gpus);
    return !w->share ||
           task_request_takes_device(w, cluster_form(placement->cluster, node), device);
}

static bool is_avoided(const struct placement *placement, uint32_t port)
{
    for (size_t i = 0; i < placement->n_avoid; i++)
        if (port >= placement->avoid[i].first && port <= placement->avoid[i].last)
            return true;
    return false;
}

/* A range that is only preferred stays clear of those that other labels of the job must have. */
static bool pick_range(const struct placement *placement, const struct ports *map,
                       const struct port_request *ask, uint32_t *out)
{
    for (uint32_t i = 0; i < ask->count; i++) {
        out[i] = ask->first + i;
        if (out[i] >= PORTS_MAX || ports_busy(map, out[i]) ||
            (ask->prefer && is_avoided(placement, out[i])))
            return false;
    }
    return true;
}

static bool pick_label(const struct placement *placement, uint32_t node,
                       const struct port_request *ask, uint32_t *out)
{
    const struct ports *map = cluster_ports(placement->cluster, node);
    if (ask->first && pick_range(placement, map, ask, out))
        return true;
    if (!ask->first || ask->prefer) {
        struct port_ask find = { .pool = placement->cluster->pool,
                                 .start = placement->cluster->port_start,
                                 .avoid = placement->avoid,
                                 .n_avoid = placement->n_avoid };
        return ports_find(map, &find, ask->count, out);
    }
    return false;
}

static void make_ports(struct placement *placement, const struct role *r, struct task_place *p)
{
    p->ports = ARENA_ARRAY(placement->arena, r->n_ports, struct placed_port);
    p->n_ports = (uint32_t)r->n_ports;
    for (size_t i = 0; i < r->n_ports; i++)
        p->ports[i] = (struct placed_port){
            .label = arena_strdup(placement->arena, r->ports[i].label),
            .numbers = ARENA_ARRAY(placement->arena, r->ports[i].count, uint32_t),
            .count = r->ports[i].count,
        };
}

/* Labels are chosen one after the other, each held so that the next one stays clear of it;
 * node_hold() takes them for good. */
static bool pick_ports(struct placement *placement, uint32_t node, const struct task_request *w,
                       struct task_place *p)
{
    const struct role *r = w->role;
    if (!r->n_ports)
        return true;
    if (!p->ports)
        make_ports(placement, r, p);
    struct ports *map = cluster_own_ports(placement->cluster, node);
    size_t n = 0;
    while (n < r->n_ports && pick_label(placement, node, &r->ports[n], p->ports[n].numbers)) {
        for (uint32_t k = 0; k < r->ports[n].count; k++)
            ports_hold(map, p->ports[n].numbers[k]);
        n++;
    }
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < r->ports[i].count; k++)
            ports_drop(map, p->ports[i].numbers[k]);
    return n == r->n_ports;
}

static bool put_task(struct placement *placement, struct group *g, const struct group_task *t,
                     struct placed_task seat, uint32_t device)
{
    struct task_place *p = &placement->places[t->place];
    if (!node_has_amounts(placement->cluster, seat.node, t->want) ||
        !pick_devices(placement, seat.node, t->want, device, p) ||
        !pick_ports(placement, seat.node, t->want, p) ||
        !node_hold(placement->cluster, seat.node, t->want, p))
        return false;
    seat.group = g;
    seat.want = t->want;
    seat.place = t->place;
    placement->seats[placement->n_seats++] = seat;
    return true;
}

static void seats_give(struct placement *placement, uint32_t n_seats)
{
    while (placement->n_seats > n_seats) {
        const struct placed_task *s = &placement->seats[--placement->n_seats];
        node_drop(placement->cluster, s->node, s->want, &placement->places[s->place]);
    }
}

bool fit_put(struct placement *placement, struct group *g, uint32_t node, uint32_t device)
{
    uint32_t before = placement->n_seats;
    if (!fit_allowed(placement, g, node))
        return false;
    for (uint32_t i = 0; i < g->size; i++) {
        const struct group_task *t = &g->tasks[g->done * g->size + i];
        if (!put_task(placement, g, t, (struct placed_task){ .node = node }, device)) {
            seats_give(placement, before);
            return false;
        }
    }
    g->done++;
    if (g->on)
        g->on[node]++;
    return true;
}

void fit_back(struct placement *placement, uint32_t n_seats)
{
    while (placement->n_seats > n_seats) {
        struct group *g = placement->seats[placement->n_seats - 1].group;
        if (g->on)
            g->on[placement->seats[placement->n_seats - 1].node]--;
        g->done--;
        seats_give(placement, placement->n_seats - g->size);
    }
}
