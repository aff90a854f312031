/* Choosing nodes by looking at classes.
 *
 * What a class's state allows is a bound for each node in it; it is exact unless the group asks for
 * something of single nodes: names, ports, tasks to keep apart from. Then the class's nodes are
 * asked in turn until one reaches the bound, and only where the bound beats the best so far. So the
 * answer is that of a look at every node, at the cost of a look at every state. */
#include "sched/choice.h"

#include "sched/classify.h"
#include "sched/fit.h"

#define FEW 8u /* classes that are looked at in turn */

struct ask {
    const struct placement *placement;
    const struct group *group; /* NULL: all of them, whole; a node then holds 1 or 0 */
    struct node_classes *classes;
    uint32_t left;
    bool each;          /* nodes of a class may differ */
    uint32_t level;     /* where classes begin that may do */
    bool priced;        /* by the potential */
    bool ranked;        /* a ranking may know the answer */
    uint32_t shape, of; /* for the potential: that many units as one task */
};

static bool fits_kind(struct node_classes *s, const struct placement *placement,
                      const struct group *g, const struct node_class *class)
{
    if (s->kind_asked[class->kind] >> 1 != g->stamp) {
        const struct layout *l = placement->cluster->layout;
        bool fits = true;
        for (size_t i = 0; i < g->n_members && fits; i++)
            fits = task_request_fits_kind(g->members[i].want, l->kinds, l->forms[class->root]);
        s->kind_asked[class->kind] = g->stamp << 1 | fits;
    }
    return s->kind_asked[class->kind] & 1;
}

/* One unit, as far as the class itself tells; where the group is plain, that is all of it. */
static bool may_hold(struct node_classes *s, const struct placement *placement,
                     const struct group *g, const struct node_class *class)
{
    return class->usable && class->cpu >= g->cpu && class->memory >= g->memory &&
           class->idle >= g->devices && class->most >= g->share &&
           fits_kind(s, placement, g, class);
}

/* What every node of the class could hold as far as its state says. */
static uint64_t count_units(struct node_classes *s, const struct placement *placement,
                            const struct group *g, const struct node_class *class)
{
    uint64_t units = g->apart ? 1 : UINT32_MAX;
    if (!may_hold(s, placement, g, class))
        return 0;
    for (size_t i = 0; i < g->n_demands && units; i++) {
        struct demand d = g->demands[i];
        d.type = NULL; /* a node may have the free devices of another model than the next */
        if (d.kind == DEMAND_PORT)
            units = d.per_unit == 1 ? 1 : 0;
        else if (d.kind != DEMAND_PORTS)
            units = demand_slots(placement->cluster, class->root, &d, units);
    }
    return units;
}

static uint64_t class_units(struct node_classes *s, const struct placement *placement,
                            const struct group *g, struct node_class *class)
{
    if (class->asked != g->stamp) {
        class->units = count_units(s, placement, g, class);
        class->asked = g->stamp;
    }
    return class->units;
}

/* The sums of what is most often short. */
static bool sums_fit(const struct placement *placement, const struct node_class *class)
{
    uint64_t cpu = 0, gpu = 0;
    for (size_t i = 0; i < placement->n_groups; i++) {
        const struct group *g = &placement->groups[i];
        for (size_t k = 0; k < g->n_demands; k++) {
            cpu += g->demands[k].kind == DEMAND_CPU ? g->demands[k].need * g->units : 0;
            gpu += g->demands[k].kind == DEMAND_GPU ? g->demands[k].need * g->units : 0;
        }
    }
    return gpu <= UINT64_C(1000) * class->idle && cpu <= class->cpu;
}

static uint64_t bound(const struct ask *ask, struct node_class *class)
{
    if (ask->group && ask->group->plain && ask->left == 1)
        return may_hold(ask->classes, ask->placement, ask->group, class) ? 1 : 0;
    if (ask->group) {
        uint64_t units = class_units(ask->classes, ask->placement, ask->group, class);
        return units < ask->left ? units : ask->left;
    }
    for (size_t i = 0; i < ask->placement->n_groups; i++)
        if (class_units(ask->classes, ask->placement, &ask->placement->groups[i], class) <
            ask->placement->groups[i].units)
            return 0;
    return sums_fit(ask->placement, class) ? 1 : 0;
}

static uint64_t exactly(const struct ask *ask, uint32_t node)
{
    const struct placement *placement = ask->placement;
    if (ask->group)
        return ask->group->skip && ask->group->skip[node]
                   ? 0
                   : fit_units(placement, ask->group, node, ask->left);
    for (size_t i = 0; i < placement->n_groups; i++)
        if (fit_units(placement, &placement->groups[i], node, placement->groups[i].units) <
            placement->groups[i].units)
            return 0;
    return 1;
}

/* Shares of several units go to devices one after the other; that has no price. */
static void set_price(struct ask *ask, const struct node_class *class, struct node_score *r)
{
    struct potential *p = ask->classes->potential;
    const struct task_request *w = ask->group->members[0].want;
    r->price = 0;
    r->filled = 0;
    if ((r->units > 1 && w->share) || class->gpu == 0)
        return; /* where no device is left, nothing more is wasted */
    if (ask->of != r->units) {
        const struct kinds *kinds = ask->placement->cluster->layout->kinds;
        struct shape shape = task_request_price_shape(w, kinds, (uint32_t)r->units);
        ask->shape = potential_shape(p, &shape);
        ask->of = (uint32_t)r->units;
    }
    struct putting put = potential_put(p, class->state, ask->shape);
    r->price = put.fits ? put.delta : INT32_MAX;
    if (w->share && put.fits)
        r->filled = 1000u - potential_state(p, class->state)->free[put.slot];
}

static struct node_score rank_of(struct ask *ask, struct node_class *class, uint32_t node,
                                 const struct node_score *best)
{
    struct node_score here = { .units = bound(ask, class),
                               .gpu = class->gpu,
                               .cpu = class->cpu,
                               .memory = class->memory,
                               .node = node };
    if (ask->priced && here.units && here.units >= best->units)
        set_price(ask, class, &here);
    return here;
}

/* The node as it is; `here` is what its class lets hope for. */
static void look_closely(struct ask *ask, const struct node_class *class, struct node_score here,
                         struct node_score *best)
{
    uint64_t most = here.units;
    if (ask->each)
        here.units = exactly(ask, here.node);
    if (ask->priced && here.units && here.units != most)
        set_price(ask, class, &here);
    if (here.units && rank_better(&here, best))
        *best = here;
}

static void look_at_class(struct ask *ask, struct node_class *class, struct node_score *best)
{
    struct node_score hope = rank_of(ask, class, class->first, best);
    while (hope.units && hope.node != POSITION_NONE && rank_better(&hope, best)) {
        look_closely(ask, class, hope, best);
        hope.node = node_classes_after(ask->classes, class, hope.node);
    }
}

/* ---- one unit, when there are many classes ---- */

static void push_class(struct ask *ask, struct class_ranking *ranking, uint32_t at)
{
    struct node_class *class = &ask->classes->at[at];
    const struct group *g = ask->group;
    struct ranking_entry e = { .class = at, .serial = class->serial };
    if (!class->usable || class->cpu < g->cpu || class->memory < g->memory ||
        class->idle < g->devices || class->most < g->share)
        return; /* never, for this shape */
    e.rank = (struct node_score){
        .units = 1, .gpu = class->gpu, .cpu = class->cpu, .memory = class->memory
    };
    if (ask->priced)
        set_price(ask, class, &e.rank);
    class_ranking_push(ranking, &e);
}

static void bring_up(struct ask *ask, struct class_ranking *ranking)
{
    struct node_classes *s = ask->classes;
    if (ranking->n > 4 * s->n_live + 64)
        ranking->n = ranking->seen = 0; /* mostly of classes that are gone */
    for (; ranking->seen < s->n_made; ranking->seen++)
        if (s->at[s->made[ranking->seen]].serial == ranking->seen)
            push_class(ask, ranking, s->made[ranking->seen]);
}

/* Classes in the order of their price, until none can be better. false: this is the first time that
 * the shape is asked for, and a look at each is cheaper. */
static bool look_at_front(struct ask *ask, struct node_score *best)
{
    struct node_classes *s = ask->classes;
    struct shape shape = task_request_price_shape(ask->group->members[0].want,
                                                  ask->placement->cluster->layout->kinds, 1);
    struct class_ranking *ranking = class_rankings_find(node_classes_rankings(s), &shape);
    struct class_ranking aside = { .n = 0 };
    if (!ranking->built) {
        ranking->built = true;
        return false;
    }
    bring_up(ask, ranking);
    while (ranking->n && !rank_better(best, &ranking->heap[0].rank)) {
        struct ranking_entry e = class_ranking_pop(ranking);
        if (s->at[e.class].serial != e.serial)
            continue;
        class_ranking_push(&aside, &e);
        look_at_class(ask, &s->at[e.class], best);
    }
    for (uint32_t i = 0; i < aside.n; i++)
        class_ranking_push(ranking, &aside.heap[i]);
    free(aside.heap);
    return true;
}

static void look_at_node(struct ask *ask, uint32_t node, struct node_score *best)
{
    struct node_class *class = &ask->classes->at[ask->classes->of[node]];
    struct node_score hope = rank_of(ask, class, node, best);
    if (hope.units && rank_better(&hope, best))
        look_closely(ask, class, hope, best);
}

/* The first device of the node that is as the potential says. */
static uint32_t device_for(const struct ask *ask, const struct node_score *best)
{
    const struct cluster *c = ask->placement->cluster;
    if (best->node == POSITION_NONE || !ask->priced || best->units != 1 ||
        !ask->group->members[0].want->share || best->price == INT32_MAX)
        return FIT_ANY_DEVICE;
    const struct form *f = cluster_form(c, best->node);
    for (uint32_t i = 0; i < f->spec.gpus; i++)
        if (c->gpu[f->gpu_at + i] == best->filled &&
            task_request_takes_device(ask->group->members[0].want, f, i))
            return i;
    return FIT_ANY_DEVICE;
}

static struct choice best_of(struct ask *ask)
{
    const struct placement *placement = ask->placement;
    struct node_classes *s = ask->classes;
    struct node_score best = { .node = POSITION_NONE };
    if (ask->group && ask->group->pin != POSITION_NONE)
        look_at_node(ask, ask->group->pin, &best);
    else if (placement->among)
        for (uint32_t i = 0; i < placement->n_among; i++)
            look_at_node(ask, placement->among[i], &best);
    else if (!ask->ranked || !look_at_front(ask, &best))
        for (uint32_t i = node_classes_next(s, POSITION_NONE, ask->level); i != POSITION_NONE;
             i = node_classes_next(s, i, 0))
            look_at_class(ask, &s->at[i], &best);
    return (struct choice){ .node = best.node,
                            .device = device_for(ask, &best),
                            .units = (uint32_t)best.units };
}

static struct ask ask_for(const struct placement *placement, const struct group *g, uint32_t left)
{
    struct node_classes *s = node_classes_of(placement->cluster);
    return (struct ask){ .placement = placement,
                         .group = g,
                         .classes = s,
                         .left = left,
                         .level = node_class_level(g->devices, g->share),
                         .each = g->picky || g->has_ports || g->skip,
                         .priced = g->size == 1 && s->potential && potential_version(s->potential),
                         .ranked = g->size == 1 && left == 1 && s->n_live > FEW };
}

struct choice choice_for(const struct placement *placement, const struct group *g, uint32_t left)
{
    struct ask ask = ask_for(placement, g, left);
    return best_of(&ask);
}

uint32_t choice_for_all(const struct placement *placement)
{
    struct ask ask = { .placement = placement, .classes = node_classes_of(placement->cluster) };
    for (size_t i = 0; i < placement->n_groups; i++) {
        uint32_t level = node_class_level(placement->groups[i].devices, placement->groups[i].share);
        ask.level = level > ask.level ? level : ask.level;
        ask.each = ask.each || placement->groups[i].picky || placement->groups[i].has_ports;
    }
    return best_of(&ask).node;
}

uint32_t choice_units(const struct placement *placement, const struct group *g, uint32_t node,
                      uint32_t most)
{
    const struct ask ask = ask_for(placement, g, most);
    uint64_t units = bound(&ask, &ask.classes->at[ask.classes->of[node]]);
    return (uint32_t)(units && ask.each ? exactly(&ask, node) : units);
}

uint32_t choice_count(const struct placement *placement, const struct group *g, uint32_t most)
{
    const struct ask ask = ask_for(placement, g, most);
    struct node_classes *s = ask.classes;
    uint64_t found = 0;
    if (g->pin != POSITION_NONE)
        return exactly(&ask, g->pin) < most ? (uint32_t)exactly(&ask, g->pin) : most;
    for (uint32_t i = 0; i < placement->n_among && found < most; i++)
        found += exactly(&ask, placement->among[i]);
    for (uint32_t at = placement->among ? POSITION_NONE
                                        : node_classes_next(s, POSITION_NONE, ask.level);
         at != POSITION_NONE && found < most; at = node_classes_next(s, at, 0)) {
        struct node_class *class = &s->at[at];
        uint64_t units = bound(&ask, class);
        if (!ask.each)
            found += units * class->n;
        for (uint32_t node = class->first;
             ask.each && units && node != POSITION_NONE && found < most;
             node = node_classes_after(s, class, node))
            found += exactly(&ask, node);
    }
    return found < most ? (uint32_t)found : most;
}

struct node_walk choice_nodes(const struct placement *placement, const struct group *g, bool each)
{
    each = each || (g && g->picky);
    return (struct node_walk){ .placement = placement,
                               .each = each,
                               .at = each || placement->among ? 0 : POSITION_NONE };
}

bool node_walk_next(struct node_walk *walk, uint32_t *node, uint32_t *n)
{
    const struct placement *placement = walk->placement;
    const struct node_classes *s = node_classes_of(placement->cluster);
    *n = 1;
    if (placement->among) {
        if (walk->at == placement->n_among)
            return false;
        *node = placement->among[walk->at++];
    } else if (walk->each) {
        if (walk->at == cluster_count(placement->cluster))
            return false;
        *node = walk->at++;
    } else {
        walk->at = node_classes_next(s, walk->at, 0);
        if (walk->at == POSITION_NONE)
            return false;
        const struct node_class *class = &s->at[walk->at];
        *node = class->first;
        *n = class->n;
    }
    return true;
}
