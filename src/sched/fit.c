/* Choosing devices and ports on one node.
 *
 * Whole devices: of those that nobody uses the best linked (sched/links.h), where no links are
 * known the lowest numbers. A share: the fullest device that still holds it, so that whole devices
 * stay whole. Ports: the role's own numbers, or what the host's map finds. Every taken task is
 * written down as a seat. */
#include "sched/fit.h"

#include "job/gpu.h"
#include "sched/links.h"

bool fit_suits(const struct crew *crew, const struct group *g, uint32_t node)
{
    for (size_t i = 0; i < g->n_members; i++)
        if (want_misfit(g->members[i].want, cluster_form(crew->cluster, node)) != MISFIT_NONE)
            return false;
    return true;
}

bool fit_allowed(const struct crew *crew, const struct group *g, uint32_t node)
{
    return fit_reaches(crew, g, node) && fit_suits(crew, g, node);
}

uint32_t fit_units(const struct crew *crew, const struct group *g, uint32_t node, uint32_t limit)
{
    if (!limit || !fit_allowed(crew, g, node))
        return 0;
    uint64_t units = g->apart ? 1 : limit;
    for (size_t i = 0; i < g->n_demands && units; i++)
        units = demand_slots(crew->cluster, node, &g->demands[i], units);
    return (uint32_t)units;
}

static bool pick_whole(struct crew *crew, uint32_t node, const struct want *w, uint32_t *out)
{
    const struct cluster *c = crew->cluster;
    const struct form *f = cluster_form(c, node);
    const struct gpu_report *report = f->spec.report;
    bool linked = report && report->near && f->spec.gpus <= report->n_slots;
    uint32_t *idle = linked ? ARENA_ARRAY(crew->arena, f->spec.gpus, uint32_t) : out, found = 0;
    for (uint32_t i = 0; i < f->spec.gpus && (linked || found < w->devices); i++)
        if (c->gpu[f->gpu_at + i] == 0 && want_takes_device(w, f, i))
            idle[found++] = i;
    if (found < w->devices)
        return false;
    if (linked)
        links_choose(report, idle, found, w->devices, out);
    return true;
}

static bool pick_share(const struct cluster *c, uint32_t node, const struct want *w, uint32_t *out)
{
    const struct form *f = cluster_form(c, node);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->spec.gpus; i++) {
        uint32_t used = c->gpu[f->gpu_at + i];
        if (used + w->share <= 1000 && (best == UINT32_MAX || used > c->gpu[f->gpu_at + best]) &&
            want_takes_device(w, f, i))
            best = i;
    }
    *out = best;
    return best != UINT32_MAX;
}

static bool pick_devices(struct crew *crew, uint32_t node, const struct want *w, uint32_t device,
                         struct task_place *p)
{
    uint32_t n = w->devices ? w->devices : w->share ? 1 : 0;
    if (n > cluster_form(crew->cluster, node)->spec.gpus)
        return false;
    if (n && !p->gpus)
        p->gpus = ARENA_ARRAY(crew->arena, n, uint32_t);
    p->n_gpus = n;
    p->gpu_share_milli = w->share;
    if (w->devices)
        return pick_whole(crew, node, w, p->gpus);
    if (w->share && device != FIT_ANY_DEVICE)
        p->gpus[0] = device;
    else if (w->share)
        return pick_share(crew->cluster, node, w, p->gpus);
    return !w->share || want_takes_device(w, cluster_form(crew->cluster, node), device);
}

static bool is_avoided(const struct crew *crew, uint32_t port)
{
    for (size_t i = 0; i < crew->n_avoid; i++)
        if (port >= crew->avoid[i].first && port <= crew->avoid[i].last)
            return true;
    return false;
}

/* A range that is only preferred stays clear of those that other labels of the job must have. */
static bool pick_range(const struct crew *crew, const struct ports *map,
                       const struct port_want *ask, uint32_t *out)
{
    for (uint32_t i = 0; i < ask->count; i++) {
        out[i] = ask->first + i;
        if (out[i] >= PORTS_MAX || ports_busy(map, out[i]) ||
            (ask->prefer && is_avoided(crew, out[i])))
            return false;
    }
    return true;
}

static bool pick_label(const struct crew *crew, uint32_t node, const struct port_want *ask,
                       uint32_t *out)
{
    const struct ports *map = cluster_ports(crew->cluster, node);
    if (ask->first && pick_range(crew, map, ask, out))
        return true;
    if (!ask->first || ask->prefer) {
        struct port_ask find = { .pool = crew->cluster->pool,
                                 .start = crew->cluster->port_start,
                                 .avoid = crew->avoid,
                                 .n_avoid = crew->n_avoid };
        return ports_find(map, &find, ask->count, out);
    }
    return false;
}

static void make_ports(struct crew *crew, const struct role *r, struct task_place *p)
{
    p->ports = ARENA_ARRAY(crew->arena, r->n_ports, struct placed_port);
    p->n_ports = (uint32_t)r->n_ports;
    for (size_t i = 0; i < r->n_ports; i++)
        p->ports[i] = (struct placed_port){
            .label = arena_strdup(crew->arena, r->ports[i].label),
            .numbers = ARENA_ARRAY(crew->arena, r->ports[i].count, uint32_t),
            .count = r->ports[i].count,
        };
}

/* Labels are chosen one after the other, each held so that the next one stays clear of it;
 * node_hold() takes them for good. */
static bool pick_ports(struct crew *crew, uint32_t node, const struct want *w, struct task_place *p)
{
    const struct role *r = w->role;
    if (!r->n_ports)
        return true;
    if (!p->ports)
        make_ports(crew, r, p);
    struct ports *map = cluster_own_ports(crew->cluster, node);
    size_t n = 0;
    while (n < r->n_ports && pick_label(crew, node, &r->ports[n], p->ports[n].numbers)) {
        for (uint32_t k = 0; k < r->ports[n].count; k++)
            ports_hold(map, p->ports[n].numbers[k]);
        n++;
    }
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < r->ports[i].count; k++)
            ports_drop(map, p->ports[i].numbers[k]);
    return n == r->n_ports;
}

static bool put_task(struct crew *crew, struct group *g, const struct crew_task *t,
                     struct seat seat, uint32_t device)
{
    struct task_place *p = &crew->places[t->place];
    if (!node_has_amounts(crew->cluster, seat.node, t->want) ||
        !pick_devices(crew, seat.node, t->want, device, p) ||
        !pick_ports(crew, seat.node, t->want, p) ||
        !node_hold(crew->cluster, seat.node, t->want, p))
        return false;
    seat.group = g;
    seat.want = t->want;
    seat.place = t->place;
    crew->seats[crew->n_seats++] = seat;
    return true;
}

static void seats_give(struct crew *crew, uint32_t n_seats)
{
    while (crew->n_seats > n_seats) {
        const struct seat *s = &crew->seats[--crew->n_seats];
        node_drop(crew->cluster, s->node, s->want, &crew->places[s->place]);
    }
}

bool fit_put(struct crew *crew, struct group *g, uint32_t node, uint32_t device)
{
    uint32_t before = crew->n_seats;
    if (!fit_allowed(crew, g, node))
        return false;
    for (uint32_t i = 0; i < g->size; i++) {
        const struct crew_task *t = &g->tasks[g->done * g->size + i];
        if (!put_task(crew, g, t, (struct seat){ .node = node }, device)) {
            seats_give(crew, before);
            return false;
        }
    }
    g->done++;
    if (g->on)
        g->on[node]++;
    return true;
}

void fit_back(struct crew *crew, uint32_t n_seats)
{
    while (crew->n_seats > n_seats) {
        struct group *g = crew->seats[crew->n_seats - 1].group;
        if (g->on)
            g->on[crew->seats[crew->n_seats - 1].node]--;
        g->done--;
        seats_give(crew, crew->n_seats - g->size);
    }
}
