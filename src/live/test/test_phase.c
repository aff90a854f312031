/* The table of a task's phases: what the sets say of each phase goes together, and whatever happens
 * a task can come to its end and begin anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live/phase.h"

#include <string.h>

static void each_phase_has_a_word_of_its_own(void **state)
{
    (void)state;
    for (unsigned a = 0; a < PHASE_N; a++) {
        assert_true(phase_word((enum task_phase)a)[0]);
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(phase_word((enum task_phase)a), phase_word((enum task_phase)b));
    }
}

static void the_sets_go_together(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASE_N; i++) {
        enum task_phase phase = (enum task_phase)i;
        bool over = phase == PHASE_OVER, again = phase_comes_again(phase);
        assert_int_equal(over + again + phase_lives(phase), 1);
        assert_true(phase_lives(phase) || !phase_due(phase));
        assert_true(phase_lives(phase) || !phase_postponed(phase));
        assert_true(phase_lives(phase) || !phase_told(phase));
        assert_false(phase_due(phase) && phase_postponed(phase));
    }
    assert_true(phase_due(PHASE_PLACED) && !phase_told(PHASE_PLACED));
    assert_true(phase_due(PHASE_RELAUNCH) && phase_told(PHASE_RELAUNCH));
    assert_true(phase_postponed(PHASE_POSTPONED) && !phase_told(PHASE_POSTPONED));
    assert_true(phase_postponed(PHASE_RELAUNCH_LATER) && phase_told(PHASE_RELAUNCH_LATER));
    assert_false(phase_told(PHASE_REFUSED));
}

/* Which phases can come of this one, by any number of steps: a bit each. */
static uint32_t reach(enum task_phase from)
{
    uint32_t found = 0, before;
    do {
        before = found;
        for (unsigned a = 0; a < PHASE_N; a++)
            for (unsigned b = 0; b < PHASE_N; b++)
                if ((a == from || found >> a & 1) && phase_may(a, b))
                    found |= UINT32_C(1) << b;
    } while (found != before);
    return found;
}

static void every_phase_leads_to_every_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASE_N; i++) {
        assert_int_equal(reach((enum task_phase)i), (UINT32_C(1) << PHASE_N) - 1);
        assert_false(phase_may((enum task_phase)i, (enum task_phase)i));
    }
}

/* A plan finds its place first; what has begun is not launched again. */
static void no_way_leads_past_a_place_or_back_from_running(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASE_N; i++) {
        enum task_phase to = (enum task_phase)i;
        assert_int_equal(phase_may(PHASE_OVER, to), to == PHASE_UNPLACED);
        if (phase_lives(to)) {
            assert_false(phase_may(PHASE_RUNNING, to));
            assert_int_equal(phase_may(PHASE_UNPLACED, to), to == PHASE_PLACED);
            assert_int_equal(phase_may(PHASE_BACKOFF, to), to == PHASE_PLACED);
            assert_int_equal(phase_may(PHASE_ASSIGNED, to), to == PHASE_PLACED);
        }
        if (phase_may(to, PHASE_RUNNING))
            assert_true(phase_told(to));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_has_a_word_of_its_own),
        cmocka_unit_test(the_sets_go_together),
        cmocka_unit_test(every_phase_leads_to_every_other),
        cmocka_unit_test(no_way_leads_past_a_place_or_back_from_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
