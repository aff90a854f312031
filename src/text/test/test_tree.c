/* Building trees in order, comparing them whatever the order of members, and picking the syntax of
 * a text by its look. */
#include "text/tree.h"

#include "text/detect.h"
#include "text/test/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct sample s;

static void builds_in_order(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct text_node *m = text_map(a, NULL, NULL), *l = text_list(a, m, "list");
    text_str(a, m, "s", "x");
    text_str(a, m, "none", NULL);
    text_real(a, l, NULL, 2.0);
    text_int(a, l, NULL, -7);
    text_bool(a, l, NULL, true);
    text_real(a, l, NULL, (double)INFINITY);
    assert_int_equal(m->count, 3);
    assert_string_equal(m->first->key, "list");
    assert_string_equal(text_get(m, "none")->str, "");
    assert_string_equal(l->first->str, "2.0");
    assert_string_equal(l->first->next->str, "-7");
    assert_int_equal(l->last->kind, TEXT_NULL);
    assert_null(text_get(NULL, "x"));
    assert_string_equal(text_kind_word(TEXT_LIST), "a list");
    assert_string_equal(text_kind_word(TEXT_KIND_N), "nothing");
    arena_destroy(a);
}

static void equality(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct text_node *x = text_map(a, NULL, NULL), *y = text_map(a, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        text_int(a, x, arena_printf(a, "k%d", i), i);
        text_int(a, y, arena_printf(a, "k%d", 39 - i), 39 - i);
        assert_int_equal(text_equal(x, y), i == 39);
    }
    struct text_node *copy = text_copy(a, NULL, NULL, x);
    assert_true(text_equal(copy, y));
    copy->last->integer++;
    assert_false(text_equal(copy, y));
    assert_false(text_equal(text_int(a, NULL, NULL, 1), text_real(a, NULL, NULL, 1.0)));
    assert_false(text_equal(x, NULL));
    assert_true(text_equal(NULL, NULL));
    arena_destroy(a);
}

static void detects(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"a\": 1}",
        "  // c\n/* x */ {\"a\": 1,}",
        "\xef\xbb\xbf{\"a\": 1}",
        "a: 1",
        "# c\n\n---\na: 1\n",
        "\na: 1",
        "'a': 1",
        "# x\n{\"a\": 1}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        sample_parse(&s, text_parse, good[i], strlen(good[i]));
        assert_non_null(s.root);
        assert_int_equal(text_get(s.root, "a")->integer, 1);
    }
    static const struct bad_text bad[] = {
        { "", 0, 0, "the text is empty" },
        { "/* x", 1, 1, "this comment never ends" },
        { "{a: 1}", 1, 2, "a key without quotes" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        sample_expect_bad(&s, text_parse, &bad[i]);
    sample_parse(&s, text_parse,
                 "\x7f"
                 "ELF\x01\0\0",
                 7);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "a program (ELF)"));
    sample_parse(&s, text_parse, "", 0);
    assert_int_equal(s.report.errors, 1);
}

static void what_is_of_another_kind_is_not_there(void **state)
{
    (void)state;
    static const char text[] =
        "{\"word\": \"w\", \"n\": 7, \"below\": -7, \"real\": 7.5, \"on\": true, \"off\": false}";
    sample_parse(&s, text_parse, text, strlen(text));
    assert_string_equal(text_word(s.root, "word"), "w");
    assert_int_equal(text_number(s.root, "n"), 7);
    assert_true(text_flag(s.root, "on"));
    static const char *const keys[] = { "word", "n", "below", "real", "on", "off", "none" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_int_equal(text_number(s.root, keys[i]), i == 1 ? 7 : 0);
        assert_int_equal(text_flag(s.root, keys[i]), i == 4);
        assert_string_equal(text_word(s.root, keys[i]), i == 0 ? "w" : "");
        assert_string_equal(text_word(NULL, keys[i]), "");
        assert_int_equal(text_number(text_get(s.root, "n"), keys[i]), 0);
        assert_false(text_flag(NULL, keys[i]));
    }
}

static int end(void **state)
{
    (void)state;
    sample_fini(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_in_order),
        cmocka_unit_test(equality),
        cmocka_unit_test(detects),
        cmocka_unit_test(what_is_of_another_kind_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
