/* Who is waited for before the ranks of --run-path exit: all have to come or end. A stop waits for
 * nobody, and half a report is the end of reports. */
#include "launch/exit_gate.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct hall {
    struct arena *arena;
    struct exit_gate gate;
    int report, release; /* as a rank has them */
};

static void enter(struct hall *hall, uint32_t n)
{
    struct err err;
    int ends[2];
    *hall = (struct hall){ .arena = arena_create(), .gate = EXIT_GATE_NONE };
    assert_int_equal(exit_gate_open(&hall->gate, hall->arena, n, &err), 0);
    exit_gate_ends(&hall->gate, ends);
    hall->report = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
    hall->release = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
    exit_gate_started(&hall->gate);
}

static void leave(struct hall *hall)
{
    exit_gate_close(&hall->gate);
    (void)close(hall->report);
    (void)close(hall->release);
    arena_destroy(hall->arena);
}

static void say(struct hall *hall, uint32_t local_rank)
{
    assert_int_equal(write(hall->report, &local_rank, sizeof local_rank), sizeof local_rank);
    exit_gate_read(&hall->gate);
}

static bool is_open(const struct hall *hall)
{
    struct pollfd end = { .fd = hall->release, .events = POLLIN };
    return poll(&end, 1, 0) == 1;
}

static void test_all_have_to_come_or_end(void **state)
{
    (void)state;
    struct hall hall;
    enter(&hall, 3);
    say(&hall, 2);
    say(&hall, 2); /* twice is once */
    say(&hall, 77);
    say(&hall, UINT32_MAX);
    exit_gate_arrive(&hall.gate, 0); /* it ended */
    assert_false(is_open(&hall));
    say(&hall, 1);
    assert_true(is_open(&hall));
    leave(&hall);
}

static void test_a_stop_waits_for_nobody(void **state)
{
    (void)state;
    struct hall hall;
    enter(&hall, 2);
    assert_false(is_open(&hall));
    exit_gate_release(&hall.gate);
    assert_true(is_open(&hall));
    exit_gate_arrive(&hall.gate, 0);
    exit_gate_arrive(&hall.gate, 1);
    leave(&hall);
}

static void test_half_a_number_is_the_end_of_reports(void **state)
{
    (void)state;
    struct hall hall;
    enter(&hall, 1);
    assert_int_equal(write(hall.report, "xy", 2), 2);
    exit_gate_read(&hall.gate);
    assert_int_equal(exit_gate_reports(&hall.gate), -1);
    assert_false(is_open(&hall));
    exit_gate_arrive(&hall.gate, 0);
    assert_true(is_open(&hall));
    leave(&hall);
}

static void test_what_a_rank_is_told(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct exit_gate gate = { .report = { 5, 6 }, .release = { 7, 8 } };
    assert_string_equal(exit_gate_variable(&gate, arena, 3), "MUSTER_EXIT_GATE=6,7,3");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_have_to_come_or_end),
        cmocka_unit_test(test_a_stop_waits_for_nobody),
        cmocka_unit_test(test_half_a_number_is_the_end_of_reports),
        cmocka_unit_test(test_what_a_rank_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
