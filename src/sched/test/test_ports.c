/* Ports of physical hosts: finding some in a row, a rest after they are freed, blocked ones, copies
 * that share until one is written. */
#include "base/mem.h"
#include "sched/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct port_range pool = { .first = 100, .last = 109 };

static void hold_all(struct ports *p, const uint32_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ports_hold(p, at[i]);
}

static void test_find(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint32_t start, held[10], n_held, avoid, ask, expect[10];
        bool found;
    } cases[] = {
        { "an empty host", 100, { 0 }, 0, 0, 3, { 100, 101, 102 }, true },
        { "begins at start", 105, { 0 }, 0, 0, 2, { 105, 106 }, true },
        { "start outside the pool", 7, { 0 }, 0, 0, 1, { 100 }, true },
        { "wraps, but a run does not", 109, { 0 }, 0, 0, 2, { 100, 101 }, true },
        { "goes on after the last", 100, { 100, 101 }, 2, 0, 2, { 102, 103 }, true },
        { "a run that begins before start",
          105,
          { 100, 101, 102, 104, 108, 109 },
          6,
          0,
          3,
          { 105, 106, 107 },
          true },
        { "pieces when there is no run",
          100,
          { 101, 103, 105, 107, 109 },
          5,
          0,
          3,
          { 100, 102, 104 },
          true },
        { "all", 100, { 0 }, 0, 0, 10, { 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 }, true },
        { "too many", 100, { 104 }, 1, 0, 10, { 0 }, false },
        { "avoids", 100, { 0 }, 0, 101, 2, { 102, 103 }, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ports *p = NULL;
        uint32_t out[16];
        ports_own(&p, pool, cases[i].start);
        hold_all(p, cases[i].held, cases[i].n_held);
        struct port_range avoid = { .first = cases[i].avoid, .last = cases[i].avoid };
        struct port_ask ask = { .pool = pool, .avoid = &avoid, .n_avoid = cases[i].avoid != 0 };
        bool found = ports_find(p, &ask, cases[i].ask, out);
        if (found != cases[i].found)
            fail_msg("%s: found %d", cases[i].what, found);
        for (uint32_t k = 0; found && k < cases[i].ask; k++)
            if (out[k] != cases[i].expect[k])
                fail_msg("%s: port %u is %u", cases[i].what, k, out[k]);
        for (uint32_t k = 0; found && k < cases[i].ask; k++)
            assert_false(ports_busy(p, out[k]));
        ports_unshare(p);
    }
}

static void test_freed_port_rests(void **state)
{
    (void)state;
    struct ports *p = NULL;
    struct port_ask ask = { .pool = pool, .start = 100 };
    uint32_t port;
    ports_own(&p, pool, 100);
    for (uint32_t i = 0; i < 25; i++) {
        assert_true(ports_find(p, &ask, 1, &port));
        assert_int_equal(port, 100 + i % 10);
        ports_hold(p, port);
        ports_drop(p, port);
    }
    assert_int_equal(ports_idle(p, pool), 10);
    ports_unshare(p);
}

static void test_copy_on_write(void **state)
{
    (void)state;
    struct ports *a = NULL;
    ports_hold(ports_own(&a, pool, 100), 4000);
    struct ports *b = ports_share(a);
    assert_ptr_equal(a, b);
    ports_hold(ports_own(&b, pool, 100), 4001);
    assert_ptr_not_equal(a, b);
    assert_true(ports_held(a, 4000) && ports_held(b, 4000));
    assert_false(ports_held(a, 4001));
    ports_unshare(a);
    ports_unshare(b);
    assert_false(ports_busy(NULL, 4000));
    assert_int_equal(ports_idle(NULL, pool), 10);
}

static void test_blocked(void **state)
{
    (void)state;
    struct ports *p = NULL;
    ports_own(&p, pool, 100);
    ports_block(p, 100, 500);
    ports_block(p, 100, 700); /* the later word holds */
    ports_block(p, 5000, 600);
    assert_true(ports_busy(p, 100) && !ports_held(p, 100));
    assert_int_equal(ports_idle(p, pool), 9);
    assert_int_equal(ports_unblocks(p), 600);
    ports_expire(p, 600);
    assert_true(ports_busy(p, 100));
    assert_false(ports_busy(p, 5000));
    ports_expire(p, 700);
    assert_false(ports_busy(p, 100));
    for (uint32_t i = 0; i < 1000; i++) /* bounded; the earliest go */
        ports_block(p, 20000 + i, 1000 + i);
    assert_true(ports_busy(p, 20999));
    assert_false(ports_busy(p, 20000));
    ports_unshare(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_freed_port_rests),
        cmocka_unit_test(test_copy_on_write),
        cmocka_unit_test(test_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
