/* Lists of texts: joined as they are read, with whatever is to stand between them, and the same as
 * another list in whatever order. */
#include "job/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WORDS(...)                                                                                 \
    {                                                                                              \
        .at = (const char *[]){ __VA_ARGS__ },                                                     \
        .n = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)                              \
    }
static const struct words none, one = WORDS("a100"), two = WORDS("a100", "h100"),
                                turned = WORDS("h100", "a100"), other = WORDS("a100", "t4");

static void are_joined(void **state)
{
    struct arena *arena = arena_create();
    (void)state;
    assert_string_equal(words_joined(arena, &none, ", "), "");
    assert_string_equal(words_joined(arena, &one, ", "), "a100");
    assert_string_equal(words_joined(arena, &two, " or "), "a100 or h100");
    assert_string_equal(words_joined(arena, &turned, ""), "h100a100");
    arena_destroy(arena);
}

static void are_the_same_in_any_order(void **state)
{
    (void)state;
    assert_true(words_are_same(&none, &none));
    assert_true(words_are_same(&two, &turned));
    assert_false(words_are_same(&one, &two));
    assert_false(words_are_same(&two, &one));
    assert_false(words_are_same(&two, &other));
    assert_true(words_have(&two, "h100"));
    assert_false(words_have(&two, "h10"));
    assert_false(words_have(&none, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_joined),
        cmocka_unit_test(are_the_same_in_any_order),
    };
    return cmocka_run_group_tests_name("job/words", tests, NULL, NULL);
}
