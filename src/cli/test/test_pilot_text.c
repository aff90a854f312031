/* What is said of a pilot that waits, runs and is over, and which times of idleness are taken: the
 * words that people see, with the answers of the server that they come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/pilot_text.h"

#include <string.h>

static int set_up(void **state)
{
    *state = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

static const char *note(struct arena *arena, const char *in, const char *reason, int64_t start)
{
    struct text_node *pilot = text_map(arena, NULL, NULL);
    text_str(arena, pilot, "state", in);
    if (reason)
        text_str(arena, pilot, "reason", reason);
    if (start)
        text_int(arena, pilot, "start_ms", start);
    return pilot_note(arena, pilot, 1700000000000);
}

static void what_is_said_of_one(void **state)
{
    assert_string_equal(note(*state, "pending", "Priority", 0), "Slurm: Priority");
    assert_string_equal(note(*state, "pending", "None", 0), "Slurm has it");
    assert_string_equal(note(*state, "pending", NULL, 0), "Slurm has it");
    assert_string_equal(note(*state, "running", NULL, 1700000000000), "");
    assert_string_equal(note(*state, "over", "it was cancelled", 0), "it was cancelled");
    const char *with = note(*state, "pending", "Resources", 1700000060000);
    assert_int_equal(strncmp(with, "Slurm: Resources; expected at ", 30), 0);
    assert_true(strlen(with) > 30);
    struct text_node *own = text_map(*state, NULL, NULL);
    text_int(*state, own, "job", 12);
    assert_string_equal(pilot_note(*state, own, 0), "for job 12 alone");
    text_str(*state, own, "reason", "its job has ended");
    assert_string_equal(pilot_note(*state, own, 0), "for job 12 alone; its job has ended");
}

static void times_of_idleness(void **state)
{
    uint64_t ms = 1;
    struct err err;
    (void)state;
    assert_int_equal(pilot_idle(NULL, &ms, &err), 0);
    assert_int_equal(ms, 900000);
    assert_int_equal(pilot_idle("30m", &ms, &err), 0);
    assert_int_equal(ms, 1800000);
    assert_int_equal(pilot_idle("never", &ms, &err), 0);
    assert_int_equal(ms, 0);
    assert_int_equal(pilot_idle("soon", &ms, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_said_of_one, set_up, tear_down),
        cmocka_unit_test(times_of_idleness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
