/* What is said of a variant is what a pass with it decides: by hand, then for random clusters
 * against whole passes. */
#include "sched/probe.h"

#include "base/dice.h"
#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)
#define MIN UINT64_C(60000)
#define NEW (UINT64_C(1) << 62) /* the id of who comes last */

struct lab {
    struct world world;
    struct sched_running running[16];
    struct sched_job jobs[24];
    struct queue_spec queues[2];
    struct sched_snapshot s;
    struct dice dice;
};

static struct job_spec *job_of(struct lab *l, uint32_t tasks, uint64_t gpus, uint64_t run_ms)
{
    struct role role = { .name = "w", .replicas = tasks, .min = tasks };
    role.resources.gpu_milli = gpus * 1000;
    struct job_spec *job = world_job(l->world.arena, &role, 1);
    job->priority = 5;
    job->limits.run_time_ms = (struct opt_u64){ .has = run_ms > 0, .value = run_ms };
    return job;
}

static struct lab *make_lab(uint32_t nodes)
{
    struct lab *l = mem_new(sizeof *l);
    struct node_spec spec = { .gpus = 4, .cpu_milli = 64000 };
    l->world = world_create(&spec, 0);
    for (uint32_t i = 0; i < nodes; i++) {
        spec.name = arena_printf(l->world.arena, "n%u", i);
        cluster_put(l->world.cluster, &spec);
    }
    for (int i = 0; i < 2; i++) {
        l->queues[i] = (struct queue_spec){ .name = i ? "b" : "a", .parent = QUEUE_ROOT };
        l->queues[i].most = l->queues[i].user_most = VECTOR_ANY;
    }
    l->s = (struct sched_snapshot){ .cluster = l->world.cluster,
                                    .jobs = l->jobs,
                                    .running = l->running,
                                    .queues = l->queues,
                                    .n_queues = 2 };
    return l;
}

static void drop_lab(struct lab *l)
{
    world_destroy(&l->world);
    free(l);
}

static void runs(struct lab *l, struct job_spec *job, uint32_t queue)
{
    struct plan_entry e = world_try(&l->world, job);
    if (e.kind != PLAN_ADMIT)
        return;
    assert_true(world_take(l->world.cluster, job, &e));
    struct sched_running *r = &l->running[l->s.n_running++];
    *r = (struct sched_running){ .id = l->s.n_running,
                                 .held = held_places_of(job, e.tasks, e.n_tasks),
                                 .demand = vector_of_job(job),
                                 .queue = queue,
                                 .started_ms = NOW,
                                 .ends_ms = NOW + job->limits.run_time_ms.value,
                                 .preemptible = job->preemptible,
                                 .priority = (uint8_t)job->priority };
}

static void waits(struct lab *l, struct job_spec *job, uint32_t queue)
{
    size_t at = l->s.n_jobs++;
    l->jobs[at] = (struct sched_job){ .id = 100 + at, .spec = job, .queue = queue };
}

/* ---- what is asked ---- */

struct knob {
    struct lab *lab;
    enum what { TASKS, RUN_TIME, PRIORITY } what;
    uint32_t top;
};

static const struct job_spec *make(void *arg, uint32_t k)
{
    struct knob *knob = arg;
    struct job_spec *job = job_of(knob->lab, 4, 2, 60 * MIN);
    if (knob->what == TASKS)
        job->roles[0].replicas = job->roles[0].min = k;
    else if (knob->what == RUN_TIME)
        job->limits.run_time_ms.value = k * MIN;
    else
        job->priority = knob->top - k; /* the first one is the surest */
    return job;
}

static uint32_t best(struct lab *l, struct knob *knob, uint32_t n, uint32_t queue)
{
    uint32_t tries = 64;
    struct probe p = { .as = { .id = NEW, .queue = queue }, .n = n, .make = make, .arg = knob };
    sched_probe(&l->s, NOW, l->world.arena, &p, 1, &tries);
    assert_true(tries > 64 - 2 * 8);
    assert_int_equal(p.best > 0, p.spec != NULL);
    return p.best;
}

/* The same of a pass that has it. */
static bool truly_starts(struct lab *l, struct knob *knob, uint32_t k, uint32_t queue)
{
    struct sched_snapshot s = l->s;
    l->jobs[s.n_jobs] = (struct sched_job){ .id = NEW, .spec = make(knob, k), .queue = queue };
    s.n_jobs++;
    struct plan plan = sched_plan(&s, NOW, l->world.arena);
    for (size_t i = 0; i < plan.n; i++)
        if (plan.at[i].job == NEW && plan.at[i].kind == PLAN_ADMIT)
            return true;
    return false;
}

/* ---- by hand ---- */

static void test_tasks_that_fit(void **state)
{
    (void)state;
    struct lab *l = make_lab(2);
    struct knob tasks = { .lab = l, .what = TASKS };
    assert_int_equal(best(l, &tasks, 4, 0), 4);
    runs(l, job_of(l, 1, 4, 50 * MIN), 0);
    assert_int_equal(best(l, &tasks, 4, 0), 2);
    runs(l, job_of(l, 1, 4, 50 * MIN), 0);
    assert_int_equal(best(l, &tasks, 4, 0), 0);
    drop_lab(l);
}

/* Four gpus are kept for the one before it from minute 30 on: two tasks may run until then. */
static void test_beside_a_promise(void **state)
{
    (void)state;
    struct lab *l = make_lab(2);
    runs(l, job_of(l, 1, 4, 50 * MIN), 0);
    runs(l, job_of(l, 1, 2, 30 * MIN), 0);
    waits(l, job_of(l, 1, 4, 10 * MIN), 0);
    struct knob tasks = { .lab = l, .what = TASKS };
    struct knob time = { .lab = l, .what = RUN_TIME };
    assert_int_equal(best(l, &tasks, 4, 0), 0);
    assert_int_equal(best(l, &time, 60, 0), 0); /* four tasks never fit */
    uint32_t tries = 64;
    struct probe p = { .as = { .id = NEW }, .n = 60, .make = make, .arg = &time };
    l->s.n_jobs = 0;
    sched_probe(&l->s, NOW, l->world.arena, &p, 1, &tries);
    assert_int_equal(p.best, 0);
    drop_lab(l);
}

/* Before its turn another one takes the room; with a higher priority it is first. */
static void test_the_turn_counts(void **state)
{
    (void)state;
    struct lab *l = make_lab(2);
    struct job_spec *other = job_of(l, 4, 2, 10 * MIN);
    other->priority = 7;
    waits(l, other, 0);
    struct knob priority = { .lab = l, .what = PRIORITY, .top = 10 };
    assert_int_equal(best(l, &priority, 5, 0), 2); /* 9 and 8; at 7 it is the younger one */
    drop_lab(l);
}

static void test_tries_are_bounded(void **state)
{
    (void)state;
    struct lab *l = make_lab(1);
    struct knob tasks = { .lab = l, .what = TASKS };
    struct probe p = { .as = { .id = NEW }, .n = 4096, .make = make, .arg = &tasks };
    uint32_t tries = 3;
    sched_probe(&l->s, NOW, l->world.arena, &p, 1, &tries);
    assert_int_equal(tries, 0);
    assert_int_equal(p.best, 0);
    tries = 64;
    sched_probe(&l->s, NOW, l->world.arena, &p, 1, &tries);
    assert_int_equal(p.best, 2);
    drop_lab(l);
}

/* ---- any ---- */

static void fill(struct lab *l)
{
    static const enum queue_strategy strategies[] = { QUEUE_BACKFILL, QUEUE_FIFO,
                                                      QUEUE_ROUND_ROBIN };
    for (uint32_t i = 0; i < 2; i++) {
        l->queues[i].strategy = strategies[dice_below(&l->dice, 3)];
        l->queues[i].sure.gpu_milli = 1000 * dice_below(&l->dice, 9);
        l->queues[i].most.gpu_milli =
            dice_below(&l->dice, 2) ? UINT64_MAX : 8000 + 1000 * dice_below(&l->dice, 16);
    }
    for (int i = 0; i < 5; i++)
        runs(l,
             job_of(l, 1 + (uint32_t)dice_below(&l->dice, 2), 1 + dice_below(&l->dice, 4),
                    (1 + dice_below(&l->dice, 60)) * MIN),
             (uint32_t)dice_below(&l->dice, 2));
    for (int i = 0; i < 3; i++) {
        struct job_spec *job =
            job_of(l, 2 + (uint32_t)dice_below(&l->dice, 3), 2 + dice_below(&l->dice, 3),
                   (1 + dice_below(&l->dice, 60)) * MIN);
        job->priority = 3 + (uint32_t)dice_below(&l->dice, 5);
        waits(l, job, (uint32_t)dice_below(&l->dice, 2));
    }
}

static void test_as_passes_say(void **state)
{
    (void)state;
    unsigned some = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct lab *l = make_lab(4);
        l->dice.state = seed << 20;
        fill(l);
        for (uint32_t queue = 0; queue < 2; queue++)
            for (int what = TASKS; what <= PRIORITY; what++) {
                struct knob knob = { .lab = l, .what = (enum what)what, .top = 10 };
                uint32_t n = what == TASKS ? 4 : what == RUN_TIME ? 60 : 5;
                uint32_t k = best(l, &knob, n, queue);
                some += k > 0 && k < n;
                if (k > 0)
                    assert_true(truly_starts(l, &knob, k, queue));
                if (k < n)
                    assert_false(truly_starts(l, &knob, k + 1, queue));
            }
        drop_lab(l);
    }
    assert_true(some > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_that_fit),  cmocka_unit_test(test_beside_a_promise),
        cmocka_unit_test(test_the_turn_counts), cmocka_unit_test(test_tries_are_bounded),
        cmocka_unit_test(test_as_passes_say),
    };
    return cmocka_run_group_tests_name("sched/probe", tests, NULL, NULL);
}
