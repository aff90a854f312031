/* Parameter files: values to the end of the line, places for messages, line ends of other systems.
 * What is no such file is told apart, also by its look alone. */
#include "text/keyvalue.h"

#include "text/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct text_node *parse(struct arena *arena, const char *text, struct report *report)
{
    report_init(report, arena);
    return text_parse(arena, text, strlen(text), report);
}

static void test_values(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    struct text_node *root =
        parse(arena, "\xef\xbb\xbf\r\n# a comment\r\n  a = x  y=z # no comment \r\nb=\r\n\tc=\"q\"",
              &report);
    assert_true(report_ok(&report));
    assert_int_equal(root->count, 3);
    assert_string_equal(text_get(root, "a")->str, "x  y=z # no comment");
    assert_string_equal(text_get(root, "b")->str, "");
    assert_string_equal(text_get(root, "c")->str, "\"q\"");
    arena_destroy(arena);
}

static void test_places(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    const char *text = "n=1\nl=é,bb , c\n";
    struct text_node *root = parse(arena, text, &report);
    const struct text_node *l = text_get(root, "l");
    assert_int_equal(l->key_place.line, 2);
    assert_int_equal(l->place.col, 3);
    struct text_node *list = keyvalue_words(arena, NULL, NULL, l);
    assert_int_equal(list->count, 3);
    const struct text_node *bb = list->first->next;
    assert_string_equal(bb->str, "bb");
    assert_int_equal(bb->place.col, 5); /* characters, not bytes */
    assert_memory_equal(text + bb->place.offset, "bb", bb->place.len);
    arena_destroy(arena);
}

static void test_pairs(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    struct text_node *root = parse(arena, "e=A=1,B=x=y,,C=, D,=1,A=2\n", &report);
    struct text_node *map = keyvalue_pairs(arena, NULL, NULL, text_get(root, "e"), "e", &report);
    assert_int_equal(map->count, 3);
    assert_string_equal(text_get(map, "A")->str, "1");
    assert_string_equal(text_get(map, "B")->str, "x=y");
    assert_string_equal(text_get(map, "C")->str, "");
    assert_int_equal(report.errors, 3);
    assert_int_equal(report.at[0].place.col, 18);
    arena_destroy(arena);
}

static void test_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
        uint32_t line;
    } bads[] = {
        { "a=1\nno key\n", "\"no key\" is no key=value", 2 },
        { "a=1\n--b=2\n", "is no key=value", 2 },
        { "a=1\n=2\n", "is no key=value", 2 },
        { "a=1\nb=2\na=3\n", "a is there twice, first in line 1", 3 },
        { "a=\x01\x01\x01\xff\n", "binary", 0 },
    };
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        struct arena *arena = arena_create();
        struct report report;
        parse(arena, bads[i].text, &report);
        assert_int_equal(report.errors, 1);
        if (!strstr(report.at[0].what, bads[i].what))
            fail_msg("%zu: %s", i, report.at[0].what);
        assert_int_equal(report.at[0].place.line, bads[i].line);
        arena_destroy(arena);
    }
}

static void test_like(void **state)
{
    (void)state;
    assert_true(keyvalue_like("a=1", 3));
    assert_true(keyvalue_like("\n\n # x\n a_b-1 = c", 17));
    assert_false(keyvalue_like("a: b=1", 6));
    assert_false(keyvalue_like("1a=b", 4));
    assert_false(keyvalue_like("- a=b", 5));
    assert_false(keyvalue_like("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_places), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_wrong),  cmocka_unit_test(test_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
