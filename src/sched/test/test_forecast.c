/* The queue run on with nothing changed: when a job starts, and who starts before it. Asking
 * changes nothing, and guesses are said to be guesses. */
#include "sched/forecast.h"

#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)
#define MIN UINT64_C(60000)

/* Two nodes of four gpus; job 1 holds the first for 50 minutes, job 2 half of the second for 30. */
struct scene {
    struct world world;
    struct sched_running running[8];
    struct sched_job jobs[16];
    struct sched_snapshot s;
};

static struct job_spec *gpus(struct scene *s, uint32_t tasks, uint64_t each, uint64_t run_ms)
{
    struct role role = { .name = "w", .replicas = tasks, .min = tasks };
    role.resources.gpu_milli = each * 1000;
    struct job_spec *job = world_job(s->world.arena, &role, 1);
    job->priority = 5;
    job->limits.run_time_ms = (struct opt_u64){ .has = run_ms > 0, .value = run_ms };
    return job;
}

static void runs(struct scene *s, uint64_t id, uint64_t held, uint64_t lasts_ms)
{
    struct job_spec *job = gpus(s, 1, held, lasts_ms);
    struct plan_entry e = world_try(&s->world, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_true(world_take(s->world.cluster, job, &e));
    s->running[s->s.n_running++] =
        (struct sched_running){ .id = id,
                                .held = held_places_of(job, e.tasks, e.n_tasks),
                                .demand = vector_of_job(job),
                                .started_ms = NOW,
                                .ends_ms = lasts_ms ? NOW + lasts_ms : 0,
                                .priority = 5 };
}

static struct sched_job *waits(struct scene *s, uint64_t id, struct job_spec *job)
{
    struct sched_job *one = &s->jobs[s->s.n_jobs++];
    *one = (struct sched_job){ .id = id, .spec = job };
    return one;
}

static int make_scene(void **state)
{
    static const struct node_spec nodes[] = { { .name = "n1", .gpus = 4 },
                                              { .name = "n2", .gpus = 4 } };
    struct scene *s = mem_new(sizeof *s);
    s->world = world_create(nodes, 2);
    s->s = (struct sched_snapshot){ .cluster = s->world.cluster,
                                    .jobs = s->jobs,
                                    .running = s->running };
    runs(s, 1, 4, 50 * MIN);
    runs(s, 2, 2, 30 * MIN);
    *state = s;
    return 0;
}

static int drop_scene(void **state)
{
    struct scene *s = *state;
    world_destroy(&s->world);
    free(s);
    return 0;
}

static struct forecast ask_by(struct scene *s, uint64_t id,
                              uint64_t (*lasts)(void *, const struct forecast_run *), uint64_t work)
{
    struct forecast f;
    const struct forecast_ask ask = {
        .snapshot = &s->s, .job = id, .now_ms = NOW, .lasts = lasts, .work = work
    };
    assert_true(sched_forecast(&ask, s->world.arena, &f));
    return f;
}

static struct forecast ask(struct scene *s, uint64_t id)
{
    return ask_by(s, id, NULL, 1000000);
}

static void test_now(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 2, 0));
    struct forecast f = ask(s, 10);
    assert_true(f.found);
    assert_int_equal(f.at_ms, NOW);
    assert_int_equal(f.n_ahead, 0);
}

/* 11 is let in before 10, as it is over by then; equal jobs behind it start with or after it. */
static void test_who_starts_before(void **state)
{
    struct scene *s = *state;
    static const uint64_t alike[] = { 12, 13 };
    waits(s, 10, gpus(s, 2, 4, 10 * MIN));
    struct sched_job *line = waits(s, 11, gpus(s, 1, 2, 20 * MIN));
    line->alike = alike;
    line->n_alike = 2;
    struct forecast f = ask(s, 10);
    assert_int_equal(f.at_ms, NOW + 50 * MIN);
    assert_int_equal(f.n_ahead, 3);
    f = ask(s, 12); /* when 11 is over, and before 10 */
    assert_int_equal(f.at_ms, NOW + 20 * MIN);
    assert_int_equal(f.n_ahead, 1);
    assert_int_equal(f.ahead[0], 11);
    assert_false(f.rough);
    f = ask(s, 13);
    assert_int_equal(f.at_ms, NOW + 30 * MIN);
    assert_int_equal(f.n_ahead, 2);
}

/* Nothing is written: the same question has the same answer. */
static void test_nothing_is_changed(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 2, 4, 10 * MIN));
    waits(s, 11, gpus(s, 2, 2, 10 * MIN));
    struct forecast first = ask(s, 11), again = ask(s, 11);
    assert_int_equal(first.at_ms, NOW + 30 * MIN);
    assert_int_equal(again.at_ms, first.at_ms);
    assert_int_equal(s->s.n_jobs, 2);
    assert_int_equal(s->jobs[0].promised_ms, 0);
}

static uint64_t tenth(void *arg, const struct forecast_run *run)
{
    (void)arg;
    return run->limit_ms / 10;
}

static void test_by_other_run_times(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 2, 4, 10 * MIN));
    struct forecast f = ask_by(s, 10, tenth, 1000000);
    assert_int_equal(f.at_ms, NOW + 5 * MIN);
}

static void test_bounds(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 2, 4, 10 * MIN));
    assert_false(ask_by(s, 10, NULL, 1).found);
    waits(s, 11, gpus(s, 3, 4, 10 * MIN)); /* never */
    assert_false(ask(s, 11).found);
    struct forecast f;
    const struct forecast_ask nobody = { .snapshot = &s->s, .job = 99, .now_ms = NOW, .work = 1 };
    assert_false(sched_forecast(&nobody, s->world.arena, &f));
}

/* 11 takes the place of a preemptible one: what follows is a guess, and said to be one. */
static void test_others_are_ended(void **state)
{
    struct scene *s = *state;
    s->running[0].preemptible = true;
    s->running[0].priority = 1;
    ((struct job_spec *)(uintptr_t)s->running[0].held.spec)->preemptible = true;
    struct job_spec *first = gpus(s, 1, 4, 10 * MIN);
    first->priority = 9;
    waits(s, 11, first);
    struct forecast f = ask(s, 11);
    assert_true(f.found);
    assert_true(f.rough);
    assert_true(f.at_ms < NOW + 30 * MIN);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, make_scene, drop_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCENE(test_now),
        IN_SCENE(test_who_starts_before),
        IN_SCENE(test_nothing_is_changed),
        IN_SCENE(test_by_other_run_times),
        IN_SCENE(test_bounds),
        IN_SCENE(test_others_are_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
