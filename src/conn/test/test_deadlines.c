/* Deadlines with a clock that the test moves: each is due at its moment, keep-alive by what was
 * heard last, and a process that slept itself blames nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "conn/deadlines.h"

static void a_handshake_has_its_time(void **state)
{
    struct deadlines d;
    (void)state;
    deadlines_init(&d, 100, 50);
    assert_int_equal(deadlines_next(&d), 150);
    assert_int_equal(deadlines_due(&d, 149), DEADLINE_NONE);
    assert_int_equal(deadlines_due(&d, 150), DEADLINE_HANDSHAKE);
    deadlines_init(&d, 100, 0);
    assert_true(deadlines_next(&d) == UINT64_MAX);
    assert_int_equal(deadlines_due(&d, UINT64_MAX - 1), DEADLINE_NONE);
}

static void silence_is_asked_about_and_then_ends(void **state)
{
    struct deadlines d;
    (void)state;
    deadlines_init(&d, 0, 0);
    deadlines_keep_alive(&d, 1000, 100, 250);
    assert_int_equal(deadlines_next(&d), 1100);
    assert_int_equal(deadlines_due(&d, 1099), DEADLINE_NONE);
    assert_int_equal(deadlines_due(&d, 1100), DEADLINE_ASK);
    assert_int_equal(deadlines_due(&d, 1100), DEADLINE_NONE);
    d.heard_at = 1150; /* answered */
    assert_int_equal(deadlines_next(&d), 1250);
    assert_int_equal(deadlines_due(&d, 1250), DEADLINE_ASK);
    assert_int_equal(deadlines_due(&d, 1350), DEADLINE_ASK);
    assert_int_equal(deadlines_next(&d), 1400);
    assert_int_equal(deadlines_due(&d, 1400), DEADLINE_SILENCE);
}

static void who_slept_itself_waits_anew(void **state)
{
    struct deadlines d;
    (void)state;
    deadlines_init(&d, 0, 0);
    deadlines_keep_alive(&d, 0, 100, 250);
    assert_int_equal(deadlines_due(&d, 100), DEADLINE_ASK);
    assert_int_equal(deadlines_due(&d, 5000), DEADLINE_NONE); /* it was stopped since */
    assert_int_equal(deadlines_due(&d, 5100), DEADLINE_ASK);
    assert_int_equal(deadlines_due(&d, 5200), DEADLINE_ASK);
    assert_int_equal(deadlines_due(&d, 5250), DEADLINE_SILENCE);
}

static void the_rest_is_sent_in_time(void **state)
{
    struct deadlines d;
    (void)state;
    deadlines_init(&d, 0, 500);
    d.finish_at = 200;
    assert_int_equal(deadlines_next(&d), 200);
    assert_int_equal(deadlines_due(&d, 200), DEADLINE_FINISH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handshake_has_its_time),
        cmocka_unit_test(silence_is_asked_about_and_then_ends),
        cmocka_unit_test(who_slept_itself_waits_anew),
        cmocka_unit_test(the_rest_is_sent_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
