/* Whom to take from: cases by hand, then random clusters on which every set of candidates is tried.
 * The order of candidates does not count. */
#include "sched/evict.h"

#include "base/dice.h"
#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW  UINT64_C(100000)
#define MOST 64u

struct scene {
    struct world world;
    struct evict_candidate candidates[MOST];
    uint32_t n;
};

static struct job_spec *plain_job(struct arena *a, uint32_t replicas, uint64_t gpu_milli)
{
    struct role role = { .name = "w", .replicas = replicas, .min = replicas };
    role.resources.gpu_milli = gpu_milli;
    return world_job(a, &role, 1);
}

static void run_spec(struct scene *s, const struct job_spec *job, struct evict_candidate as)
{
    struct plan_entry e = world_try(&s->world, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_true(world_take(s->world.cluster, job, &e));
    as.held = held_places_of(job, e.tasks, e.n_tasks);
    s->candidates[s->n++] = as;
}

static void run_job(struct scene *s, uint32_t gpus, struct evict_candidate as)
{
    run_spec(s, plain_job(s->world.arena, 1, 1000 * (uint64_t)gpus), as);
}

static bool choose(struct scene *s, const struct job_spec *job, struct evict_choice *choice)
{
    struct evict_ask ask = { .cluster = s->world.cluster,
                             .spec = job,
                             .candidates = s->candidates,
                             .n = s->n,
                             .now_ms = NOW };
    return evict_choose(&ask, s->world.arena, choice);
}

/* "1 4: w/0@n1[0,1]" or "none". */
static const char *chosen(struct scene *s, const struct job_spec *job)
{
    struct evict_choice choice;
    char ids[256] = "";
    if (!choose(s, job, &choice))
        return "none";
    for (size_t i = 0; i < choice.n; i++)
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%llu", i ? " " : "",
                 (unsigned long long)choice.victims[i]->job);
    struct plan_entry e = { .kind = PLAN_ADMIT,
                            .tasks = choice.places,
                            .n_tasks = choice.n_places };
    return arena_printf(s->world.arena, "%s: %s", ids, world_show(s->world.arena, job, &e));
}

static struct scene two_nodes(void)
{
    static const struct node_spec nodes[] = { { .name = "n1", .gpus = 4, .cpu_milli = 8000 },
                                              { .name = "n2", .gpus = 4, .cpu_milli = 8000 } };
    return (struct scene){ .world = world_create(nodes, 2) };
}

static void test_class_first(void **state)
{
    (void)state;
    struct scene s = two_nodes();
    run_job(&s, 4, (struct evict_candidate){ .job = 1, .class = EVICT_LOWER, .started_ms = NOW });
    run_job(&s, 4, (struct evict_candidate){ .job = 2, .class = EVICT_IDLE, .started_ms = 1 });
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 2000)), "2: w/0@n2[0,1]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 2, 4000)),
                        "1 2: w/0@n1[0,1,2,3] w/1@n2[0,1,2,3]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 5000)), "none");
    s.n = 1; /* the other may not be taken from */
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 2000)), "1: w/0@n1[0,1]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 2, 4000)), "none");
    world_destroy(&s.world);
}

static void test_loss_counts_from_the_last_save(void **state)
{
    (void)state;
    struct scene s = two_nodes();
    run_job(&s, 4, (struct evict_candidate){ .job = 1, .started_ms = 10, .saved_ms = NOW - 10 });
    run_job(&s, 4, (struct evict_candidate){ .job = 2, .started_ms = NOW - 500 });
    assert_int_equal(evict_loss(&s.candidates[0], NOW), 4000 * EVICT_GPU_CPUS * 10);
    assert_int_equal(evict_loss(&s.candidates[1], NOW), 4000 * EVICT_GPU_CPUS * 500);
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "1: w/0@n1[0]");
    s.candidates[0].saved_ms = 0;
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "2: w/0@n2[0]");
    /* Equal losses: the lower priority, then the youngest, then the lower id. */
    s.candidates[0] = (struct evict_candidate){ .job = 1,
                                                .held = s.candidates[0].held,
                                                .started_ms = 10,
                                                .saved_ms = NOW - 500,
                                                .priority = 5 };
    s.candidates[1].priority = 5;
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "2: w/0@n2[0]");
    s.candidates[0].priority = 4;
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "1: w/0@n1[0]");
    s.candidates[0].priority = 5;
    s.candidates[0].started_ms = NOW - 500;
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "1: w/0@n1[0]");
    world_destroy(&s.world);
}

/* Twice two gpus are on n1 and n2; the two cheapest of all are not on one node. */
static void test_one_node(void **state)
{
    (void)state;
    struct scene s = two_nodes();
    run_job(&s, 2, (struct evict_candidate){ .job = 1, .started_ms = NOW - 10 });
    run_job(&s, 2, (struct evict_candidate){ .job = 2, .started_ms = NOW - 1000 });
    run_job(&s, 2, (struct evict_candidate){ .job = 3, .started_ms = NOW - 400 });
    run_job(&s, 2, (struct evict_candidate){ .job = 4, .started_ms = NOW - 500 });
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 4000)), "3 4: w/0@n2[0,1,2,3]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 2, 2000)),
                        "1 3: w/0@n1[0,1] w/1@n2[0,1]");
    world_destroy(&s.world);
}

/* Who holds a device that is closed, or a node that has less by now, does not stop the choice. */
static void test_nodes_that_have_less(void **state)
{
    (void)state;
    const struct node_spec less = { .name = "n1", .gpus = 1, .cpu_milli = 8000 };
    struct scene s = two_nodes();
    run_job(&s, 2, (struct evict_candidate){ .job = 1, .started_ms = NOW - 10 });
    run_job(&s, 2, (struct evict_candidate){ .job = 2, .started_ms = NOW - 10 });
    run_job(&s, 4, (struct evict_candidate){ .job = 3, .started_ms = NOW - 500 });
    cluster_close_device(s.world.cluster, 0, 2, true);
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 4000)), "3: w/0@n2[0,1,2,3]");
    assert_true(cluster_device_is_closed(s.world.cluster, 0, 2));
    cluster_put(s.world.cluster, &less);
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 4000)), "3: w/0@n2[0,1,2,3]");
    cluster_put(s.world.cluster,
                &(struct node_spec){ .name = "n1", .machine = true, .gone = true });
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 4000)), "3: w/0@n2[0,1,2,3]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "3: w/0@n2[0]");
    assert_int_equal(cluster_node(s.world.cluster, 0).tasks, 2);
    world_destroy(&s.world);
}

/* Whoever holds something where the job cannot be stays, and so does everybody when there is room.
 */
static void test_nobody_in_vain(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = {
        { .name = "n1", .gpus = 4, .gpu_type = "A100", .cpu_milli = 8000 },
        { .name = "n2", .gpus = 4, .gpu_type = "T4", .cpu_milli = 8000 },
    };
    struct scene s = { .world = world_create(nodes, 2) };
    run_job(&s, 4, (struct evict_candidate){ .job = 1, .started_ms = 10 });
    run_job(&s, 3, (struct evict_candidate){ .job = 2, .started_ms = NOW });
    struct job_spec *job = plain_job(s.world.arena, 1, 2000);
    job->roles[0].resources.gpu_types = (struct words)WORDS("A100");
    assert_string_equal(chosen(&s, job), "1: w/0@n1[0,1]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), ": w/0@n2[3]");
    cluster_set_drained(s.world.cluster, 0, true);
    assert_string_equal(chosen(&s, job), "none");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 2000)), "2: w/0@n2[0,1]");
    world_destroy(&s.world);
}

/* A gang goes as a whole or not at all. */
static void test_gangs_go_whole(void **state)
{
    (void)state;
    struct scene s = two_nodes();
    run_spec(&s, plain_job(s.world.arena, 2, 3000),
             (struct evict_candidate){ .job = 1, .started_ms = NOW - 10 });
    run_job(&s, 1, (struct evict_candidate){ .job = 2, .started_ms = NOW - 50 });
    run_job(&s, 1, (struct evict_candidate){ .job = 3, .started_ms = NOW - 50 });
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 1000)), "2: w/0@n1[3]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 2000)), "1: w/0@n1[0,1]");
    assert_string_equal(chosen(&s, plain_job(s.world.arena, 1, 4000)), "1 2: w/0@n1[0,1,2,3]");
    world_destroy(&s.world);
}

/* Ports are the host's: a job on the other virtual node is in the way. */
static void test_ports(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = { { .name = "v1", .host = "box", .cpu_milli = 1000 },
                                              { .name = "v2", .host = "box", .cpu_milli = 1000 } };
    struct scene s = { .world = world_create(nodes, 2) };
    struct port_request port = { .label = "http", .count = 1, .first = 8080 };
    struct role role = { .name = "w", .replicas = 1, .min = 1, .ports = &port, .n_ports = 1 };
    role.resources.cpu_milli = 1000;
    struct job_spec *job = world_job(s.world.arena, &role, 1);
    run_spec(&s, job, (struct evict_candidate){ .job = 1, .started_ms = 5 });
    job->placing.nodes = (struct words)WORDS("v2");
    assert_string_equal(chosen(&s, job), "1: w/0@v2:8080");
    world_destroy(&s.world);
}

/* ---- at random ---- */

static struct job_spec *random_job(struct arena *a, struct dice *d, uint32_t roles_max)
{
    static const uint32_t gpus[] = { 0, 0, 300, 500, 700, 1000, 1000, 2000, 3000 };
    struct role roles[2] = { { .name = "w" }, { .name = "v" } };
    uint32_t n = 1 + dice_below(d, roles_max);
    for (uint32_t i = 0; i < n; i++) {
        roles[i].replicas = 1 + dice_below(d, 3);
        roles[i].min = dice_below(d, 4) ? roles[i].replicas : 1;
        roles[i].resources.cpu_milli = 500 * dice_below(d, 6);
        roles[i].resources.gpu_milli = gpus[dice_below(d, ARRAY_LEN(gpus))];
    }
    return world_job(a, roles, n);
}

static struct scene random_scene(struct dice *d, uint32_t nodes, uint32_t jobs)
{
    struct scene s = { .world = world_create(NULL, 0) };
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_spec spec = { .cpu_milli = 1000 * (1 + dice_below(d, 8)),
                                  .gpus = dice_below(d, 5) };
        spec.name = arena_printf(s.world.arena, "n%u", i);
        cluster_put(s.world.cluster, &spec);
    }
    for (uint32_t i = 0; i < jobs; i++) {
        struct job_spec *job = random_job(s.world.arena, d, 1);
        struct evict_candidate as = { .job = 1 + (i * 7) % jobs, .priority = dice_below(d, 3) };
        as.class = dice_below(d, 5) ? EVICT_BORROWED : dice_below(d, 2) ? EVICT_LOWER : EVICT_IDLE;
        as.started_ms = NOW - 10 * dice_below(d, 5);
        as.saved_ms = dice_below(d, 2) ? NOW - dice_below(d, 20) : 0;
        if (world_try(&s.world, job).kind == PLAN_ADMIT)
            run_spec(&s, job, as);
    }
    return s;
}

static bool fits_without(const struct scene *s, const struct job_spec *job, const bool *gone)
{
    struct world w = { .arena = s->world.arena, .cluster = cluster_clone(s->world.cluster) };
    for (uint32_t i = 0; i < s->n; i++)
        if (gone[i])
            held_places_give(w.cluster, &s->candidates[i].held);
    bool fits = world_try(&w, job).kind == PLAN_ADMIT;
    cluster_destroy(w.cluster);
    return fits;
}

/* -1: a is cheaper. The highest class decides first: what is lost of it, then how many. */
static int dearer(const struct scene *s, const bool *a, const bool *b)
{
    for (uint32_t class = EVICT_CLASSES; class -- > 0;) {
        int64_t loss = 0, count = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            int64_t sign = (int64_t)a[i] - (int64_t)b[i];
            if (s->candidates[i].class != class)
                continue;
            loss += sign * (int64_t)evict_loss(&s->candidates[i], NOW);
            count += sign;
        }
        if (loss || count)
            return loss ? (loss > 0 ? 1 : -1) : count > 0 ? 1 : -1;
    }
    return 0;
}

static void mark_gone(const struct scene *s, const struct evict_choice *choice, bool *gone)
{
    memset(gone, 0, MOST * sizeof *gone);
    for (size_t i = 0; i < choice->n; i++)
        gone[choice->victims[i] - s->candidates] = true;
}

static void check_places(struct scene *s, const struct job_spec *job,
                         const struct evict_choice *choice)
{
    struct cluster *c = cluster_clone(s->world.cluster);
    for (size_t i = 0; i < choice->n; i++)
        held_places_give(c, &choice->victims[i]->held);
    struct held_places own = held_places_of(job, choice->places, choice->n_places);
    assert_true(held_places_take(c, &own));
    cluster_destroy(c);
}

/* Every set of the candidates is tried: the choice works, none of its parts does, and none is
 * cheaper. */
static void test_small_scenes(void **state)
{
    (void)state;
    const char *only = getenv("SEED");
    for (uint64_t seed = 1; seed <= 250; seed++) {
        struct dice d = { .state = only ? strtoull(only, NULL, 10) : seed };
        struct scene s = random_scene(&d, 1 + dice_below(&d, 3), 1 + dice_below(&d, 7));
        const struct job_spec *job = random_job(s.world.arena, &d, 2);
        struct evict_choice choice;
        bool gone[MOST], found = choose(&s, job, &choice), any = false;
        mark_gone(&s, &choice, gone);
        for (uint32_t mask = 0; mask < UINT32_C(1) << s.n; mask++) {
            bool other[MOST] = { 0 }, part = true, same = true;
            for (uint32_t i = 0; i < s.n; i++) {
                other[i] = mask >> i & 1;
                part = part && (!other[i] || gone[i]);
                same = same && other[i] == gone[i];
            }
            bool fits = fits_without(&s, job, other);
            any = any || fits;
            if ((found && same && !fits) || (found && fits && part && !same) ||
                (found && fits && dearer(&s, other, gone) < 0))
                fail_msg("seed %llu: set %x fits %d", (unsigned long long)d.state, mask, fits);
        }
        assert_int_equal(found, any);
        if (found)
            check_places(&s, job, &choice);
        world_destroy(&s.world);
    }
}

/* With many candidates: it fits, and with any one of them left it does not. */
static void test_large_scenes(void **state)
{
    (void)state;
    uint32_t n_found = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct dice d = { .state = seed };
        struct scene s = random_scene(&d, 12, 60);
        const struct job_spec *job = random_job(s.world.arena, &d, 2);
        struct evict_choice choice;
        bool gone[MOST], all[MOST];
        memset(all, 1, sizeof all);
        if (!choose(&s, job, &choice)) {
            assert_false(fits_without(&s, job, all));
            world_destroy(&s.world);
            continue;
        }
        n_found++;
        mark_gone(&s, &choice, gone);
        assert_true(fits_without(&s, job, gone));
        check_places(&s, job, &choice);
        for (uint32_t i = 0; i < s.n; i++) {
            if (!gone[i])
                continue;
            gone[i] = false;
            if (fits_without(&s, job, gone))
                fail_msg("seed %llu: %llu could stay", (unsigned long long)seed,
                         (unsigned long long)s.candidates[i].job);
            gone[i] = true;
        }
        world_destroy(&s.world);
    }
    assert_true(n_found > 50);
}

/* On a full cluster of equal nodes, 2 jobs of half a node on each: the cheapest pair goes. */
static void test_cheapest_node_of_many(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct dice d = { .state = seed };
        struct scene s = { .world = world_create(NULL, 0) };
        uint64_t cheapest = UINT64_MAX, other = 0;
        for (uint32_t i = 0; i < 30; i++) {
            struct node_spec spec = { .name = arena_printf(s.world.arena, "n%u", i), .gpus = 4 };
            cluster_put(s.world.cluster, &spec);
        }
        for (uint32_t i = 0; i < 60; i++) {
            run_job(&s, 2,
                    (struct evict_candidate){ .job = i, .started_ms = dice_below(&d, 1000) });
            uint64_t loss = evict_loss(&s.candidates[i], NOW);
            assert_string_equal(s.candidates[i].held.first->node,
                                arena_printf(s.world.arena, "n%u", i / 2));
            if (i % 2 && loss + other < cheapest)
                cheapest = loss + other;
            other = loss;
        }
        struct evict_choice choice;
        assert_true(choose(&s, plain_job(s.world.arena, 1, 4000), &choice));
        assert_int_equal(choice.n, 2);
        assert_int_equal(choice.loss, cheapest);
        world_destroy(&s.world);
    }
}

static void test_order_does_not_count(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct dice d = { .state = seed };
        struct scene s = random_scene(&d, seed % 2 ? 3 : 10, seed % 2 ? 7 : 50);
        const struct job_spec *job = random_job(s.world.arena, &d, 2);
        const char *first = chosen(&s, job);
        for (uint32_t i = s.n; i > 1; i--) {
            uint32_t k = dice_below(&d, i);
            struct evict_candidate c = s.candidates[k];
            s.candidates[k] = s.candidates[i - 1];
            s.candidates[i - 1] = c;
        }
        assert_string_equal(first, chosen(&s, job));
        world_destroy(&s.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_first),
        cmocka_unit_test(test_loss_counts_from_the_last_save),
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_nodes_that_have_less),
        cmocka_unit_test(test_nobody_in_vain),
        cmocka_unit_test(test_gangs_go_whole),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_small_scenes),
        cmocka_unit_test(test_large_scenes),
        cmocka_unit_test(test_cheapest_node_of_many),
        cmocka_unit_test(test_order_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
