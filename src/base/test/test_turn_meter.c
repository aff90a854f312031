/* A turn's length is what its thread used of a processor, its cause the work that took most of it;
 * waits for the disk are neither. Clocks that only move when the test says so. */
#include "base/turn_meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t thread_now, mono_now;

static uint64_t thread_clock(void)
{
    return thread_now;
}

static uint64_t mono_clock(void)
{
    return mono_now;
}

static void work(uint64_t us)
{
    thread_now += us;
    mono_now += us;
}

static struct turn_meter *make(void)
{
    const struct turn_clocks clocks = { .thread = thread_clock, .mono = mono_clock };
    return turn_meter_create(&clocks);
}

static void test_counts(void **state)
{
    struct turn_meter *m = make();
    (void)state;
    turn_meter_end(m);
    work(1000);
    turn_meter_end(m);
    work(1001);
    turn_meter_end(m);
    work(TURN_LONG_US);
    mono_now += 60000; /* other programs */
    turn_meter_end(m);
    work(4000000);
    turn_meter_end(m);
    struct turn_figures f = turn_meter_figures(m);
    assert_int_equal(f.turns, 5);
    assert_int_equal(f.bins[0], 2);
    assert_int_equal(f.bins[1], 1);
    assert_int_equal(f.bins[5], 1);
    assert_int_equal(f.bins[TURN_BINS - 1], 1);
    assert_int_equal(f.longs, 1);
    assert_int_equal(f.cpu_us_max, 4000000);
    assert_int_equal(f.cpu_us_sum, 4000000 + TURN_LONG_US + 2001);
    turn_meter_destroy(m);
}

static void test_load_is_no_turn(void **state)
{
    struct turn_meter *m = make();
    (void)state;
    work(200000);
    mono_now += 1000;
    turn_meter_disk(m, 1000);
    turn_meter_loaded(m);
    work(10);
    turn_meter_end(m);
    struct turn_figures f = turn_meter_figures(m);
    assert_int_equal(f.load_us, 200000);
    assert_int_equal(f.turns, 1);
    assert_int_equal(f.cpu_us_max, 10);
    assert_int_equal(f.cpu_us_sum, 10);
    assert_int_equal(f.disk_us_sum, 0);
    turn_meter_destroy(m);
}

static void inner(struct turn_meter *m, uint64_t us)
{
    TURN_WORK(m, "inner", 7);
    work(us);
}

static void outer(struct turn_meter *m, uint64_t before, uint64_t in, uint64_t after)
{
    TURN_WORK(m, "outer", 3);
    work(before);
    inner(m, in);
    work(after);
}

static void test_names_the_cause(void **state)
{
    struct turn_meter *m = make();
    (void)state;
    outer(m, 5, 20, 6);
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "inner");
    outer(m, 11, 20, 12); /* together more than the inner one */
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "outer");
    work(500);
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "others");
    turn_meter_destroy(m);
}

/* A little work with a name is no cause of a turn that is nearly all without one. */
static void test_work_without_a_name(void **state)
{
    struct turn_meter *m = make();
    (void)state;
    outer(m, 60, 50, 0);
    work(55); /* less than the largest */
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "outer");
    outer(m, 60, 50, 0);
    work(100);
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "others");
    turn_meter_destroy(m);
}

static void commit(struct turn_meter *m, uint64_t cpu, uint64_t wait)
{
    TURN_WORK(m, "commit", 0);
    work(cpu);
    mono_now += wait;
    turn_meter_disk(m, wait);
}

static void test_disk_is_no_cause(void **state)
{
    struct turn_meter *m = make();
    (void)state;
    commit(m, 10, 70000);
    outer(m, 20, 0, 0);
    commit(m, 0, 10000);
    turn_meter_end(m);
    commit(m, 0, 3);
    turn_meter_end(m);
    struct turn_figures f = turn_meter_figures(m);
    assert_string_equal(f.max_cause, "outer");
    assert_int_equal(f.cpu_us_max, 30);
    assert_int_equal(f.disk_us_max, 80000);
    assert_int_equal(f.disk_us_sum, 80003);
    assert_int_equal(f.longs, 0);
    turn_meter_destroy(m);
}

/* More kinds of work than a turn keeps apart. */
static void test_many_works(void **state)
{
    static const char *const names[] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
        "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "A", "B", "C", "D", "E", "F",
    };
    struct turn_meter *m = make();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TURN_WORK(m, names[i], i);
        work(10);
    }
    turn_meter_end(m);
    assert_string_equal(turn_meter_figures(m).max_cause, "others");
    turn_meter_destroy(m);
}

static void test_nobody_looks(void **state)
{
    (void)state;
    outer(NULL, 0, 0, 0);
    turn_meter_disk(NULL, 1);
    turn_meter_end(NULL);
    assert_int_equal(turn_meter_figures(NULL).turns, 0);
    assert_int_equal(turn_meter_bound(0), 1000);
    assert_int_equal(turn_meter_bound(TURN_BINS - 1), 0);
    turn_meter_destroy(NULL);
}

static void test_real_clocks(void **state)
{
    struct turn_meter *m = turn_meter_create(NULL);
    (void)state;
    turn_meter_end(m);
    assert_int_equal(turn_meter_figures(m).turns, 1);
    turn_meter_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_is_no_turn),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_names_the_cause),     cmocka_unit_test(test_disk_is_no_cause),
        cmocka_unit_test(test_work_without_a_name), cmocka_unit_test(test_many_works),
        cmocka_unit_test(test_nobody_looks),        cmocka_unit_test(test_real_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
