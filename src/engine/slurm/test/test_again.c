/* When the batch script of an allocation is told to start a node again: after a silence, then at
 * longer intervals, and never for one that is heard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/again.h"

static void a_node_that_is_heard_is_left_alone(void **state)
{
    struct again a = { .silent = false };
    (void)state;
    assert_false(again_is_due(&a, false, AGAIN_PACE_MS, 0));
    assert_false(again_is_due(&a, false, AGAIN_PACE_MS, 1000000));
    assert_false(again_is_due(&a, true, AGAIN_PACE_MS, 1000001)); /* it has only begun */
    assert_false(again_is_due(&a, true, AGAIN_PACE_MS, 1005000));
    assert_false(again_is_due(&a, false, AGAIN_PACE_MS, 1005001));
    assert_false(again_is_due(&a, true, AGAIN_PACE_MS, 1012000)); /* a silence of its own */
    assert_true(again_is_due(&a, true, AGAIN_PACE_MS, 1022000));
    assert_int_equal(a.tries, 0);
}

/* Also from the beginning of the clock. */
static void it_is_tried_at_longer_intervals(void **state)
{
    static const uint64_t apart[] = { 20000, 40000, 40000 };
    struct again a = { .silent = false };
    uint64_t now = 10000;
    (void)state;
    assert_false(again_is_due(&a, true, AGAIN_PACE_MS, 0));
    assert_false(again_is_due(&a, true, AGAIN_PACE_MS, now - 1));
    for (unsigned i = 0; i < sizeof apart / sizeof *apart; i++) {
        assert_true(again_is_due(&a, true, AGAIN_PACE_MS, now));
        assert_true(again_is_due(&a, true, AGAIN_PACE_MS, now)); /* until it is told */
        a.named = true;
        again_tell(&a, now);
        assert_int_equal(a.tries, i + 1);
        assert_false(a.named); /* its name is asked for once each time */
        assert_false(again_is_due(&a, true, AGAIN_PACE_MS, now + apart[i] - 1));
        now += apart[i];
    }
    assert_false(again_is_due(&a, false, AGAIN_PACE_MS, now));
    assert_int_equal(a.tries, 0); /* nobody may take its place any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_is_heard_is_left_alone),
        cmocka_unit_test(it_is_tried_at_longer_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
