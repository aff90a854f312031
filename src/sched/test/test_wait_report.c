/* One job in a pass: whose turn is before its own, when it starts, and what is in the way:
 * promises, quotas, a time before which it must not. */
#include "sched/wait_report.h"

#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)
#define MIN UINT64_C(60000)

/* n1 and n2 of four gpus each; job 1 holds n1, job 2 half of n2. */
struct scene {
    struct world world;
    struct sched_running running[8];
    struct sched_job jobs[16];
    struct queue_spec queues[4];
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
                                .preemptible = job->preemptible,
                                .priority = (uint8_t)job->priority };
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

static struct wait_report ask(struct scene *s, uint64_t id)
{
    struct wait_report w;
    assert_true(sched_wait_report(&s->s, id, NOW, s->world.arena, &w));
    return w;
}

static void test_starts_now(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 2, 0));
    struct wait_report w = ask(s, 10);
    assert_true(w.starts);
    assert_int_equal(w.reason.why, WAIT_NONE);
    assert_int_equal(w.n_places, 1);
    assert_string_equal(w.places[0].node, "n2");
    assert_false(sched_wait_report(&s->s, 11, NOW, s->world.arena, &w));
}

static void test_the_promise_is_told(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 4, 0));
    struct wait_report w = ask(s, 10);
    assert_false(w.starts);
    assert_int_equal(w.reason.why, WAIT_RESOURCE);
    assert_true(w.promised);
    assert_int_equal(w.at_ms, NOW + 30 * MIN);
    assert_int_equal(w.n_ends, 1);
    assert_int_equal(w.ends[0].job, 2);
    assert_false(w.ends[0].assumed);
    assert_int_equal(w.ahead, 0);
    assert_int_equal(w.rank.priority, 5);
}

static void test_both_ends_latest_first(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 2, 4, 0));
    struct wait_report w = ask(s, 10);
    assert_int_equal(w.at_ms, NOW + 50 * MIN);
    assert_int_equal(w.n_ends, 2);
    assert_int_equal(w.ends[0].job, 1);
    assert_int_equal(w.ends[1].job, 2);
}

static void test_no_limit_is_a_day(void **state)
{
    struct scene *s = *state;
    runs(s, 3, 2, 0);
    waits(s, 10, gpus(s, 2, 4, 0));
    struct wait_report w = ask(s, 10);
    assert_int_equal(w.at_ms, NOW + 24 * 60 * MIN);
    assert_int_equal(w.n_ends, 3);
    assert_int_equal(w.ends[0].job, 3);
    assert_true(w.ends[0].assumed);
    assert_false(w.ends[1].assumed);
    s->s.run_ms = 40 * MIN;
    w = ask(s, 10);
    assert_int_equal(w.at_ms, NOW + 50 * MIN);
    assert_true(w.ends[1].assumed);
}

/* Four alike, then another: each has its time after those before it. */
static void test_in_line(void **state)
{
    struct scene *s = *state;
    static const uint64_t alike[] = { 11, 12, 13 };
    struct sched_job *line = waits(s, 10, gpus(s, 1, 4, 10 * MIN));
    line->alike = alike;
    line->n_alike = 3;
    waits(s, 20, gpus(s, 2, 4, 10 * MIN));
    static const uint64_t at[] = { 30, 40, 50, 50 };
    for (uint64_t id = 10; id <= 13; id++) {
        struct wait_report w = ask(s, id);
        assert_int_equal(w.ahead, id - 10);
        assert_int_equal(w.at_ms, NOW + at[id - 10] * MIN);
        assert_int_equal(w.promised, id == 10);
        for (uint64_t k = 10; k < id; k++)
            assert_int_equal(w.first[k - 10], k);
    }
    struct wait_report w = ask(s, 20);
    assert_int_equal(w.ahead, 4);
    assert_int_equal(w.first[3], 13);
    assert_int_equal(w.at_ms, NOW + 60 * MIN);
    assert_int_equal(s->jobs[0].n_alike, 3); /* the snapshot is as it was */
}

static void test_more_before_than_are_looked_at(void **state)
{
    struct scene *s = *state;
    uint64_t alike[40];
    for (uint64_t i = 0; i < ARRAY_LEN(alike); i++)
        alike[i] = 11 + i;
    struct sched_job *line = waits(s, 10, gpus(s, 1, 4, 10 * MIN));
    line->alike = alike;
    line->n_alike = ARRAY_LEN(alike);
    struct wait_report w = ask(s, 50);
    assert_int_equal(w.ahead, 40);
    assert_int_equal(w.at_ms, 0); /* what those before it get is not known */
    assert_int_equal(w.not_before_ms, NOW + 30 * MIN);
}

/* Room is there at once, and only what was promised is in the way: that is no bound. */
static void test_not_before(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 4, 10 * MIN));
    waits(s, 11, gpus(s, 1, 2, 60 * MIN));
    waits(s, 12, gpus(s, 2, 4, 10 * MIN));
    assert_int_equal(ask(s, 10).not_before_ms, NOW + 30 * MIN);
    assert_int_equal(ask(s, 11).not_before_ms, NOW);
    assert_int_equal(ask(s, 12).not_before_ms, NOW + 50 * MIN);
}

/* The room of 10 is kept: 11 would be done too late, and the reason names 10. */
static void test_who_is_in_the_way(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 4, 10 * MIN));
    waits(s, 11, gpus(s, 1, 2, 60 * MIN));
    struct wait_report w = ask(s, 11);
    assert_int_equal(w.reason.why, WAIT_RESERVED);
    assert_int_equal(w.reason.blocker, 10);
    assert_int_equal(w.at_ms, NOW + 40 * MIN);
    s->jobs[1].spec = gpus(s, 1, 2, 30 * MIN);
    assert_true(ask(s, 11).starts);
}

static void test_quota_and_its_end(void **state)
{
    struct scene *s = *state;
    s->queues[0] = (struct queue_spec){ .name = "all", .parent = QUEUE_ROOT };
    s->queues[0].most = s->queues[0].user_most = VECTOR_ANY;
    s->queues[1] = s->queues[0];
    s->queues[1].name = "small";
    s->queues[1].most.gpu_milli = 3000;
    s->s.queues = s->queues;
    s->s.n_queues = 2;
    s->running[1].queue = 1; /* two gpus until minute 30 */
    struct sched_job *job = waits(s, 10, gpus(s, 1, 2, 0));
    job->queue = 1;
    struct wait_report w = ask(s, 10);
    assert_int_equal(w.reason.why, WAIT_QUOTA);
    assert_int_equal(w.used[1].gpu_milli, 2000);
    assert_int_equal(w.used[0].gpu_milli, 4000);
    assert_int_equal(w.at_ms, NOW + 30 * MIN);
    assert_int_equal(w.n_ends, 1);
    assert_int_equal(w.ends[0].job, 2);
}

static void test_without_a_turn(void **state)
{
    struct scene *s = *state;
    waits(s, 10, gpus(s, 1, 1, 0))->not_before_ms = NOW + 5;
    waits(s, 11, gpus(s, 1, 1, 0))->blocked_after = true;
    assert_int_equal(ask(s, 10).reason.why, WAIT_TIME);
    assert_int_equal(ask(s, 11).reason.why, WAIT_AFTER);
    assert_false(ask(s, 11).has_turn);
}

static void test_others_queues(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 2; i++) {
        s->queues[i] = (struct queue_spec){ .name = i ? "b" : "a", .parent = QUEUE_ROOT };
        s->queues[i].most = s->queues[i].user_most = VECTOR_ANY;
    }
    s->s.queues = s->queues;
    s->s.n_queues = 2;
    struct job_spec *high = gpus(s, 2, 4, 10 * MIN);
    high->priority = 9;
    waits(s, 10, high)->queue = 1;
    waits(s, 11, gpus(s, 2, 4, 10 * MIN));
    struct wait_report w = ask(s, 11);
    assert_int_equal(w.ahead, 0);
    assert_int_equal(w.ahead_elsewhere, 1);
    assert_int_equal(w.at_ms, NOW + 60 * MIN);
}

#define IN_SCENE(f) cmocka_unit_test_setup_teardown(f, make_scene, drop_scene)
int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCENE(test_starts_now),
        IN_SCENE(test_the_promise_is_told),
        IN_SCENE(test_both_ends_latest_first),
        IN_SCENE(test_no_limit_is_a_day),
        IN_SCENE(test_in_line),
        IN_SCENE(test_more_before_than_are_looked_at),
        IN_SCENE(test_not_before),
        IN_SCENE(test_who_is_in_the_way),
        IN_SCENE(test_quota_and_its_end),
        IN_SCENE(test_without_a_turn),
        IN_SCENE(test_others_queues),
    };
    return cmocka_run_group_tests_name("sched/wait_report", tests, NULL, NULL);
}
