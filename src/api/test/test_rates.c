/* What one user may take in a time: a burst, then a steady rate; a large thing that passes and is
 * made good. How little is remembered: names are bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/rates.h"

#include <stdio.h>

#define NOW 5000000ull

static void a_burst_then_a_steady_rate(void **state)
{
    struct rates *r = rates_create((struct rate){ .n = 2, .ms = 1000, .burst = 10 });
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(rates_wait(r, "a", NOW), 0);
        rates_take(r, "a", NOW, 1);
    }
    assert_in_range(rates_wait(r, "a", NOW), 1, 501);
    assert_int_equal(rates_wait(r, "b", NOW), 0); /* another waits for nobody */
    assert_int_equal(rates_wait(r, "a", NOW + 501), 0);
    rates_take(r, "a", NOW + 501, 1);
    assert_int_not_equal(rates_wait(r, "a", NOW + 501), 0);
    assert_int_equal(rates_wait(r, "a", NOW + 10000), 0);
    rates_destroy(r);
}

static void one_large_thing_passes_and_is_made_good(void **state)
{
    struct rates *r = rates_create((struct rate){ .n = 100, .ms = 1000, .burst = 100 });
    (void)state;
    rates_take(r, "a", NOW, 1000);
    assert_in_range(rates_wait(r, "a", NOW), 9010, 9011);
    rates_take(r, "a", NOW, 1ull << 50);
    assert_in_range(rates_wait(r, "a", NOW), 60010, 60011); /* and no longer */
    rates_destroy(r);
}

static void no_rate_is_no_limit(void **state)
{
    struct rates *r = rates_create((struct rate){ .ms = 1000 });
    (void)state;
    rates_take(r, "a", NOW, 1ull << 40);
    assert_int_equal(rates_wait(r, "a", NOW), 0);
    assert_int_equal(rates_count(r), 0);
    rates_destroy(r);
}

static void names_are_bounded(void **state)
{
    struct rates *r = rates_create((struct rate){ .n = 1, .ms = 1000, .burst = 1 });
    char name[32];
    (void)state;
    rates_take(r, "guilty", NOW, 30);
    for (unsigned i = 0; i < 2 * RATES_MAX; i++) {
        snprintf(name, sizeof name, "n%u", i);
        rates_take(r, name, NOW, 1);
    }
    assert_int_equal(rates_count(r), RATES_MAX);
    assert_int_not_equal(rates_wait(r, "guilty", NOW), 0); /* who took most is remembered */
    rates_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_then_a_steady_rate),
        cmocka_unit_test(one_large_thing_passes_and_is_made_good),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(names_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
