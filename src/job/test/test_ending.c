/* Words of endings, there and back, and what endings of older versions say: agents and records of
 * those have a cause in words only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/old_ending.h"

static void test_words(void **state)
{
    (void)state;
    for (int by = BY_NONE + 1; by < END_BY_N; by++)
        assert_int_equal(end_origin_parse(end_origin_word((enum end_origin)by)), by);
    for (int cause = CAUSE_NONE + 1; cause < END_CAUSE_N; cause++)
        assert_int_equal(end_cause_parse(end_cause_word((enum end_cause)cause)), cause);
    assert_string_equal(end_origin_word(END_BY_N), "");
    assert_string_equal(end_cause_word(CAUSE_NONE), "");
    assert_string_equal(end_cause_word(END_CAUSE_N), "");
    assert_int_equal(end_origin_parse(""), BY_NONE);
    assert_int_equal(end_cause_parse("of a later version"), CAUSE_NONE);
}

static void test_old(void **state)
{
    const char *memory = "uses 2.1Gi of memory, its limit is 2Gi";
    (void)state;
    assert_int_equal(old_end_cause(BY_LIMIT, memory), CAUSE_MEMORY);
    assert_int_equal(old_end_cause(BY_ITSELF, memory), CAUSE_NONE);
    assert_int_equal(old_end_cause(BY_LIMIT, "ran longer than its limit of 2h"), CAUSE_NONE);
    assert_int_equal(old_end_cause(BY_PLATFORM, "/w: No space left on device"), CAUSE_NODE_FULL);
    assert_int_equal(old_end_cause(BY_PLATFORM, "its agent is gone"), CAUSE_NONE);
    assert_int_equal(old_end_cause(BY_PLATFORM, NULL), CAUSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words), cmocka_unit_test(test_old) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
