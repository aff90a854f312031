/* How open files are divided: the parts never add up to more than there are, grow with the limit,
 * and a process that may open next to none is told what to raise. */
#include "main/descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static void too_few_for_a_server(void **state)
{
    struct descriptors d;
    struct err err;
    (void)state;
    assert_int_equal(descriptors_divide(63, &d, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_string_equal(err.what, "this process may have 63 open files, a server needs 64");
    assert_non_null(strstr(err.hint, "ulimit -Hn"));
    assert_int_equal(descriptors_divide(0, &d, &err), -1);
    assert_int_equal(descriptors_divide(64, &d, &err), 0);
    assert_true(d.agents >= 1 && d.connections >= 1);
}

/* Whatever the limit: an agent has two, a connection one, and what the store and spawning need is
 * left beside all of them. */
static void the_parts_fit(void **state)
{
    struct descriptors d, before = { .limit = 0 };
    struct err err;
    (void)state;
    for (uint64_t limit = 64; limit < (1u << 22); limit += 1 + limit / 50) {
        assert_int_equal(descriptors_divide(limit, &d, &err), 0);
        assert_int_equal(d.limit, limit);
        uint64_t bound = (uint64_t)d.bound;
        assert_true(d.bound > 0 && bound < limit);
        assert_true(limit - bound >= 16);
        if (2 * (uint64_t)d.agents + d.connections > bound)
            fail_msg("of %llu: %u agents and %llu connections below %d", (unsigned long long)limit,
                     d.agents, (unsigned long long)d.connections, d.bound);
        assert_true(d.agents >= before.agents && d.connections >= before.connections);
        assert_true(d.bound >= before.bound);
        before = d;
    }
}

/* "1024 serve a few people, 65536 many", says the hint. */
static void as_the_hint_has_it(void **state)
{
    struct descriptors d;
    struct err err;
    (void)state;
    assert_int_equal(descriptors_divide(1024, &d, &err), 0);
    assert_true(d.agents >= 100 && d.connections >= 500);
    assert_int_equal(descriptors_divide(65536, &d, &err), 0);
    assert_true(d.agents >= 9000 && d.connections >= 40000);
}

/* A limit that is none (RLIM_INFINITY) gives numbers that an int holds. */
static void without_a_limit(void **state)
{
    struct descriptors d, most;
    struct err err;
    (void)state;
    assert_int_equal(descriptors_divide(UINT64_MAX, &d, &err), 0);
    assert_int_equal(descriptors_divide(1u << 20, &most, &err), 0);
    assert_int_equal(d.bound, most.bound);
    assert_int_equal(d.agents, most.agents);
    assert_true(d.connections == most.connections);
}

static void this_process_gets_all_it_may(void **state)
{
    struct descriptors d;
    struct rlimit files, now;
    struct err err;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_max < 128)
        skip();
    files.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(descriptors_open(&d, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_true(now.rlim_cur == files.rlim_max);
    assert_true(d.limit == now.rlim_cur);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_for_a_server),         cmocka_unit_test(the_parts_fit),
        cmocka_unit_test(as_the_hint_has_it),           cmocka_unit_test(without_a_limit),
        cmocka_unit_test(this_process_gets_all_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
