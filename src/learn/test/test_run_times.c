/* What is learnt of jobs that ended: by name, else by queue, and what says nothing. How much is
 * kept, and what is forgotten again. */
#include "learn/run_times.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)

static int setup(void **state)
{
    *state = run_times_create();
    return 0;
}

static int teardown(void **state)
{
    run_times_destroy(*state);
    return 0;
}

static struct job_row row(const char *owner, const char *name, uint64_t ran_ms)
{
    return (struct job_row){ .owner = owner,
                             .name = name,
                             .queue = "q",
                             .state = JOB_SUCCEEDED,
                             .started_ms = NOW,
                             .ended_ms = NOW + ran_ms };
}

static void ended(struct run_times *times, const char *name, uint64_t ran_ms)
{
    const struct job_row one = row("ada", name, ran_ms);
    run_times_ended(times, &one);
    run_times_committed(times);
}

static struct run_samples of(struct run_times *times, const char *owner, const char *name)
{
    struct run_samples s = { .n = 0 };
    const struct job_row one = row(owner, name, 0);
    if (!run_times_find(times, &one, &s))
        s.n = 0;
    return s;
}

static void test_by_name_else_by_queue(void **state)
{
    struct run_times *times = *state;
    for (uint64_t i = 1; i <= 5; i++) {
        assert_int_equal(of(times, "ada", "a").n, i > RUN_TIMES_NAME ? i - 1 : 0);
        ended(times, "a", 100 * i);
    }
    struct run_samples s = of(times, "ada", "a");
    assert_int_equal(s.n, 5);
    assert_false(s.of_queue);
    assert_int_equal(run_samples_at(&s, 500), 300);
    assert_int_equal(run_samples_at(&s, 999), 500);
    assert_int_equal(of(times, "bob", "a").n, 0); /* five are too few for a queue */
    for (uint64_t i = 0; i < 3; i++)
        ended(times, "b", 50);
    s = of(times, "bob", "a");
    assert_int_equal(s.n, 8);
    assert_true(s.of_queue);
    assert_int_equal(of(times, "ada", "b").n, 3);
}

static void test_what_runs_already(void **state)
{
    struct run_times *times = *state;
    for (uint64_t i = 1; i <= 10; i++)
        ended(times, "a", 10 * i);
    struct run_samples s = of(times, "ada", "a");
    assert_int_equal(run_samples_beyond(&s, 0, 0), 10);
    assert_int_equal(run_samples_beyond(&s, 70, 0), 80);
    assert_int_equal(run_samples_beyond(&s, 70, 500), 90);
    assert_int_equal(run_samples_beyond(&s, 70, 999), 100);
    assert_int_equal(run_samples_beyond(&s, 100, 500), 0);
}

static void test_what_says_nothing(void **state)
{
    struct run_times *times = *state;
    struct job_row stopped = row("ada", "a", 10), never = stopped, array = stopped;
    stopped.state = JOB_STOPPED;
    never.started_ms = 0;
    array.members = 3;
    for (int i = 0; i < 5; i++) {
        run_times_ended(times, &stopped);
        run_times_ended(times, &never);
        run_times_ended(times, &array);
        const struct job_row lost = row("ada", "a", 10);
        run_times_ended(times, &lost);
        run_times_undone(times); /* the commit failed */
    }
    run_times_committed(times);
    assert_int_equal(of(times, "ada", "a").n, 0);
}

/* A name is known while one of the newest jobs had it, by its newest run times. */
static void test_bounds(void **state)
{
    struct run_times *times = *state;
    for (uint64_t i = 0; i < 10; i++)
        ended(times, "old", 7);
    for (uint64_t i = 0; i < 200; i++)
        ended(times, "a", i);
    struct run_samples s = of(times, "ada", "a");
    assert_int_equal(s.n, RUN_TIMES_SAMPLES);
    assert_int_equal(s.ms[0], 200 - RUN_TIMES_SAMPLES);
    assert_int_equal(of(times, "ada", "old").ms[0], 7);
    for (uint64_t i = 0; i < RUN_TIMES_JOBS - 5; i++)
        ended(times, "b", 1000 + i % 10);
    s = of(times, "ada", "old");
    assert_true(s.of_queue);
    s = of(times, "ada", "a");
    assert_int_equal(s.n, 5); /* are left of the 200 */
    assert_int_equal(s.ms[0], 195);
    for (uint64_t i = 0; i < 3; i++)
        ended(times, "b", 1000);
    s = of(times, "ada", "a");
    assert_true(s.of_queue); /* two are too few */
    assert_true(s.ms[0] >= 1000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_by_name_else_by_queue),
                                        TEST(test_what_runs_already), TEST(test_what_says_nothing),
                                        TEST(test_bounds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
