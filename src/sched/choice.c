/* Choosing nodes by looking at shelves.
 *
 * What a shelf's state allows is a bound for each node on it; it is exact unless the group asks for
 * something of single nodes: names, ports, tasks to keep apart from. Then the shelf's nodes are
 * asked in turn until one reaches the bound, and only where the bound beats the best so far. So the
 * answer is that of a look at every node, at the cost of a look at every state. */
#include "sched/choice.h"

#include "sched/fit.h"

#define FEW 8u /* shelves that are looked at in turn */

struct ask {
    const struct crew *crew;
    const struct group *group; /* NULL: all of them, whole; a node then holds 1 or 0 */
    struct shelves *shelves;
    uint32_t left;
    bool each;          /* nodes of a shelf may differ */
    uint32_t level;     /* where shelves begin that may do */
    bool priced;        /* by the potential */
    bool ranked;        /* a front may know the answer */
    uint32_t shape, of; /* for the potential: that many units as one task */
};

static bool fits_kind(struct shelves *s, const struct crew *crew, const struct group *g,
                      const struct shelf *shelf)
{
    if (s->kind_asked[shelf->kind] >> 1 != g->stamp) {
        const struct layout *l = crew->cluster->layout;
        bool fits = true;
        for (size_t i = 0; i < g->n_members && fits; i++)
            fits = want_fits_kind(g->members[i].want, l->kinds, l->forms[shelf->root]);
        s->kind_asked[shelf->kind] = g->stamp << 1 | fits;
    }
    return s->kind_asked[shelf->kind] & 1;
}

/* One unit, as far as the shelf itself tells; where the group is plain, that is all of it. */
static bool may_hold(struct shelves *s, const struct crew *crew, const struct group *g,
                     const struct shelf *shelf)
{
    return shelf->usable && shelf->cpu >= g->cpu && shelf->memory >= g->memory &&
           shelf->idle >= g->devices && shelf->most >= g->share && fits_kind(s, crew, g, shelf);
}

/* What every node of the shelf could hold as far as its state says. */
static uint64_t count_units(struct shelves *s, const struct crew *crew, const struct group *g,
                            const struct shelf *shelf)
{
    uint64_t units = g->apart ? 1 : UINT32_MAX;
    if (!may_hold(s, crew, g, shelf))
        return 0;
    for (size_t i = 0; i < g->n_demands && units; i++) {
        struct demand d = g->demands[i];
        d.type = NULL; /* a node may have the free devices of another model than the next */
        if (d.kind == DEMAND_PORT)
            units = d.per_unit == 1 ? 1 : 0;
        else if (d.kind != DEMAND_PORTS)
            units = demand_slots(crew->cluster, shelf->root, &d, units);
    }
    return units;
}

static uint64_t shelf_units(struct shelves *s, const struct crew *crew, const struct group *g,
                            struct shelf *shelf)
{
    if (shelf->asked != g->stamp) {
        shelf->units = count_units(s, crew, g, shelf);
        shelf->asked = g->stamp;
    }
    return shelf->units;
}

/* The sums of what is most often short. */
static bool sums_fit(const struct crew *crew, const struct shelf *shelf)
{
    uint64_t cpu = 0, gpu = 0;
    for (size_t i = 0; i < crew->n_groups; i++) {
        const struct group *g = &crew->groups[i];
        for (size_t k = 0; k < g->n_demands; k++) {
            cpu += g->demands[k].kind == DEMAND_CPU ? g->demands[k].need * g->units : 0;
            gpu += g->demands[k].kind == DEMAND_GPU ? g->demands[k].need * g->units : 0;
        }
    }
    return gpu <= UINT64_C(1000) * shelf->idle && cpu <= shelf->cpu;
}

static uint64_t bound(const struct ask *ask, struct shelf *shelf)
{
    if (ask->group && ask->group->plain && ask->left == 1)
        return may_hold(ask->shelves, ask->crew, ask->group, shelf) ? 1 : 0;
    if (ask->group) {
        uint64_t units = shelf_units(ask->shelves, ask->crew, ask->group, shelf);
        return units < ask->left ? units : ask->left;
    }
    for (size_t i = 0; i < ask->crew->n_groups; i++)
        if (shelf_units(ask->shelves, ask->crew, &ask->crew->groups[i], shelf) <
            ask->crew->groups[i].units)
            return 0;
    return sums_fit(ask->crew, shelf) ? 1 : 0;
}

static uint64_t exactly(const struct ask *ask, uint32_t node)
{
    const struct crew *crew = ask->crew;
    if (ask->group)
        return ask->group->skip && ask->group->skip[node]
                   ? 0
                   : fit_units(crew, ask->group, node, ask->left);
    for (size_t i = 0; i < crew->n_groups; i++)
        if (fit_units(crew, &crew->groups[i], node, crew->groups[i].units) < crew->groups[i].units)
            return 0;
    return 1;
}

/* Shares of several units go to devices one after the other; that has no price. */
static void set_price(struct ask *ask, const struct shelf *shelf, struct grade *r)
{
    struct potential *p = ask->shelves->potential;
    const struct want *w = ask->group->members[0].want;
    r->price = 0;
    r->filled = 0;
    if ((r->units > 1 && w->share) || shelf->gpu == 0)
        return; /* where no device is left, nothing more is wasted */
    if (ask->of != r->units) {
        const struct kinds *kinds = ask->crew->cluster->layout->kinds;
        struct shape shape = want_price_shape(w, kinds, (uint32_t)r->units);
        ask->shape = potential_shape(p, &shape);
        ask->of = (uint32_t)r->units;
    }
    struct putting put = potential_put(p, shelf->state, ask->shape);
    r->price = put.fits ? put.delta : INT32_MAX;
    if (w->share && put.fits)
        r->filled = 1000u - potential_state(p, shelf->state)->free[put.slot];
}

static struct grade rank_of(struct ask *ask, struct shelf *shelf, uint32_t node,
                            const struct grade *best)
{
    struct grade here = { .units = bound(ask, shelf),
                          .gpu = shelf->gpu,
                          .cpu = shelf->cpu,
                          .memory = shelf->memory,
                          .node = node };
    if (ask->priced && here.units && here.units >= best->units)
        set_price(ask, shelf, &here);
    return here;
}

/* The node as it is; `here` is what its shelf lets hope for. */
static void look_closely(struct ask *ask, const struct shelf *shelf, struct grade here,
                         struct grade *best)
{
    uint64_t most = here.units;
    if (ask->each)
        here.units = exactly(ask, here.node);
    if (ask->priced && here.units && here.units != most)
        set_price(ask, shelf, &here);
    if (here.units && rank_better(&here, best))
        *best = here;
}

static void look_at_shelf(struct ask *ask, struct shelf *shelf, struct grade *best)
{
    struct grade hope = rank_of(ask, shelf, shelf->first, best);
    while (hope.units && hope.node != SHELF_NONE && rank_better(&hope, best)) {
        look_closely(ask, shelf, hope, best);
        hope.node = shelves_after(ask->shelves, shelf, hope.node);
    }
}

/* ---- one unit, when there are many shelves ---- */

static void push_shelf(struct ask *ask, struct front *front, uint32_t at)
{
    struct shelf *shelf = &ask->shelves->at[at];
    const struct group *g = ask->group;
    struct front_entry e = { .shelf = at, .serial = shelf->serial };
    if (!shelf->usable || shelf->cpu < g->cpu || shelf->memory < g->memory ||
        shelf->idle < g->devices || shelf->most < g->share)
        return; /* never, for this shape */
    e.rank =
        (struct grade){ .units = 1, .gpu = shelf->gpu, .cpu = shelf->cpu, .memory = shelf->memory };
    if (ask->priced)
        set_price(ask, shelf, &e.rank);
    front_push(front, &e);
}

static void bring_up(struct ask *ask, struct front *front)
{
    struct shelves *s = ask->shelves;
    if (front->n > 4 * s->n_live + 64)
        front->n = front->seen = 0; /* mostly of shelves that are gone */
    for (; front->seen < s->n_made; front->seen++)
        if (s->at[s->made[front->seen]].serial == front->seen)
            push_shelf(ask, front, s->made[front->seen]);
}

/* Shelves in the order of their price, until none can be better. false: this is the first time that
 * the shape is asked for, and a look at each is cheaper. */
static bool look_at_front(struct ask *ask, struct grade *best)
{
    struct shelves *s = ask->shelves;
    struct shape shape =
        want_price_shape(ask->group->members[0].want, ask->crew->cluster->layout->kinds, 1);
    struct front *front = fronts_find(shelves_fronts(s), &shape);
    struct front aside = { .n = 0 };
    if (!front->built) {
        front->built = true;
        return false;
    }
    bring_up(ask, front);
    while (front->n && !rank_better(best, &front->heap[0].rank)) {
        struct front_entry e = front_pop(front);
        if (s->at[e.shelf].serial != e.serial)
            continue;
        front_push(&aside, &e);
        look_at_shelf(ask, &s->at[e.shelf], best);
    }
    for (uint32_t i = 0; i < aside.n; i++)
        front_push(front, &aside.heap[i]);
    free(aside.heap);
    return true;
}

static void look_at_node(struct ask *ask, uint32_t node, struct grade *best)
{
    struct shelf *shelf = &ask->shelves->at[ask->shelves->of[node]];
    struct grade hope = rank_of(ask, shelf, node, best);
    if (hope.units && rank_better(&hope, best))
        look_closely(ask, shelf, hope, best);
}

/* The first device of the node that is as the potential says. */
static uint32_t device_for(const struct ask *ask, const struct grade *best)
{
    const struct cluster *c = ask->crew->cluster;
    if (best->node == SHELF_NONE || !ask->priced || best->units != 1 ||
        !ask->group->members[0].want->share || best->price == INT32_MAX)
        return FIT_ANY_DEVICE;
    const struct form *f = cluster_form(c, best->node);
    for (uint32_t i = 0; i < f->spec.gpus; i++)
        if (c->gpu[f->gpu_at + i] == best->filled &&
            want_takes_device(ask->group->members[0].want, f, i))
            return i;
    return FIT_ANY_DEVICE;
}

static struct choice best_of(struct ask *ask)
{
    const struct crew *crew = ask->crew;
    struct shelves *s = ask->shelves;
    struct grade best = { .node = SHELF_NONE };
    if (ask->group && ask->group->pin != SHELF_NONE)
        look_at_node(ask, ask->group->pin, &best);
    else if (crew->among)
        for (uint32_t i = 0; i < crew->n_among; i++)
            look_at_node(ask, crew->among[i], &best);
    else if (!ask->ranked || !look_at_front(ask, &best))
        for (uint32_t i = shelves_next(s, SHELF_NONE, ask->level); i != SHELF_NONE;
             i = shelves_next(s, i, 0))
            look_at_shelf(ask, &s->at[i], &best);
    return (struct choice){ .node = best.node,
                            .device = device_for(ask, &best),
                            .units = (uint32_t)best.units };
}

static struct ask ask_for(const struct crew *crew, const struct group *g, uint32_t left)
{
    struct shelves *s = shelves_of(crew->cluster);
    return (struct ask){ .crew = crew,
                         .group = g,
                         .shelves = s,
                         .left = left,
                         .level = shelf_level(g->devices, g->share),
                         .each = g->picky || g->has_ports || g->skip,
                         .priced = g->size == 1 && s->potential && potential_version(s->potential),
                         .ranked = g->size == 1 && left == 1 && s->n_live > FEW };
}

struct choice choice_for(const struct crew *crew, const struct group *g, uint32_t left)
{
    struct ask ask = ask_for(crew, g, left);
    return best_of(&ask);
}

uint32_t choice_for_all(const struct crew *crew)
{
    struct ask ask = { .crew = crew, .shelves = shelves_of(crew->cluster) };
    for (size_t i = 0; i < crew->n_groups; i++) {
        uint32_t level = shelf_level(crew->groups[i].devices, crew->groups[i].share);
        ask.level = level > ask.level ? level : ask.level;
        ask.each = ask.each || crew->groups[i].picky || crew->groups[i].has_ports;
    }
    return best_of(&ask).node;
}

uint32_t choice_units(const struct crew *crew, const struct group *g, uint32_t node, uint32_t most)
{
    const struct ask ask = ask_for(crew, g, most);
    uint64_t units = bound(&ask, &ask.shelves->at[ask.shelves->of[node]]);
    return (uint32_t)(units && ask.each ? exactly(&ask, node) : units);
}

uint32_t choice_count(const struct crew *crew, const struct group *g, uint32_t most)
{
    const struct ask ask = ask_for(crew, g, most);
    struct shelves *s = ask.shelves;
    uint64_t found = 0;
    if (g->pin != SHELF_NONE)
        return exactly(&ask, g->pin) < most ? (uint32_t)exactly(&ask, g->pin) : most;
    for (uint32_t i = 0; i < crew->n_among && found < most; i++)
        found += exactly(&ask, crew->among[i]);
    for (uint32_t at = crew->among ? SHELF_NONE : shelves_next(s, SHELF_NONE, ask.level);
         at != SHELF_NONE && found < most; at = shelves_next(s, at, 0)) {
        struct shelf *shelf = &s->at[at];
        uint64_t units = bound(&ask, shelf);
        if (!ask.each)
            found += units * shelf->n;
        for (uint32_t node = shelf->first; ask.each && units && node != SHELF_NONE && found < most;
             node = shelves_after(s, shelf, node))
            found += exactly(&ask, node);
    }
    return found < most ? (uint32_t)found : most;
}

struct node_walk choice_spots(const struct crew *crew, const struct group *g, bool each)
{
    each = each || (g && g->picky);
    return (
        struct node_walk){ .crew = crew, .each = each, .at = each || crew->among ? 0 : SHELF_NONE };
}

bool spots_next(struct node_walk *spots, uint32_t *node, uint32_t *n)
{
    const struct crew *crew = spots->crew;
    const struct shelves *s = shelves_of(crew->cluster);
    *n = 1;
    if (crew->among) {
        if (spots->at == crew->n_among)
            return false;
        *node = crew->among[spots->at++];
    } else if (spots->each) {
        if (spots->at == cluster_count(crew->cluster))
            return false;
        *node = spots->at++;
    } else {
        spots->at = shelves_next(s, spots->at, 0);
        if (spots->at == SHELF_NONE)
            return false;
        const struct shelf *shelf = &s->at[spots->at];
        *node = shelf->first;
        *n = shelf->n;
    }
    return true;
}
