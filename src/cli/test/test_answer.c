/* Members of answers that may be absent or of another kind, and times in every form that servers
 * write. A time in milliseconds wins over its text. */
#include "cli/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void absent_is_ordinary(void **state)
{
    struct arena *a = arena_create();
    struct text_node *map = text_map(a, NULL, NULL);
    (void)state;
    text_str(a, map, "name", "ddp");
    text_int(a, map, "n", 3);
    text_int(a, map, "negative", -3);
    text_null(a, map, "nothing");
    text_bool(a, map, "yes", true);
    assert_string_equal(answer_text(map, "name", "?"), "ddp");
    assert_string_equal(answer_text(map, "n", "?"), "?");
    assert_string_equal(answer_text(NULL, "name", "?"), "?");
    assert_int_equal(answer_number(map, "n", 7), 3);
    assert_int_equal(answer_number(map, "negative", 7), 7);
    assert_int_equal(answer_number(map, "name", 7), 7);
    assert_true(text_flag(map, "yes"));
    assert_false(text_flag(map, "name"));
    assert_false(answer_has(map, "nothing"));
    assert_false(answer_has(map, "missing"));
    assert_true(answer_has(map, "n"));
    arena_destroy(a);
}

static void times(void **state)
{
    (void)state;
    assert_int_equal(answer_parse_time("1970-01-01T00:00:01Z"), 1000);
    assert_int_equal(answer_parse_time("2026-01-02T03:04:05.678Z"), 1767323045678);
    assert_int_equal(answer_parse_time("2026-01-02T04:04:05.678+01:00"), 1767323045678);
    assert_int_equal(answer_parse_time("2026-01-02T02:04:05-01:00"), 1767323045000);
    assert_int_equal(answer_parse_time("yesterday"), 0);
    assert_int_equal(answer_parse_time(""), 0);
}

static void exact_time_wins(void **state)
{
    struct arena *a = arena_create();
    struct text_node *map = text_map(a, NULL, NULL);
    (void)state;
    text_str(a, map, "at", "1970-01-01T00:00:01Z");
    assert_int_equal(answer_time(map, "at"), 1000);
    text_int(a, map, "at_ms", 1234);
    assert_int_equal(answer_time(map, "at"), 1234);
    assert_int_equal(answer_time(map, "ended"), 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(absent_is_ordinary),
                                        cmocka_unit_test(times),
                                        cmocka_unit_test(exact_time_wins) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
