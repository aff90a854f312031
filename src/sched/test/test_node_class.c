/* Random takes, gives and changes of nodes: the classes are what a recount from scratch finds, and
 * a choice by classes is that of a look at every node. */
#include "sched/node_class.h"

#include "base/dice.h"
#include "base/mem.h"
#include "sched/choice.h"
#include "sched/classify.h"
#include "sched/fit.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WORLDS 32u
#define STEPS  60u
#define HELD   200u

struct placed {
    struct job_spec *job;
    struct plan_entry entry;
};
struct game {
    struct dice dice;
    struct world world;
    struct placed held[HELD];
    uint32_t n, nodes;
    struct mix *mix; /* with a potential that learns it; or NULL */
    struct potential *potential;
};

static void put_node(struct game *g, uint32_t i)
{
    static const char *const types[] = { "T4", "A100" };
    static const char *const pools[] = { "x", "y" };
    struct arena *a = g->world.arena;
    uint32_t size =
        1 + dice_below(&g->dice, 2); /* as many kinds as sizes, types, pools and licences */
    struct node_spec s = { .name = arena_printf(a, "n%u", i),
                           .cpu_milli = 8000 * size,
                           .memory = 16 * GI * size,
                           .disk = 16 * GI,
                           .gpus = 2 * size,
                           .gpu_type = types[dice_below(&g->dice, 2)] };
    s.host = dice_below(&g->dice, 4) ? s.name : "box";
    pairs_set(&s.labels, a, "pool", pools[dice_below(&g->dice, 2)]);
    pairs_set(&s.labels, a, "hostname", s.name);
    if (dice_below(&g->dice, 3) == 0) {
        s.custom = (struct amounts){ .at = ARENA_NEW(a, struct amount), .n = 1 };
        s.custom.at[0] = (struct amount){ .name = "licence", .milli = 3000 };
    }
    cluster_put(g->world.cluster, &s);
}

static struct job_spec *random_job(struct game *g)
{
    static const uint32_t gpus[] = { 0, 0, 200, 500, 700, 1000, 1000, 2000 };
    struct arena *a = g->world.arena;
    struct role role = { .name = "w", .replicas = 1 + dice_below(&g->dice, 6) };
    role.resources.cpu_milli = 1000 * dice_below(&g->dice, 4);
    role.resources.memory = GI * dice_below(&g->dice, 4);
    role.resources.gpu_milli = gpus[dice_below(&g->dice, ARRAY_LEN(gpus))];
    if (dice_below(&g->dice, 6) == 0) {
        role.resources.custom = (struct amounts){ .at = ARENA_NEW(a, struct amount), .n = 1 };
        role.resources.custom.at[0] = (struct amount){ .name = "licence", .milli = 1000 };
    }
    if (dice_below(&g->dice, 3) == 0) {
        role.ports = ARENA_NEW(a, struct port_request);
        role.n_ports = 1;
        role.ports[0] = (struct port_request){ .label = "p",
                                               .count = 1 + 300 * dice_below(&g->dice, 2),
                                               .first = dice_below(&g->dice, 2) ? 8080 : 0 };
    }
    struct job_spec *job = world_job(a, &role, 1);
    const char **one = ARENA_NEW(a, const char *);
    switch (dice_below(&g->dice, 8)) {
    case 0: pairs_set(&job->placing.labels, a, "pool", "x"); break;
    case 1: pairs_set(&job->placing.labels, a, "hostname", "n7"); break;
    case 2:
        *one = "w";
        job->placing.apart = (struct words){ .at = one, .n = 1 };
        break;
    case 3:
        *one = arena_printf(a, "n%u", dice_below(&g->dice, g->nodes));
        job->placing.avoid = (struct words){ .at = one, .n = 1 };
        break;
    case 4:
        *one = "T4";
        job->roles[0].resources.gpu_types = (struct words){ .at = one, .n = 1 };
        break;
    default: break;
    }
    return job;
}

/* ---- a recount ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_state(const struct cluster *c, uint32_t a, uint32_t b)
{
    const struct form *x = cluster_form(c, a), *y = cluster_form(c, b);
    const struct node *m = &c->nodes[a], *n = &c->nodes[b];
    uint32_t count[1001] = { 0 };
    if (strcmp(x->spec.gpu_type, y->spec.gpu_type) != 0 || x->spec.gpus != y->spec.gpus ||
        !same_text(pairs_get(&x->spec.labels, "pool"), pairs_get(&y->spec.labels, "pool")) ||
        x->custom.n != y->custom.n || node_usable(m) != node_usable(n) ||
        x->spec.cpu_milli - m->cpu != y->spec.cpu_milli - n->cpu ||
        x->spec.memory - m->memory != y->spec.memory - n->memory ||
        x->spec.disk - m->disk != y->spec.disk - n->disk)
        return false;
    if (x->custom.n && c->custom[x->custom_at] != c->custom[y->custom_at])
        return false;
    for (uint32_t i = 0; i < x->spec.gpus; i++) {
        count[c->gpu[x->gpu_at + i]]++;
        count[c->gpu[y->gpu_at + i]]--;
    }
    for (size_t i = 0; i < ARRAY_LEN(count); i++)
        if (count[i])
            return false;
    return true;
}

static void check_shelves(const struct cluster *c)
{
    const struct node_classes *s = node_classes_of(c);
    uint32_t on_shelves = 0;
    for (uint32_t a = 0; a < cluster_count(c); a++)
        for (uint32_t b = 0; b < a; b++)
            assert_int_equal(s->of[a] == s->of[b], equal_state(c, a, b));
    for (uint32_t at = node_classes_next(s, POSITION_NONE, 0); at != POSITION_NONE;
         at = node_classes_next(s, at, 0)) {
        const struct node_class *class = &s->at[at];
        const struct node *n = &c->nodes[class->first];
        const struct form *f = cluster_form(c, class->first);
        uint32_t seen = 0, most = 0;
        for (uint32_t i = class->first, last = 0; i != POSITION_NONE;
             i = node_classes_after(s, class, i)) {
            assert_true(seen == 0 || i > last);
            assert_int_equal(s->of[i], at);
            last = i;
            seen++;
        }
        for (uint32_t i = 0; i < f->spec.gpus; i++)
            most = 1000u - c->gpu[f->gpu_at + i] > most ? 1000u - c->gpu[f->gpu_at + i] : most;
        assert_int_equal(seen, class->n);
        assert_int_equal(class->usable, node_usable(n));
        assert_int_equal(class->cpu, f->spec.cpu_milli - n->cpu);
        assert_int_equal(class->memory, f->spec.memory - n->memory);
        assert_int_equal(class->gpu, UINT64_C(1000) * f->spec.gpus - n->gpu_milli);
        assert_int_equal(class->idle, n->idle_gpus);
        assert_int_equal(class->most, most);
        on_shelves += seen;
    }
    assert_int_equal(on_shelves, cluster_count(c));
}

/* ---- every node looked at ---- */

static bool fuller(const struct cluster *c, uint32_t a, uint32_t b)
{
    const struct node *x = &c->nodes[a], *y = &c->nodes[b];
    const struct node_spec *sx = &cluster_form(c, a)->spec, *sy = &cluster_form(c, b)->spec;
    uint64_t gx = 1000 * sx->gpus - x->gpu_milli, gy = 1000 * sy->gpus - y->gpu_milli;
    if (gx != gy)
        return gx < gy;
    if (sx->cpu_milli - x->cpu != sy->cpu_milli - y->cpu)
        return sx->cpu_milli - x->cpu < sy->cpu_milli - y->cpu;
    return sx->memory - x->memory < sy->memory - y->memory;
}

/* What the potential says of so many units on the node; low bits: how full the device is. */
static int64_t price(const struct placement *placement, const struct group *g, uint32_t node,
                     uint32_t units)
{
    const struct cluster *c = placement->cluster;
    struct potential *p = node_classes_of(c)->potential;
    const struct form *f = cluster_form(c, node);
    const struct task_request *w = g->members[0].want;
    struct node_state s = { .cpu_milli = f->spec.cpu_milli - c->nodes[node].cpu,
                            .memory = f->spec.memory - c->nodes[node].memory,
                            .kind = kinds_type(c->layout->kinds, f->spec.gpu_type) };
    struct shape shape = task_request_price_shape(w, c->layout->kinds, units);
    if (!p || !potential_version(p) || !units || (units > 1 && w->share) ||
        c->nodes[node].gpu_milli == 1000 * f->spec.gpus)
        return 0;
    for (uint32_t milli = 1001; milli-- > 0;)
        for (uint32_t i = 0; i < f->spec.gpus; i++)
            if (1000u - c->gpu[f->gpu_at + i] == milli)
                s.free[s.n++] = (uint16_t)milli;
    uint32_t state = potential_hold(p, &s);
    struct putting put = potential_put(p, state, potential_shape(p, &shape));
    potential_drop(p, state);
    assert_true(put.fits);
    return (int64_t)put.delta * 1024 + (w->share ? 1000 - s.free[put.slot] : 0);
}

static void check_choice(const struct placement *placement, const struct group *g, uint32_t left)
{
    uint32_t best = POSITION_NONE, most = 0, fits = 0;
    int64_t least = 0;
    for (uint32_t i = 0; i < cluster_count(placement->cluster); i++) {
        uint32_t units = fit_units(placement, g, i, left);
        int64_t here = price(placement, g, i, units);
        fits = fits + units < left ? fits + units : left;
        if (units > most || (units && units == most && here < least) ||
            (units && units == most && here == least && fuller(placement->cluster, i, best))) {
            best = i;
            most = units;
            least = here;
        }
    }
    struct choice c = choice_for(placement, g, left);
    assert_int_equal(c.node, best);
    assert_int_equal(c.units, most);
    assert_int_equal(choice_count(placement, g, left), fits);
}

static void check_choice_for_all(const struct placement *placement)
{
    const struct group *g = placement->groups;
    uint32_t best = POSITION_NONE;
    for (uint32_t i = 0; i < cluster_count(placement->cluster); i++)
        if (fit_units(placement, g, i, g->units) == g->units &&
            (best == POSITION_NONE || fuller(placement->cluster, i, best)))
            best = i;
    assert_int_equal(choice_for_all(placement), best);
}

/* On a clone: node after node is filled as the choice says. */
static void check_choices(struct game *g, struct job_spec *job)
{
    struct cluster *copy = cluster_clone(g->world.cluster);
    struct arena *arena = arena_create();
    struct placement placement;
    placement_init(&placement, arena, copy, job);
    placement_room(&placement);
    struct group *group = placement.groups;
    if (!group->apart)
        check_choice_for_all(&placement);
    check_choice(&placement, group, 1);
    while (group->done < group->units) {
        check_choice(&placement, group, group->units - group->done);
        check_choice(&placement, group, 1);
        struct choice c = choice_for(&placement, group, group->units - group->done);
        if (c.node == POSITION_NONE || !fit_put(&placement, group, c.node, FIT_ANY_DEVICE))
            break;
    }
    check_shelves(copy);
    fit_back(&placement, 0);
    check_choice(&placement, group, 1);
    check_shelves(copy);
    arena_destroy(arena);
    cluster_destroy(copy);
}

static void one_step(struct game *g)
{
    struct cluster *c = g->world.cluster;
    struct job_spec *job = random_job(g);
    uint32_t node = dice_below(&g->dice, g->nodes);
    switch (dice_below(&g->dice, 12)) {
    case 0: cluster_set_up(c, node, dice_below(&g->dice, 2)); break;
    case 1: cluster_set_drained(c, node, dice_below(&g->dice, 2)); break;
    case 2: check_choices(g, job); break;
    default: break;
    }
    if (g->n && dice_below(&g->dice, 2)) {
        uint32_t at = dice_below(&g->dice, g->n);
        world_give(c, g->held[at].job, &g->held[at].entry);
        g->held[at] = g->held[--g->n];
    }
    if (g->mix) {
        struct shape shape;
        assert_true(cluster_shape(c, job, 0, &shape));
        mix_add(g->mix, &shape, job->roles[0].replicas);
        potential_learn(g->potential, g->mix);
    }
    struct plan_entry e = world_try(&g->world, job);
    if (e.kind == PLAN_ADMIT && g->n < HELD) {
        assert_true(world_take(c, job, &e));
        g->held[g->n++] = (struct placed){ .job = job, .entry = e };
    }
}

static void test_games(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct game g = { .dice = { .state = seed }, .world = world_create(NULL, 0) };
        g.nodes = seed % 4 ? 20 : 150; /* many enough for rankings */
        for (uint32_t i = 0; i < g.nodes; i++)
            put_node(&g, i);
        if (seed % 8 < 3) {
            g.mix = mix_create();
            g.potential = potential_create();
            cluster_set_potential(g.world.cluster, g.potential);
        }
        check_shelves(g.world.cluster);
        for (uint32_t i = 0; i < STEPS; i++)
            one_step(&g);
        check_shelves(g.world.cluster);
        world_destroy(&g.world);
        mix_destroy(g.mix);
        potential_destroy(g.potential);
    }
}

static void put_plain(struct cluster *c, struct arena *a, uint32_t i, bool labels)
{
    struct node_spec s = {
        .name = arena_printf(a, "n%u", i), .cpu_milli = 8000, .memory = 8 * GI, .gpus = 8
    };
    if (labels) {
        pairs_set(&s.labels, a, "hostname", s.name);
        pairs_set(&s.labels, a, "pool", i % 2 ? "odd" : "even");
    }
    cluster_put(c, &s);
}

static uint32_t classes_in_use(const struct cluster *c)
{
    const struct node_classes *s = node_classes_of(c);
    uint32_t n = 0;
    for (uint32_t at = node_classes_next(s, POSITION_NONE, 0); at != POSITION_NONE;
         at = node_classes_next(s, at, 0))
        n++;
    return n;
}

static void test_clone(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    for (uint32_t i = 0; i < 10; i++)
        put_plain(w.cluster, w.arena, i, false);
    struct role role = { .name = "w", .replicas = 3, .resources = { .gpu_milli = 3000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    struct plan_entry e = world_try(&w, job);
    struct cluster *copy = cluster_clone(w.cluster);
    assert_int_equal(classes_in_use(w.cluster), 1);
    assert_true(world_take(copy, job, &e));
    assert_int_equal(classes_in_use(copy), 3); /* two on one node, one on the next */
    assert_int_equal(classes_in_use(w.cluster), 1);
    struct cluster *later = cluster_clone(copy);
    world_give(copy, job, &e);
    put_plain(copy, w.arena, 10, false);
    assert_int_equal(classes_in_use(copy), 1);
    assert_int_equal(node_classes_of(copy)->at[node_classes_of(copy)->of[10]].n, 11);
    assert_int_equal(classes_in_use(later), 3);
    check_choices(&(struct game){ .world = { .arena = w.arena, .cluster = later } }, job);
    cluster_destroy(later);
    cluster_destroy(copy);
    world_destroy(&w);
}

/* States are held as long as nodes are in them, and no longer. */
/* Copies of copies share what nobody changed or looked at: each stays right by itself, in whatever
 * order they are changed, looked at, copied and given up. */
static void test_family(void **state)
{
    enum { COPIES = 6, TIMES = 400 };
    (void)state;
    struct world w = world_create(NULL, 0);
    struct dice dice = { .state = 11 };
    struct cluster *family[COPIES];
    uint32_t tasks[COPIES] = { 0 };
    for (uint32_t i = 0; i < 12; i++)
        put_plain(w.cluster, w.arena, i, false);
    for (uint32_t i = 0; i < COPIES; i++)
        family[i] = cluster_clone(i ? family[i - 1] : w.cluster);
    struct port_request port = { .label = "p", .count = 1 };
    struct role role = { .name = "w", .replicas = 1, .ports = &port, .n_ports = 1 };
    role.resources.gpu_milli = 500;
    struct job_spec *job = world_job(w.arena, &role, 1);
    for (uint32_t step = 0; step < TIMES; step++) {
        uint32_t i = dice_below(&dice, COPIES), k = dice_below(&dice, COPIES), seen = 0;
        struct world one = { .arena = w.arena, .cluster = family[i] };
        struct plan_entry e = world_try(&one, job);
        if (e.kind == PLAN_ADMIT && dice_below(&dice, 4)) {
            assert_true(world_take(family[i], job, &e));
            tasks[i]++;
        } else if (i != k) {
            struct cluster *copy = cluster_clone(family[k]);
            cluster_destroy(family[i]);
            family[i] = copy;
            tasks[i] = tasks[k];
        }
        check_shelves(family[k]);
        for (uint32_t node = 0; node < cluster_count(family[i]); node++)
            seen += cluster_node(family[i], node).tasks;
        assert_int_equal(seen, tasks[i]);
    }
    assert_int_equal(classes_in_use(w.cluster), 1);
    for (uint32_t i = 0; i < COPIES; i++)
        cluster_destroy(family[i]);
    world_destroy(&w);
}

static void test_states(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    struct potential *p = potential_create();
    for (uint32_t i = 0; i < 10; i++)
        put_plain(w.cluster, w.arena, i, false);
    struct role role = { .name = "w", .replicas = 3, .resources = { .gpu_milli = 3000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    cluster_set_potential(w.cluster, p);
    uint32_t bound = 0;
    for (uint32_t i = 0; i < 20; i++) {
        struct plan_entry e = world_try(&w, job);
        struct cluster *copy = cluster_clone(w.cluster);
        assert_true(world_take(w.cluster, job, &e));
        assert_true(world_take(copy, job, &e));
        node_classes_of(copy);
        node_classes_of(w.cluster);
        world_give(w.cluster, job, &e);
        cluster_destroy(copy);
        bound = i == 0 ? potential_bound(p) : bound;
    }
    assert_int_equal(potential_bound(p), bound);
    cluster_set_potential(w.cluster, NULL);
    assert_int_equal(classes_in_use(w.cluster), 1);
    world_destroy(&w);
    potential_destroy(p);
}

/* The same state reached on another way chooses the same. */
static void test_history(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0), x = world_create(NULL, 0);
    struct role role = { .name = "w", .replicas = 1, .resources = { .gpu_milli = 2000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    struct plan_entry e[12];
    for (uint32_t i = 0; i < 6; i++) {
        put_plain(w.cluster, w.arena, i, false);
        put_plain(x.cluster, w.arena, i, false);
    }
    for (uint32_t i = 0; i < 12; i++) {
        e[i] = world_try(&w, job);
        assert_true(world_take(w.cluster, job, &e[i]));
    }
    for (uint32_t i = 0; i < 12; i += 2)
        world_give(w.cluster, job, &e[i]);
    for (uint32_t i = 12; i-- > 0;)
        if (i % 2)
            assert_true(world_take(x.cluster, job, &e[i]));
    for (uint32_t i = 0; i < 20; i++) {
        struct plan_entry a = world_try(&w, job), b = world_try(&x, job);
        assert_string_equal(world_show(w.arena, job, &a), world_show(w.arena, job, &b));
        if (a.kind == PLAN_ADMIT)
            assert_true(world_take(w.cluster, job, &a) && world_take(x.cluster, job, &b));
    }
    world_destroy(&x);
    world_destroy(&w);
}

/* Labels that tell nodes apart make no kinds, and are obeyed all the same. */
static void test_fine_labels(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    for (uint32_t i = 0; i < 40; i++) {
        put_plain(w.cluster, w.arena, i, true);
    }
    assert_int_equal(classes_in_use(w.cluster), 2);
    struct role role = { .name = "w", .replicas = 1, .resources = { .gpu_milli = 2000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    pairs_set(&job->placing.labels, w.arena, "hostname", "n33");
    struct plan_entry e = world_try(&w, job);
    assert_string_equal(world_show(w.arena, job, &e), "w/0@n33[0,1]");
    pairs_set(&job->placing.labels, w.arena, "pool", "even");
    e = world_try(&w, job);
    assert_string_equal(world_show(w.arena, job, &e), "no node has all labels asked for");
    world_destroy(&w);
}

/* Sizes that must not take a look at everything for every task. */
static void test_large(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    for (uint32_t i = 0; i < 500; i++)
        put_plain(w.cluster, w.arena, i, false);
    struct node_spec big = { .name = "big", .cpu_milli = 65536 * 10 };
    cluster_put(w.cluster, &big);
    struct role many = { .name = "w", .replicas = 65536, .resources = { .cpu_milli = 10 } };
    struct job_spec *job = world_job(w.arena, &many, 1);
    struct plan_entry e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_int_equal(e.n_tasks, 65536);
    assert_string_equal(e.tasks[65535].node, "big");
    struct role wide = { .name = "w", .replicas = 500, .resources = { .gpu_milli = 5000 } };
    job = world_job(w.arena, &wide, 1);
    e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_string_equal(e.tasks[499].node, "n499");
    struct role nothing = { .name = "w", .replicas = 5010 };
    job = world_job(w.arena, &nothing, 1);
    e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_string_equal(e.tasks[5009].node, "n499");
    world_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_games),   cmocka_unit_test(test_clone),
        cmocka_unit_test(test_family),  cmocka_unit_test(test_states),
        cmocka_unit_test(test_history), cmocka_unit_test(test_fine_labels),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
