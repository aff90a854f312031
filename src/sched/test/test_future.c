/* The future of a cluster: hand-made timelines, then random ones against plain arithmetic over
 * every moment, against trying the job at every end, and played forward. */
#include "sched/future.h"

#include "base/dice.h"
#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOW UINT64_C(1000)

/* ---- by hand ---- */

struct scene { /* jobs that run, each with an end */
    struct world world;
    struct future_release releases[16];
    size_t n;
    struct future *future;
};

static struct job_spec *plain_job(struct arena *a, uint32_t replicas, uint64_t gpu_milli)
{
    struct role role = { .name = "w", .replicas = replicas, .min = replicas };
    role.resources.gpu_milli = gpu_milli;
    return world_job(a, &role, 1);
}

static void run_job(struct scene *s, const struct job_spec *job, uint64_t id, uint64_t until)
{
    struct plan_entry e = world_try(&s->world, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_true(world_take(s->world.cluster, job, &e));
    s->releases[s->n++] = (struct future_release){
        .job = id, .at_ms = until, .held = held_places_of(job, e.tasks, e.n_tasks)
    };
}

/* a: four gpus of n1 until 5000; b: two of the four of n2 until 3000. */
static int make_scene(void **state)
{
    static const struct node_spec nodes[] = { { .name = "n1", .gpus = 4 },
                                              { .name = "n2", .gpus = 4 },
                                              { 0 } };
    struct scene *s = mem_new(sizeof *s);
    s->world = world_create(nodes, 3);
    run_job(s, plain_job(s->world.arena, 1, 4000), 1, 5000);
    run_job(s, plain_job(s->world.arena, 1, 2000), 2, 3000);
    s->future = future_create(s->world.cluster, NOW, s->releases, s->n, s->world.arena);
    *state = s;
    return 0;
}

static int drop_scene(void **state)
{
    struct scene *s = *state;
    future_destroy(s->future);
    world_destroy(&s->world);
    free(s);
    return 0;
}

static struct promise ask(struct scene *s, uint32_t replicas, uint64_t gpu_milli, uint64_t lasts_ms)
{
    struct future_ask question = { .job = 9, .lasts_ms = lasts_ms };
    question.spec = plain_job(s->world.arena, replicas, gpu_milli);
    struct promise p;
    bool fits = future_earliest(s->future, &question, &p);
    assert_int_equal(fits, p.why == FUTURE_FITS);
    assert_int_equal(fits, p.at_ms != FUTURE_NEVER);
    return p;
}

static const char *show(struct arena *a, const struct promise *p)
{
    struct plan_entry e = { .kind = PLAN_ADMIT, .tasks = p->places, .n_tasks = p->n_places };
    return world_show(a, p->spec, &e);
}

static void test_earliest(void **state)
{
    struct scene *s = *state;
    struct future_work before = future_work(s->future);
    assert_int_equal(before.clones + before.counts + before.moves + before.tries, 0);
    struct promise p = ask(s, 1, 4000, FUTURE_NEVER);
    assert_int_equal(p.at_ms, 3000);
    assert_int_equal(p.ends_ms, FUTURE_NEVER);
    assert_int_equal(p.after_job, 2);
    assert_int_equal(p.n_ends, 1);
    assert_string_equal(show(s->world.arena, &p), "w/0@n2[0,1,2,3]");
    p = ask(s, 2, 4000, 500);
    assert_int_equal(p.at_ms, 5000);
    assert_int_equal(p.ends_ms, 5500);
    assert_int_equal(p.after_job, 1);
    assert_int_equal(p.n_ends, 2);
    p = ask(s, 1, 2000, 500);
    assert_int_equal(p.at_ms, NOW);
    assert_int_equal(p.after_job, 0);
    assert_int_equal(p.n_ends, 0);
    p = ask(s, 3, 4000, 500);
    assert_int_equal(p.why, FUTURE_NO_ROOM);
}

static void test_holds(void **state)
{
    struct scene *s = *state;
    struct future_ask question = { .spec = plain_job(s->world.arena, 1, 4000), .lasts_ms = 100 };
    struct promise p;
    assert_false(future_holds(s->future, &question, 2999, &p));
    assert_true(future_holds(s->future, &question, 3000, &p));
    assert_string_equal(show(s->world.arena, &p), "w/0@n2[0,1,2,3]");
    assert_true(future_reserve(s->future, &p));
    assert_false(future_holds(s->future, &question, 3000, &p));
    assert_false(future_holds(s->future, &question, 2999, &p));
    assert_true(future_holds(s->future, &question, 3100, &p));
    assert_false(future_holds(s->future, &question, NOW - 1, &p));
}

static bool allows(struct scene *s, const struct plan_entry *e, const struct job_spec *job,
                   uint64_t until)
{
    struct future_release start = { .job = 20, .at_ms = until };
    start.held = held_places_of(job, e->tasks, e->n_tasks);
    return future_allows(s->future, &start, 1);
}

static void test_backfill(void **state)
{
    struct scene *s = *state;
    struct promise p = ask(s, 1, 4000, 1000);
    assert_false(future_closed(s->future, 1));
    assert_true(future_reserve(s->future, &p));
    assert_int_equal(future_promised(s->future), 1);
    assert_false(future_closed(s->future, 0));
    assert_true(future_closed(s->future, 1));
    /* Two gpus of n2 are free until 3000 and no longer. */
    const struct job_spec *two = plain_job(s->world.arena, 1, 2000);
    struct plan_entry e = world_try(&s->world, two);
    assert_string_equal(world_show(s->world.arena, two, &e), "w/0@n2[2,3]");
    assert_true(allows(s, &e, two, 3000));
    assert_false(allows(s, &e, two, 3001));
    assert_false(allows(s, &e, two, FUTURE_NEVER));
    /* A second promise comes after the first, or where it is not. */
    p = ask(s, 1, 4000, 500);
    assert_int_equal(p.at_ms, 4000);
    assert_int_equal(p.after_job, 9);
    p = ask(s, 2, 4000, 500);
    assert_int_equal(p.at_ms, 5000);
    p = ask(s, 1, 2000, 2000);
    assert_int_equal(p.at_ms, NOW);
    p = ask(s, 1, 2000, 2001);
    assert_int_equal(p.at_ms, 4000);
    struct future_release start = { .job = 20, .at_ms = 3001 };
    start.held = held_places_of(two, e.tasks, e.n_tasks);
    assert_false(future_admit(s->future, &start));
    start.at_ms = 2500;
    assert_true(future_admit(s->future, &start));
    p = ask(s, 1, 2000, 100);
    assert_int_equal(p.at_ms, 2500);
    assert_int_equal(p.after_job, 20);
}

static void test_promised_for_good(void **state)
{
    struct scene *s = *state;
    struct promise p = ask(s, 2, 4000, FUTURE_NEVER), other;
    assert_true(future_reserve(s->future, &p));
    other = ask(s, 1, 4000, 2001);
    assert_int_equal(other.why, FUTURE_PROMISED);
    other = ask(s, 1, 4000, 2000);
    assert_int_equal(other.at_ms, 3000);
    assert_true(future_reserve(s->future, &other));
    assert_false(future_reserve(s->future, &p));
    assert_int_equal(future_promised(s->future), 2);
}

static void test_ended_early(void **state)
{
    struct scene *s = *state;
    struct promise p = ask(s, 2, 4000, 1000);
    assert_int_equal(p.at_ms, 5000);
    assert_true(future_reserve(s->future, &p));
    future_end(s->future, 1, 1200);
    p = ask(s, 1, 4000, 1000);
    assert_int_equal(p.at_ms, 1200);
    assert_int_equal(p.after_job, 1);
    assert_string_equal(show(s->world.arena, &p), "w/0@n1[0,1,2,3]");
    future_end(s->future, 1, 7000); /* never later */
    p = ask(s, 1, 4000, 1000);
    assert_int_equal(p.at_ms, 1200);
}

/* Each alone leaves the promise its room, both do not. */
static void test_two_at_once(void **state)
{
    struct scene *s = *state;
    struct promise p = ask(s, 1, 3000, 1000);
    assert_int_equal(p.at_ms, 3000);
    assert_true(future_reserve(s->future, &p)); /* n2[0,1,2] */
    const struct job_spec *one = plain_job(s->world.arena, 1, 500);
    uint32_t device = 3;
    struct task_place place = { .node = "n2", .gpus = &device, .n_gpus = 1 };
    struct task_place places[2] = { place, place };
    struct future_release both[2] = { { .job = 20, .at_ms = 9000 }, { .job = 21, .at_ms = 9000 } };
    const struct job_spec *most = plain_job(s->world.arena, 1, 700);
    both[0].held = held_places_of(one, &places[0], 1);
    both[1].held = held_places_of(most, &places[1], 1);
    assert_true(future_allows(s->future, &both[0], 1));
    assert_true(future_allows(s->future, &both[1], 1));
    assert_false(future_allows(s->future, both, 2));
    assert_true(future_allows(s->future, &both[0], 1));
}

/* Nodes of one host share its ports, also in the future. */
static void test_ports_of_a_host(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = { { .name = "v1", .host = "box", .cpu_milli = 4000 },
                                              { .name = "v2", .host = "box", .cpu_milli = 4000 },
                                              { 0 } };
    struct scene s = { .world = world_create(nodes, 3) };
    struct port_request port = { .label = "http", .count = 1, .first = 8080 };
    struct role role = { .name = "w", .replicas = 1, .min = 1, .ports = &port, .n_ports = 1 };
    role.resources.cpu_milli = 1000;
    struct job_spec *job = world_job(s.world.arena, &role, 1);
    run_job(&s, job, 1, 4000);
    s.future = future_create(s.world.cluster, NOW, s.releases, s.n, s.world.arena);
    struct future_ask question = { .job = 2, .spec = job, .lasts_ms = 1000 };
    struct promise p;
    assert_true(future_earliest(s.future, &question, &p));
    assert_int_equal(p.at_ms, 4000);
    assert_true(future_reserve(s.future, &p));
    assert_true(future_closed(s.future, 0));
    assert_true(future_closed(s.future, 1));
    assert_true(future_earliest(s.future, &question, &p));
    assert_int_equal(p.at_ms, 5000);
    assert_int_equal(p.after_job, 2);
    /* A port that is free until somebody has it by promise. */
    struct port_request later = { .label = "rpc", .count = 1, .first = 9090 };
    struct role rpc = { .name = "r", .replicas = 1, .min = 1, .ports = &later, .n_ports = 1 };
    question.spec = world_job(s.world.arena, &rpc, 1);
    assert_true(future_holds(s.future, &question, 3000, &p));
    assert_true(future_reserve(s.future, &p));
    question.lasts_ms = 2000;
    assert_true(future_earliest(s.future, &question, &p));
    assert_int_equal(p.at_ms, NOW);
    question.lasts_ms = 2001;
    assert_true(future_earliest(s.future, &question, &p));
    assert_int_equal(p.at_ms, 4000);
    future_destroy(s.future);
    world_destroy(&s.world);
}

/* Two roles that do not fit beside each other until 1060, and from then on only for a moment: what
 * is passed over after looks in vain may not be the only moment there is. */
static void test_a_moment_in_between(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = { { .name = "n1", .cpu_milli = 8000 },
                                              { .name = "n2", .cpu_milli = 1000 },
                                              { 0 } };
    struct scene s = { .world = world_create(nodes, 3) };
    struct role roles[2] = { { .name = "w", .replicas = 1, .min = 1 },
                             { .name = "v", .replicas = 1, .min = 1 } };
    roles[0].resources.cpu_milli = 100;
    for (uint32_t i = 1; i <= 10; i++) /* on the fullest node, n2 */
        run_job(&s, world_job(s.world.arena, roles, 1), i, NOW + 10 * i);
    roles[0].resources.cpu_milli = 4000;
    run_job(&s, world_job(s.world.arena, roles, 1), 11, 1060);
    s.future = future_create(s.world.cluster, NOW, s.releases, s.n, s.world.arena);
    struct future_ask half = { .job = 20, .lasts_ms = 100 }, both = { .job = 21, .lasts_ms = 105 };
    half.spec = world_job(s.world.arena, roles, 1);
    struct promise p;
    assert_true(future_holds(s.future, &half, 1165, &p));
    assert_true(future_reserve(s.future, &p));
    roles[1].resources.cpu_milli = 3000;
    both.spec = world_job(s.world.arena, roles, 2);
    assert_true(future_earliest(s.future, &both, &p));
    assert_int_equal(p.at_ms, 1060);
    both.lasts_ms = 106;
    assert_true(future_earliest(s.future, &both, &p));
    assert_int_equal(p.at_ms, 1265);
    assert_int_equal(p.after_job, 20);
    future_destroy(s.future);
    world_destroy(&s.world);
}

/* Tasks that are gone do not count, and nothing is copied. */
static void test_held(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = { { .name = "n1", .gpus = 4, .cpu_milli = 8000 },
                                              { 0 } };
    struct world w = world_create(nodes, 2);
    struct role role = { .name = "w", .replicas = 3, .min = 3 };
    role.resources = (struct resources){ .cpu_milli = 1000, .memory = 0, .gpu_milli = 1000 };
    struct job_spec *job = world_job(w.arena, &role, 1);
    struct plan_entry e = world_try(&w, job);
    struct task {
        uint64_t other;
        bool taken;
        struct task_place place;
    } tasks[3] = { { .taken = true }, { .taken = false }, { .taken = true } };
    for (uint32_t i = 0; i < 3; i++)
        tasks[i].place = e.tasks[i];
    struct held_places h = {
        .spec = job, .first = &tasks[0].place, .taken = &tasks[0].taken, .n = 3
    };
    h.stride = sizeof tasks[0];
    assert_true(held_places_take(w.cluster, &h));
    assert_int_equal(cluster_node(w.cluster, 0).gpu_used_milli, 2000);
    assert_int_equal(held_places_amounts(&h).gpu_milli, 2000);
    assert_int_equal(held_places_amounts(&h).cpu_milli, 2000);
    assert_false(held_places_take(w.cluster, &h)); /* and nothing of it is taken */
    assert_int_equal(cluster_node(w.cluster, 0).tasks, 2);
    held_places_locate(&h, w.cluster, w.arena);
    tasks[1].taken = true; /* what was located stays what it was */
    assert_int_equal(held_places_amounts(&h).gpu_milli, 2000);
    held_places_give(w.cluster, &h);
    assert_int_equal(cluster_node(w.cluster, 0).tasks, 0);
    assert_int_equal(cluster_node(w.cluster, 0).gpu_used_milli, 0);
    world_destroy(&w);
}

/* ---- at random ---- */

#define STAYS_MAX 400u
#define NODES_MAX 24u
#define GPUS_MAX  4u

struct stay { /* the test's own account of who is where from when to when */
    uint64_t job, from_ms, to_ms;
    const struct job_spec *spec;
    struct plan_entry places;
    bool promised;
};
struct game {
    uint64_t seed;
    struct dice dice;
    struct world world; /* as it is now */
    struct stay stays[STAYS_MAX];
    uint32_t n_stays, n_nodes;
    bool large;
    struct future_release releases[STAYS_MAX];
    uint32_t n_releases;
    struct future *future;
};
struct taken { /* of one node */
    uint64_t cpu, gpu[GPUS_MAX];
};

static struct job_spec *random_job(struct game *g)
{
    static const uint32_t gpus[] = { 0, 300, 500, 700, 1000, 1000, 2000, 3000, 4000 };
    struct role role = { .name = "w", .replicas = g->large ? 1 : 1 + dice_below(&g->dice, 3) };
    role.min = dice_below(&g->dice, 4) ? role.replicas : 1;
    role.resources.cpu_milli = 500 * dice_below(&g->dice, g->large ? 2 : 6);
    role.resources.gpu_milli = gpus[dice_below(&g->dice, g->large ? 3 : ARRAY_LEN(gpus))];
    return world_job(g->world.arena, &role, 1);
}

static struct job_spec *random_roles(struct game *g)
{
    struct role roles[2] = { random_job(g)->roles[0], random_job(g)->roles[0] };
    roles[1].name = "v";
    return world_job(g->world.arena, roles, 2);
}

static uint64_t random_length(struct game *g)
{
    return dice_below(&g->dice, 12) ? 10 * (1 + dice_below(&g->dice, 40)) : FUTURE_NEVER;
}

static uint64_t plus(uint64_t at, uint64_t length)
{
    return length == FUTURE_NEVER ? FUTURE_NEVER : at + length;
}

static void taken_at(const struct game *g, uint64_t at_ms, struct taken *t)
{
    for (uint32_t i = 0; i < g->n_stays; i++) {
        const struct stay *s = &g->stays[i];
        if (at_ms < s->from_ms || at_ms >= s->to_ms)
            continue;
        for (uint32_t k = 0; k < s->places.n_tasks; k++) {
            const struct task_place *p = &s->places.tasks[k];
            const struct resources *r = &s->spec->roles[p->role].resources;
            struct taken *n = &t[cluster_find(g->world.cluster, p->node)];
            n->cpu += r->cpu_milli;
            for (uint32_t d = 0; d < p->n_gpus; d++)
                n->gpu[p->gpus[d]] += r->gpu_milli >= 1000 ? 1000 : r->gpu_milli;
        }
    }
}

/* The highest that is taken of each thing at any moment of the time. */
static void taken_during(const struct game *g, uint64_t from, uint64_t to, struct taken *most)
{
    memset(most, 0, NODES_MAX * sizeof *most);
    for (uint32_t i = 0; i <= g->n_stays; i++) {
        uint64_t at = i < g->n_stays ? g->stays[i].from_ms : from;
        struct taken t[NODES_MAX] = { 0 };
        if (at < from || at >= to)
            continue;
        if (i && i < g->n_stays && at == g->stays[i - 1].from_ms)
            continue;
        taken_at(g, at, t);
        for (uint32_t n = 0; n < g->n_nodes; n++) {
            most[n].cpu = t[n].cpu > most[n].cpu ? t[n].cpu : most[n].cpu;
            for (uint32_t d = 0; d < GPUS_MAX; d++)
                most[n].gpu[d] = t[n].gpu[d] > most[n].gpu[d] ? t[n].gpu[d] : most[n].gpu[d];
        }
    }
}

static uint64_t units_on(const struct game *g, uint32_t node, const struct taken *t,
                         const struct role *r)
{
    const struct node_spec *spec = cluster_node(g->world.cluster, node).spec;
    uint64_t units = UINT64_MAX, free_gpus = 0, slots = 0;
    if (r->resources.cpu_milli)
        units = (spec->cpu_milli - t->cpu) / r->resources.cpu_milli;
    for (uint32_t d = 0; d < spec->gpus; d++) {
        free_gpus += t->gpu[d] == 0;
        slots += r->resources.gpu_milli ? (1000 - t->gpu[d]) / r->resources.gpu_milli : 0;
    }
    if (r->resources.gpu_milli >= 1000)
        slots = free_gpus / (r->resources.gpu_milli / 1000);
    return r->resources.gpu_milli && slots < units ? slots : units;
}

/* On a cluster with so much taken as is the highest of the time. */
static bool fits_by_trying(const struct game *g, const struct job_spec *job,
                           const struct taken *most)
{
    struct world w = world_create(NULL, 0);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node_spec *spec = cluster_node(g->world.cluster, i).spec;
        cluster_put(w.cluster, spec);
        for (uint32_t d = 0; d <= spec->gpus; d++) {
            uint64_t share = d < spec->gpus ? most[i].gpu[d] : 0;
            struct role role = { .name = "x", .replicas = 1, .min = 1 };
            role.resources.gpu_milli = share;
            role.resources.cpu_milli = d < spec->gpus ? 0 : most[i].cpu;
            struct task_place p = { .node = spec->name, .gpus = &d, .n_gpus = share > 0 };
            assert_true(cluster_take(w.cluster, world_job(w.arena, &role, 1), &p));
        }
    }
    bool fits = world_try(&w, job).kind == PLAN_ADMIT;
    world_destroy(&w);
    return fits;
}

static bool fits_at(const struct game *g, const struct job_spec *job, uint64_t at, uint64_t lasts)
{
    struct taken most[NODES_MAX];
    uint64_t units = 0;
    const struct role *r = &job->roles[0];
    taken_during(g, at, plus(at, lasts), most);
    if (job->n_roles > 1)
        return fits_by_trying(g, job, most);
    for (uint32_t i = 0; i < g->n_nodes && units < r->min; i++) {
        uint64_t here = units_on(g, i, &most[i], r);
        units += here < r->min ? here : r->min;
    }
    return units >= r->min;
}

static uint64_t earliest_by_hand(const struct game *g, const struct job_spec *job, uint64_t lasts)
{
    uint64_t best = fits_at(g, job, NOW, lasts) ? NOW : FUTURE_NEVER;
    for (uint32_t i = 0; i < g->n_stays; i++)
        if (g->stays[i].to_ms < best && g->stays[i].to_ms > NOW &&
            fits_at(g, job, g->stays[i].to_ms, lasts))
            best = g->stays[i].to_ms;
    return best;
}

static struct stay *add_stay(struct game *g, const struct job_spec *spec, struct task_place *tasks,
                             uint32_t n)
{
    struct stay *s = &g->stays[g->n_stays++];
    *s = (struct stay){ .job = g->n_stays, .spec = spec, .from_ms = NOW };
    s->places = (struct plan_entry){ .kind = PLAN_ADMIT, .tasks = tasks, .n_tasks = n };
    return s;
}

static struct future_release release_of(const struct stay *s)
{
    return (struct future_release){ .job = s->job,
                                    .at_ms = s->to_ms,
                                    .held = held_places_of(s->spec, s->places.tasks,
                                                           s->places.n_tasks) };
}

static void fill(struct game *g, uint32_t jobs)
{
    for (uint32_t i = 0; i < jobs; i++) {
        const struct job_spec *job = random_job(g);
        struct plan_entry e = world_try(&g->world, job);
        if (e.kind != PLAN_ADMIT)
            continue;
        assert_true(world_take(g->world.cluster, job, &e));
        struct stay *s = add_stay(g, job, e.tasks, e.n_tasks);
        s->to_ms = plus(NOW, random_length(g));
        g->releases[g->n_releases++] = release_of(s);
    }
}

static void begin(struct game *g, uint64_t seed, uint32_t nodes, uint32_t jobs)
{
    *g = (struct game){ .seed = seed, .dice = { .state = seed }, .world = world_create(NULL, 0) };
    g->n_nodes = nodes;
    g->large = nodes == NODES_MAX;
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_spec spec = { .cpu_milli = 1000 * (1 + dice_below(&g->dice, 8)) };
        spec.name = arena_printf(g->world.arena, "n%u", i);
        spec.gpus = dice_below(&g->dice, GPUS_MAX + 1);
        cluster_put(g->world.cluster, &spec);
    }
    fill(g, jobs);
    g->future = future_create(g->world.cluster, NOW, g->releases, g->n_releases, g->world.arena);
}

static void end(struct game *g)
{
    future_destroy(g->future);
    world_destroy(&g->world);
}

/* One that waits is told when, and mostly it is promised. */
static void ask_at_random(struct game *g)
{
    struct promise p;
    struct future_ask question = { .job = 5000 + g->n_stays };
    struct job_spec *job = random_job(g);
    if (g->large) /* much of the cluster: far from now */
        job->roles[0].replicas = job->roles[0].min = 1 + dice_below(&g->dice, 100);
    question.spec = g->large || dice_below(&g->dice, 3) ? job : random_roles(g);
    question.lasts_ms = random_length(g);
    uint64_t right = earliest_by_hand(g, question.spec, question.lasts_ms);
    bool fits = future_earliest(g->future, &question, &p);
    if (fits != (right != FUTURE_NEVER) || p.at_ms != right)
        fail_msg("seed %llu: earliest %llu, by hand %llu", (unsigned long long)g->seed,
                 (unsigned long long)p.at_ms, (unsigned long long)right);
    if (!fits)
        return;
    struct promise again;
    assert_true(future_holds(g->future, &question, p.at_ms, &again));
    assert_string_equal(show(g->world.arena, &p), show(g->world.arena, &again));
    if (!dice_below(&g->dice, 4))
        return;
    if (!future_reserve(g->future, &p))
        fail_msg("seed %llu: not reserved", (unsigned long long)g->seed);
    struct stay *s = add_stay(g, p.spec, p.places, p.n_places);
    s->from_ms = p.at_ms;
    s->to_ms = p.ends_ms;
    s->promised = true;
    s->job = p.job;
}

/* Would it start now beside everything that is promised? By arithmetic at every beginning. */
static bool stays_clear(const struct game *g, const struct stay *s)
{
    struct game with = { .world = g->world, .n_nodes = g->n_nodes, .n_stays = g->n_stays };
    memcpy(with.stays, g->stays, sizeof with.stays);
    with.stays[with.n_stays++] = *s;
    struct taken most[NODES_MAX];
    taken_during(&with, NOW, FUTURE_NEVER, most);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (most[i].cpu > cluster_node(g->world.cluster, i).spec->cpu_milli)
            return false;
        for (uint32_t d = 0; d < GPUS_MAX; d++)
            if (most[i].gpu[d] > 1000)
                return false;
    }
    return true;
}

/* A job that fits now is let in only when no promise is delayed by it. */
static void backfill_at_random(struct game *g)
{
    const struct job_spec *job = random_job(g);
    struct plan_entry e = world_try(&g->world, job);
    if (e.kind != PLAN_ADMIT)
        return;
    struct stay s = { .job = 900 + g->n_stays, .spec = job, .from_ms = NOW, .places = e };
    s.to_ms = plus(NOW, random_length(g));
    struct future_release start = release_of(&s);
    bool clear = stays_clear(g, &s);
    if (future_allows(g->future, &start, 1) != clear)
        fail_msg("seed %llu: allowed %d, by hand %d", (unsigned long long)g->seed, !clear, clear);
    bool opened = future_work(g->future).clones > 0;
    if (!opened)
        assert_true(world_take(g->world.cluster, job, &e));
    assert_int_equal(future_admit(g->future, &start), clear);
    if (!clear)
        return;
    if (opened)
        assert_true(world_take(g->world.cluster, job, &e));
    g->stays[g->n_stays++] = s;
}

/* A promise is given anew beside the others: never for later, and for the same time in a pinch. */
static void improve_at_random(struct game *g)
{
    struct stay *s = &g->stays[dice_below(&g->dice, g->n_stays + 1)];
    if (s == &g->stays[g->n_stays] || !s->promised)
        return;
    size_t promised = future_promised(g->future);
    uint64_t before = s->from_ms, lasts = s->to_ms == FUTURE_NEVER ? s->to_ms : s->to_ms - before;
    struct promise p;
    struct future_ask question = { .job = s->job, .spec = s->spec, .lasts_ms = lasts };
    future_forget(g->future, s->job);
    assert_int_equal(future_promised(g->future), promised - 1);
    s->from_ms = s->to_ms = 0; /* nowhere */
    uint64_t right = earliest_by_hand(g, s->spec, lasts);
    assert_true(future_earliest(g->future, &question, &p));
    if (p.at_ms != right || p.at_ms > before)
        fail_msg("seed %llu: anew %llu, by hand %llu", (unsigned long long)g->seed,
                 (unsigned long long)p.at_ms, (unsigned long long)right);
    assert_true(future_reserve(g->future, &p));
    s->from_ms = p.at_ms;
    s->to_ms = p.ends_ms;
    s->places.tasks = p.places;
    s->places.n_tasks = p.n_places;
}

/* One that runs will be gone sooner than it said. */
static void end_at_random(struct game *g)
{
    uint64_t at = NOW + 5 * (1 + dice_below(&g->dice, 40));
    struct stay *s = &g->stays[dice_below(&g->dice, g->n_stays + 1)];
    if (s == &g->stays[g->n_stays] || s->promised)
        return;
    future_end(g->future, s->job, at);
    s->to_ms = at < s->to_ms ? at : s->to_ms;
}

static struct future *made_anew(const struct game *g, struct future_release *releases)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_stays; i++)
        if (!g->stays[i].promised)
            releases[n++] = release_of(&g->stays[i]);
    struct future *f = future_create(g->world.cluster, NOW, releases, n, g->world.arena);
    for (uint32_t i = 0; i < g->n_stays; i++) {
        const struct stay *s = &g->stays[i];
        const struct promise p = { .job = s->job,
                                   .spec = s->spec,
                                   .at_ms = s->from_ms,
                                   .ends_ms = s->to_ms,
                                   .places = s->places.tasks,
                                   .n_places = s->places.n_tasks };
        if (s->promised)
            assert_true(future_reserve(f, &p));
    }
    return f;
}

/* What is kept from one question about now to the next changes no answer. */
static void hold_at_random(struct game *g)
{
    struct future_release releases[STAYS_MAX];
    for (uint32_t i = 0; i < 3; i++) {
        struct promise kept, right;
        const struct future_ask question = { .job = 7000,
                                             .spec = random_job(g),
                                             .lasts_ms = random_length(g) };
        struct future *anew = made_anew(g, releases);
        bool holds = future_holds(anew, &question, NOW, &right);
        if (future_holds(g->future, &question, NOW, &kept) != holds)
            fail_msg("seed %llu: holds now %d", (unsigned long long)g->seed, !holds);
        if (holds)
            assert_string_equal(show(g->world.arena, &kept), show(g->world.arena, &right));
        future_destroy(anew);
    }
}

static int by_beginning(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;
    return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

/* Jobs end at their time or before; whatever was promised can start at its time. */
static void play_forward(struct game *g)
{
    struct cluster *c = cluster_clone(g->world.cluster);
    bool *over = ARENA_ARRAY(g->world.arena, g->n_stays, bool);
    qsort(g->stays, g->n_stays, sizeof *g->stays, by_beginning);
    for (uint32_t i = 0; i < g->n_stays; i++) {
        if (!g->stays[i].promised)
            continue;
        for (uint32_t k = 0; k < g->n_stays; k++) {
            const struct stay *s = &g->stays[k];
            bool running = !over[k] && (k < i || !s->promised);
            if (!running || (s->to_ms > g->stays[i].from_ms && dice_below(&g->dice, 6)))
                continue;
            world_give(c, s->spec, &s->places);
            over[k] = true;
        }
        if (!world_take(c, g->stays[i].spec, &g->stays[i].places))
            fail_msg("seed %llu: the promise for %llu was not kept", (unsigned long long)g->seed,
                     (unsigned long long)g->stays[i].from_ms);
    }
    cluster_destroy(c);
}

static void play(uint64_t seed, uint32_t nodes, uint32_t jobs, uint32_t turns)
{
    struct game g;
    begin(&g, seed, nodes, jobs);
    for (uint32_t turn = 0; turn < turns; turn++)
        if (dice_below(&g.dice, 16) == 0)
            end_at_random(&g);
        else if (dice_below(&g.dice, 8) == 0)
            improve_at_random(&g);
        else if (!g.large && dice_below(&g.dice, 6) == 0)
            hold_at_random(&g);
        else if (dice_below(&g.dice, 2))
            ask_at_random(&g);
        else
            backfill_at_random(&g);
    play_forward(&g);
    end(&g);
}

static void test_small_games(void **state)
{
    (void)state;
    const char *only = getenv("SEED");
    for (uint64_t seed = 1; seed <= 200; seed++)
        play(only ? strtoull(only, NULL, 10) : seed, 1 + (uint32_t)seed % 4, 10, 20);
}

static void test_large_games(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        play(seed, NODES_MAX, 330, 40);
}

static void shuffle(struct game *g)
{
    for (uint32_t i = g->n_releases; i > 1; i--) {
        uint32_t k = dice_below(&g->dice, i);
        struct future_release other = g->releases[k];
        g->releases[k] = g->releases[i - 1];
        g->releases[i - 1] = other;
    }
}

static void test_order_does_not_count(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct game g;
        begin(&g, seed, 5, 40);
        struct future_ask question = { .job = 1, .spec = random_job(&g), .lasts_ms = 100 };
        struct promise first, second;
        future_earliest(g.future, &question, &first);
        shuffle(&g);
        struct future *other =
            future_create(g.world.cluster, NOW, g.releases, g.n_releases, g.world.arena);
        future_earliest(other, &question, &second);
        assert_int_equal(first.at_ms, second.at_ms);
        assert_int_equal(first.after_job, second.after_job);
        assert_int_equal(first.n_ends, second.n_ends);
        assert_string_equal(show(g.world.arena, &first), show(g.world.arena, &second));
        future_destroy(other);
        end(&g);
    }
}

/* Work grows with what ends, not with its square. */
static void test_work_is_bounded(void **state)
{
    (void)state;
    struct game g;
    begin(&g, 3, NODES_MAX, 330);
    struct promise p;
    struct future_ask question = { .job = 1, .lasts_ms = FUTURE_NEVER };
    question.spec = plain_job(g.world.arena, 9, 4000);
    future_earliest(g.future, &question, &p);
    struct future_work first = future_work(g.future);
    assert_true(first.moves <= 2 * g.n_releases);
    assert_true(first.tries <= 2);
    assert_true(first.counts <= 6);
    future_earliest(g.future, &question, &p);
    assert_true(future_work(g.future).moves - first.moves <= g.n_releases);
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_earliest, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_holds, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_backfill, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_promised_for_good, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_ended_early, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_two_at_once, make_scene, drop_scene),
        cmocka_unit_test(test_ports_of_a_host),
        cmocka_unit_test(test_a_moment_in_between),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_small_games),
        cmocka_unit_test(test_large_games),
        cmocka_unit_test(test_order_does_not_count),
        cmocka_unit_test(test_work_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
