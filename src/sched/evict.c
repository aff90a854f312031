/* Choosing victims.
 *
 * Candidates are ranked: class, loss, priority, the youngest, id. Two sets are made in time that
 * grows with the number of tasks: candidates by rank until the job fits; and node by node, the
 * cheapest room first, because a job that needs a whole node gains nothing from victims on ten. Of
 * each, whoever can be spared is spared, the dearest first, and the cheaper set is taken. With few
 * candidates every set is tried instead, in the order of its cost. */
#include "sched/evict.h"

#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/tally.h"

#include <stdlib.h>

#define EXACT_MAX   12u
#define EXACT_WORK  (UINT64_C(1) << 20) /* tasks moved, or nodes looked at */
#define EVICT_STEPS 262144u             /* of exhaustive search, for one choice */

struct cost { /* of the highest class first */
    uint64_t loss[EVICT_CLASSES];
    uint32_t count[EVICT_CLASSES];
};
struct victim {
    const struct evict_candidate *candidate;
    struct held_places held;
    uint64_t loss;
    bool gone;
};
struct victim_set { /* room for one more unit on a node, and who makes it */
    struct cost cost;
    uint32_t node, step;
    size_t first, n; /* in members */
};
struct piece { /* a task of a victim on a node */
    uint32_t victim, task;
};
struct evict {
    const struct evict_ask *ask;
    struct arena *arena, *scratch;
    struct cluster *cluster; /* without those who are gone */
    struct tally tally;
    struct victim *victims; /* by rank */
    size_t n;
    size_t tasks; /* of all victims */
    uint32_t steps;
    uint64_t tries;
    struct task_place *places; /* of the job, as last placed */
    uint32_t n_places;
};

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t evict_loss(const struct evict_candidate *c, uint64_t now_ms)
{
    struct held_places_sum held = held_places_amounts(&c->held);
    uint64_t since = c->saved_ms > c->started_ms ? c->saved_ms : c->started_ms, loss;
    uint64_t amount = held.gpu_milli * EVICT_GPU_CPUS + held.cpu_milli;
    return __builtin_mul_overflow(amount, less(now_ms, since), &loss) ? UINT64_MAX : loss;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *a, const void *b)
{
    const struct victim *v = a, *w = b;
    const struct evict_candidate *x = v->candidate, *y = w->candidate;
    int order = compare(x->class, y->class);
    order = order ? order : compare(v->loss, w->loss);
    order = order ? order : compare(x->priority, y->priority);
    order = order ? order : compare(y->started_ms, x->started_ms);
    return order ? order : compare(x->job, y->job);
}

static void cost_add(struct cost *cost, const struct victim *v)
{
    enum evict_class class = v->candidate->class;
    cost->loss[class] = sum_of(cost->loss[class], v->loss);
    cost->count[class]++;
}

static int cost_compare(const struct cost *a, const struct cost *b)
{
    int order = 0;
    for (size_t i = EVICT_CLASSES; i-- > 0 && !order;) {
        order = compare(a->loss[i], b->loss[i]);
        order = order ? order : compare(a->count[i], b->count[i]);
    }
    return order;
}

/* ---- who is gone ---- */

static void recount(struct evict *e, const struct victim *v)
{
    for (uint32_t i = 0, last = UINT32_MAX; i < v->held.n; i++)
        if (v->held.nodes[i] != UINT32_MAX && v->held.nodes[i] != last) {
            last = v->held.nodes[i];
            tally_node(&e->tally, e->cluster, last);
        }
}

static void set_gone(struct evict *e, struct victim *v, bool gone)
{
    if (v->gone == gone)
        return;
    v->gone = gone;
    if (gone)
        held_places_give(e->cluster, &v->held);
    else
        held_take_back(e->cluster, &v->held);
    recount(e, v);
}

static void all_back(struct evict *e)
{
    for (size_t i = 0; i < e->n; i++)
        set_gone(e, &e->victims[i], false);
}

static bool place(struct evict *e)
{
    struct placement placement;
    placement_init(&placement, e->arena, e->cluster, e->ask->spec);
    placement.steps = &e->steps;
    e->tries++;
    if (gang_place(&placement) != GANG_PLACED)
        return false;
    e->places = placement.places;
    e->n_places = placement.n_places;
    struct held_places own = held_places_of(e->ask->spec, placement.places, placement.n_places);
    held_places_give(e->cluster, &own);
    return true;
}

static bool fits(struct evict *e)
{
    return tally_enough(&e->tally) && (tally_is_certain(&e->tally) || place(e));
}

static struct cost cost_of_gone(const struct evict *e)
{
    struct cost cost = { 0 };
    for (size_t i = 0; i < e->n; i++)
        if (e->victims[i].gone)
            cost_add(&cost, &e->victims[i]);
    return cost;
}

/* ---- sparing ---- */

static bool is_on(const struct evict *e, const struct victim *v, const bool *hosts)
{
    for (uint32_t i = 0; i < v->held.n; i++)
        if (v->held.nodes[i] != UINT32_MAX &&
            hosts[cluster_form(e->cluster, v->held.nodes[i])->host])
            return true;
    return false;
}

/* Everybody who is nowhere near the places that were found. */
static void spare_others(struct evict *e)
{
    if (!place(e))
        return;
    bool *hosts = ARENA_ARRAY(e->scratch, e->cluster->layout->n_hosts, bool);
    bool *spared = ARENA_ARRAY(e->scratch, e->n, bool);
    for (uint32_t i = 0; i < e->n_places; i++)
        hosts[cluster_form(e->cluster, cluster_find(e->cluster, e->places[i].node))->host] = true;
    for (size_t i = 0; i < e->n; i++)
        if (e->victims[i].gone && !is_on(e, &e->victims[i], hosts)) {
            spared[i] = true;
            set_gone(e, &e->victims[i], false);
        }
    if (fits(e))
        return;
    /* The places are there, but a job of many roles need not be put on them again. */
    for (size_t i = 0; i < e->n; i++)
        set_gone(e, &e->victims[i], e->victims[i].gone || spared[i]);
}

static void spare(struct evict *e)
{
    spare_others(e);
    for (size_t i = e->n; i-- > 0;) {
        if (!e->victims[i].gone)
            continue;
        set_gone(e, &e->victims[i], false);
        if (!fits(e))
            set_gone(e, &e->victims[i], true);
    }
}

/* ---- by rank ---- */

struct patience { /* twice as long after every look in vain */
    size_t gap, waited;
};

static bool look(struct evict *e, struct patience *p, bool last)
{
    if (!tally_enough(&e->tally) || (!last && ++p->waited < p->gap))
        return false;
    if (fits(e))
        return true;
    p->gap = p->gap ? p->gap * 2 : 1;
    p->waited = 0;
    return false;
}

static bool take_by_rank(struct evict *e)
{
    struct patience p = { 0 };
    bool found = look(e, &p, e->n == 0);
    for (size_t i = 0; i < e->n && !found; i++) {
        set_gone(e, &e->victims[i], true);
        found = look(e, &p, i + 1 == e->n);
    }
    return found;
}

/* ---- by node ---- */

struct victim_sets {
    struct victim_set *at;
    size_t n;
    uint32_t *members; /* victims, offer by offer */
    size_t n_members;
    const struct piece *pieces; /* node by node, on a node by rank */
    const bool *lacks;          /* groups for which there are too few units */
    struct cost most; /* of a set that is known: who costs more alone is in no cheaper one */
};

static bool move_pieces(struct evict *e, const struct piece *p, size_t n, bool give)
{
    const struct held_places *h = &e->victims[p->victim].held;
    for (size_t i = 0; i < n; i++) {
        const struct task_place *place = held_places_place(h, p[i].task);
        struct task_request w;
        task_request_init(&w, h->spec, place->role);
        if (give)
            node_drop(e->cluster, h->nodes[p[i].task], &w, place);
        else
            node_hold_back(e->cluster, h->nodes[p[i].task], &w, place);
    }
    tally_node(&e->tally, e->cluster, h->nodes[p->task]);
    return give;
}

/* Units, of groups that lack some, which the node could hold. */
static uint64_t of_help(const struct evict *e, const struct victim_sets *o, uint32_t node)
{
    uint64_t units = 0;
    size_t n = e->tally.placement.n_groups;
    for (size_t i = 0; i < n; i++)
        units += o->lacks[i] ? e->tally.units[node * n + i] : 0;
    return units;
}

struct run { /* the pieces of one victim on the node */
    size_t first, n;
    bool gone;
};

/* Of those who went for this step, the ones that are not needed come back, the dearest first. */
static void make_offer(struct evict *e, struct victim_sets *o, struct victim_set *offer,
                       struct run *runs, size_t n)
{
    uint64_t reached = of_help(e, o, offer->node);
    for (size_t i = n - 1; i-- > 0;) {
        runs[i].gone = move_pieces(e, &o->pieces[runs[i].first], runs[i].n, false);
        if (of_help(e, o, offer->node) < reached)
            runs[i].gone = move_pieces(e, &o->pieces[runs[i].first], runs[i].n, true);
    }
    offer->first = o->n_members;
    offer->n = 0;
    struct cost own = { 0 };
    for (size_t i = 0; i < n; i++)
        if (runs[i].gone) {
            o->members[o->n_members++] = o->pieces[runs[i].first].victim;
            cost_add(&own, &e->victims[o->pieces[runs[i].first].victim]);
            offer->n++;
        }
    if (cost_compare(&own, &offer->cost) > 0) /* never before the offer it builds on */
        offer->cost = own;
    o->at[o->n++] = *offer;
    offer->step++;
}

static void offers_of_node(struct evict *e, struct victim_sets *o, uint32_t node, size_t first,
                           size_t end)
{
    struct run *runs = ARENA_ARRAY(e->scratch, end - first, struct run);
    const struct piece *pieces = o->pieces;
    struct victim_set offer = { .node = node };
    size_t n_runs = 0, begin = 0;
    uint64_t before = of_help(e, o, node);
    for (size_t i = first, k; i < end; i = k) {
        for (k = i; k < end && pieces[k].victim == pieces[i].victim; k++)
            ;
        struct cost cost = { 0 };
        cost_add(&cost, &e->victims[pieces[i].victim]);
        if (cost_compare(&cost, &o->most) > 0)
            break; /* and all that follow */
        runs[n_runs++] = (struct run){ .first = i, .n = k - i };
        runs[n_runs - 1].gone = move_pieces(e, &pieces[i], k - i, true);
        if (of_help(e, o, node) <= before)
            continue;
        make_offer(e, o, &offer, &runs[begin], n_runs - begin);
        begin = n_runs;
        before = of_help(e, o, node);
    }
    for (size_t i = 0; i < n_runs; i++)
        if (runs[i].gone)
            move_pieces(e, &o->pieces[runs[i].first], runs[i].n, false);
}

static int by_cost(const void *a, const void *b)
{
    const struct victim_set *x = a, *y = b;
    int order = cost_compare(&x->cost, &y->cost);
    order = order ? order : compare(x->node, y->node);
    return order ? order : compare(x->step, y->step);
}

/* All tasks of all victims, node by node, and on a node by rank. */
static struct piece *sort_pieces(struct evict *e, size_t *first)
{
    struct piece *pieces = ARENA_ARRAY(e->scratch, e->tasks, struct piece);
    uint32_t nodes = cluster_count(e->cluster);
    for (size_t v = 0; v < e->n; v++)
        for (uint32_t i = 0; i < e->victims[v].held.n; i++)
            if (e->victims[v].held.nodes[i] != UINT32_MAX)
                first[e->victims[v].held.nodes[i] + 2]++;
    for (uint32_t node = 0; node < nodes; node++)
        first[node + 2] += first[node + 1];
    for (size_t v = 0; v < e->n; v++)
        for (uint32_t i = 0; i < e->victims[v].held.n; i++)
            if (e->victims[v].held.nodes[i] != UINT32_MAX)
                pieces[first[e->victims[v].held.nodes[i] + 1]++] =
                    (struct piece){ .victim = (uint32_t)v, .task = i };
    return pieces;
}

static bool take_by_node(struct evict *e, const struct cost *most)
{
    uint32_t nodes = cluster_count(e->cluster);
    size_t *first = ARENA_ARRAY(e->scratch, (size_t)nodes + 2, size_t);
    bool *lacks = ARENA_ARRAY(e->scratch, e->tally.placement.n_groups, bool);
    struct victim_sets o = { .at = ARENA_ARRAY(e->scratch, e->tasks, struct victim_set),
                             .members = ARENA_ARRAY(e->scratch, e->tasks, uint32_t),
                             .pieces = sort_pieces(e, first),
                             .lacks = lacks,
                             .most = *most };
    struct patience p = { 0 };
    bool any = false, found = false;
    for (size_t i = 0; i < e->tally.placement.n_groups; i++)
        any |= lacks[i] = e->tally.sums[i] < e->tally.placement.groups[i].least;
    for (size_t i = 0; i < e->tally.placement.n_groups && !any; i++)
        lacks[i] = true; /* enough of each, and yet not together */
    for (uint32_t node = 0; node < nodes; node++)
        if (e->tally.of_use[node] && first[node + 1] > first[node])
            offers_of_node(e, &o, node, first[node], first[node + 1]);
    qsort(o.at, o.n, sizeof *o.at, by_cost);
    for (size_t i = 0; i < o.n && !found; i++) {
        for (size_t k = 0; k < o.at[i].n; k++)
            set_gone(e, &e->victims[o.members[o.at[i].first + k]], true);
        found = look(e, &p, i + 1 == o.n);
    }
    return found;
}

/* ---- every set ---- */

struct subset {
    struct cost cost;
    uint32_t mask; /* bit i: victim i; ranks break ties */
};

static int by_set_cost(const void *a, const void *b)
{
    const struct subset *x = a, *y = b;
    int order = cost_compare(&x->cost, &y->cost);
    return order ? order : compare(x->mask, y->mask);
}

enum search_result { TRIED_FOUND, TRIED_NONE, TRIED_TOO_LONG };

static enum search_result try_every_set(struct evict *e)
{
    uint32_t n_sets = UINT32_C(1) << e->n;
    uint64_t tries = EXACT_WORK / (cluster_count(e->cluster) + 1u);
    struct subset *sets = ARENA_ARRAY(e->scratch, n_sets, struct subset);
    for (uint32_t mask = 0; mask < n_sets; mask++) {
        sets[mask].mask = mask;
        for (size_t i = 0; i < e->n; i++)
            if (mask >> i & 1)
                cost_add(&sets[mask].cost, &e->victims[i]);
    }
    qsort(sets, n_sets, sizeof *sets, by_set_cost);
    for (size_t i = 0; i < e->n; i++)
        set_gone(e, &e->victims[i], true);
    if (!fits(e))
        return TRIED_NONE;
    for (uint32_t s = 0; s < n_sets; s++) {
        for (size_t i = 0; i < e->n; i++)
            set_gone(e, &e->victims[i], sets[s].mask >> i & 1);
        if (fits(e))
            return TRIED_FOUND;
        if (e->tries > tries)
            return TRIED_TOO_LONG;
    }
    return TRIED_NONE;
}

/* ---- all together ---- */

/* Those who hold something where the job could be. */
static void find_victims(struct evict *e)
{
    bool *hosts = ARENA_ARRAY(e->scratch, e->cluster->layout->n_hosts, bool);
    for (uint32_t node = 0; node < e->tally.n_nodes; node++)
        if (e->tally.of_use[node])
            hosts[cluster_form(e->cluster, node)->host] = true;
    e->victims = ARENA_ARRAY(e->scratch, e->ask->n, struct victim);
    for (size_t i = 0; i < e->ask->n; i++) {
        struct victim v = { .candidate = &e->ask->candidates[i] };
        v.held = v.candidate->held;
        held_places_locate(&v.held, e->cluster, e->scratch);
        if (!is_on(e, &v, hosts))
            continue;
        v.loss = evict_loss(v.candidate, e->ask->now_ms);
        e->tasks += v.held.n;
        e->victims[e->n++] = v;
    }
    qsort(e->victims, e->n, sizeof *e->victims, by_rank);
}

static bool choose(struct evict *e)
{
    if (e->n <= EXACT_MAX && e->tasks << e->n <= EXACT_WORK) {
        enum search_result tried = try_every_set(e);
        if (tried != TRIED_TOO_LONG)
            return tried == TRIED_FOUND;
        all_back(e);
    }
    if (!take_by_rank(e))
        return false;
    spare(e);
    struct cost by_rank_cost = cost_of_gone(e);
    bool *gone = ARENA_ARRAY(e->scratch, e->n, bool);
    for (size_t i = 0; i < e->n; i++)
        gone[i] = e->victims[i].gone;
    all_back(e);
    bool found = take_by_node(e, &by_rank_cost);
    if (found)
        spare(e);
    struct cost by_node_cost = cost_of_gone(e);
    if (found && cost_compare(&by_node_cost, &by_rank_cost) < 0)
        return true;
    for (size_t i = 0; i < e->n; i++)
        set_gone(e, &e->victims[i], gone[i]);
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct evict_candidate *const *x = a, *const *y = b;
    return compare((*x)->job, (*y)->job);
}

bool evict_choose(const struct evict_ask *ask, struct arena *arena, struct evict_choice *choice)
{
    struct evict e = { .ask = ask, .arena = arena, .steps = EVICT_STEPS };
    e.scratch = arena_create();
    e.cluster = cluster_clone(ask->cluster);
    cluster_expire_blocks(e.cluster, ask->now_ms);
    tally_init(&e.tally, e.scratch, e.cluster, ask->spec);
    tally_count(&e.tally, e.cluster);
    find_victims(&e);
    *choice = (struct evict_choice){ 0 };
    bool found = choose(&e) && place(&e);
    if (found) {
        choice->places = e.places;
        choice->n_places = e.n_places;
        choice->victims = ARENA_ARRAY(arena, e.n, const struct evict_candidate *);
        for (size_t i = 0; i < e.n; i++)
            if (e.victims[i].gone) {
                choice->victims[choice->n++] = e.victims[i].candidate;
                choice->loss = sum_of(choice->loss, e.victims[i].loss);
            }
        qsort(choice->victims, choice->n, sizeof *choice->victims, by_id);
    }
    arena_destroy(e.scratch);
    cluster_destroy(e.cluster);
    return found;
}
