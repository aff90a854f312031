/* Promises kept, late for a reason, and broken for none, told as a plan tells them. What became of
 * each is counted by its cause. */
#include "sim/promises.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define MINUTE 60000ull

static int setup(void **state)
{
    *state = promises_create(MINUTE);
    return 0;
}

static int teardown(void **state)
{
    promises_destroy(*state);
    return 0;
}

static void start(struct promises *p, uint64_t job, uint32_t right, uint64_t minutes)
{
    const struct plan_entry e = { .kind = PLAN_ADMIT, .job = job, .right = right };
    promises_start(p, &e, minutes * MINUTE);
}

static void reserve(struct promises *p, uint64_t job, uint32_t right, uint64_t at_minute)
{
    const struct plan_entry e = {
        .kind = PLAN_RESERVE, .job = job, .right = right, .at_ms = at_minute * MINUTE
    };
    promises_reserve(p, &e, (size_t)job);
}

static uint64_t late(const struct promises *p, enum promise_break why)
{
    return promises_counts(p).late[why];
}

static void test_kept(void **state)
{
    struct promises *p = *state;
    start(p, 1, 21, 9);
    reserve(p, 2, 21, 10);
    promises_time(p, 5 * MINUTE);
    start(p, 3, 21, 2); /* was checked */
    reserve(p, 2, 21, 10);
    promises_time(p, 7 * MINUTE);
    promises_gone(p, 3);
    promises_time(p, 10 * MINUTE);
    promises_gone(p, 1);
    start(p, 2, 21, 1); /* to the moment */
    promises_time(p, 100 * MINUTE);
    assert_int_equal(promises_counts(p).made, 1);
    assert_int_equal(promises_counts(p).kept, 1);
    for (int i = 0; i < BREAK_N; i++)
        assert_int_equal(late(p, (enum promise_break)i), 0);
}

static void test_violation(void **state)
{
    struct promises *p = *state;
    size_t n;
    start(p, 1, 21, 9);
    reserve(p, 2, 21, 10);
    promises_time(p, 5 * MINUTE);
    start(p, 3, 21, 20); /* in its way */
    promises_time(p, 10 * MINUTE);
    promises_gone(p, 1);
    reserve(p, 2, 21, 25);
    promises_time(p, 12 * MINUTE);
    assert_int_equal(late(p, BREAK_NONE), 1);
    promises_node_lost(p); /* too late for an excuse */
    promises_time(p, 25 * MINUTE);
    promises_gone(p, 3);
    start(p, 2, 21, 1);
    const struct violation *v = promises_violations(p, &n);
    assert_int_equal(n, 1);
    assert_int_equal(v->tag, 2);
    assert_int_equal(v->made_ms, MINUTE);
    assert_int_equal(v->at_ms, 10 * MINUTE);
    assert_int_equal(v->started_ms, 25 * MINUTE);
    assert_int_equal(promises_counts(p).kept, 0);
}

/* Each of these before the promise's time excuses it, by its own name. */
static void test_excused(void **state)
{
    struct promises *p = *state;
    for (int why = BREAK_NONE + 1; why < BREAK_N; why++) {
        const struct plan_entry more = { .kind = PLAN_MORE, .right = PLAN_RIGHT_FIRST };
        uint64_t at = (uint64_t)why * 100;
        promises_time(p, at * MINUTE);
        start(p, 1, 21, why == BREAK_OVERRUN ? 9 : 90);
        if (why == BREAK_MOVED)
            reserve(p, 5, 21, at + 8);
        reserve(p, 2, 21, at + 10);
        promises_time(p, (at + 5) * MINUTE);
        if (why == BREAK_NODE)
            promises_node_lost(p);
        if (why == BREAK_AGAIN)
            promises_more(p, &more);
        if (why == BREAK_MOVED)
            start(p, 5, 21, 90); /* sooner than it was promised, and perhaps elsewhere */
        if (why == BREAK_BETTER)
            start(p, 6, 22, 90);
        promises_time(p, (at + 11) * MINUTE);
        assert_int_equal(late(p, (enum promise_break)why), 1);
        assert_int_equal(late(p, BREAK_NONE), 0);
        assert_true(*promise_break_word((enum promise_break)why) &&
                    *promise_break_text((enum promise_break)why));
        for (uint64_t job = 1; job < 7; job++)
            promises_gone(p, job);
    }
}

/* These are none of a promise's business: a lower rank, growth that was checked, a promise made
 * later at the same rank. */
static void test_no_excuse(void **state)
{
    struct promises *p = *state;
    const struct plan_entry growth = { .kind = PLAN_MORE, .right = 0 };
    reserve(p, 2, 21, 10);
    promises_time(p, 5 * MINUTE);
    promises_more(p, &growth);
    start(p, 3, 20, 1);
    reserve(p, 4, 21, 30);
    promises_time(p, 6 * MINUTE);
    promises_gone(p, 3);
    start(p, 4, 21, 90); /* before its own time: it ranks behind, so it was checked */
    promises_time(p, 11 * MINUTE);
    assert_int_equal(late(p, BREAK_NONE), 1);
}

/* As long as somebody runs over, nothing that is promised rests on anything. */
static void test_overtime(void **state)
{
    struct promises *p = *state;
    start(p, 1, 21, 3);
    promises_time(p, 6 * MINUTE);
    reserve(p, 2, 21, 7);
    promises_time(p, 8 * MINUTE);
    assert_int_equal(late(p, BREAK_OVERRUN), 1);
    promises_gone(p, 1);
    reserve(p, 3, 21, 10); /* it is gone: this one counts */
    promises_time(p, 12 * MINUTE);
    assert_int_equal(late(p, BREAK_NONE), 1);
}

/* The same job may start at its time with a better claim than it was promised with, and elsewhere.
 */
static void test_rises(void **state)
{
    struct promises *p = *state;
    reserve(p, 2, 21, 10);
    reserve(p, 3, 22, 10);
    promises_time(p, 10 * MINUTE);
    start(p, 2, 53, 90);
    promises_time(p, 12 * MINUTE);
    assert_int_equal(late(p, BREAK_BETTER), 1);
    assert_int_equal(late(p, BREAK_NONE), 0);
    reserve(p, 4, 21, 20);
    reserve(p, 5, 22, 20);
    reserve(p, 4, 53, 20);
    promises_time(p, 21 * MINUTE);
    assert_int_equal(late(p, BREAK_BETTER), 3);
    assert_int_equal(late(p, BREAK_NONE), 0);
}

/* What it loses of its rank lets others pass; a job that ends without a start was not late. */
static void test_falls_back(void **state)
{
    struct promises *p = *state;
    reserve(p, 2, 53, 10);
    reserve(p, 3, 21, 10);
    promises_time(p, 5 * MINUTE);
    reserve(p, 2, 21, 20);
    promises_gone(p, 3);
    promises_time(p, 12 * MINUTE);
    assert_int_equal(late(p, BREAK_BETTER), 1);
    assert_int_equal(late(p, BREAK_NONE), 0);
    assert_int_equal(promises_counts(p).dropped, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_kept),     T(test_violation), T(test_excused),    T(test_no_excuse),
        T(test_overtime), T(test_rises),     T(test_falls_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
