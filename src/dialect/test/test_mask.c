/* Secrets disappear from the kept text, everything else stays byte for byte. Places of another text
 * never read past the end. */
#include "dialect/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/detect.h"

#include <string.h>

static const char *const paths[] = { "env.*", "roles.*.env.*",   "list.*.key", "token",
                                     "env.A", "notes.\"a.b/c\"", NULL };
static const struct dialect dialect = { .name = "x", .title = "x", .secrets = paths };
static const char *const credentials[] = { "token", NULL };
static int is_map(const struct text_node *root)
{
    return root && root->kind == TEXT_MAP ? 50 : 0;
}
static const struct dialect open_dialect = { .name = "y", .title = "y" };

static const struct {
    const char *text, *masked;
} rows[] = {
    { "{\"a\": 1, // token\n \"token\": \"s3cret\",\n \"b\": 2}",
      "{\"a\": 1, // token\n \"token\": \"***\",\n \"b\": 2}" },
    { "{\"env\": {\"A\": \"x\", \"B\": 64, \"C\": true}}",
      "{\"env\": {\"A\": \"***\", \"B\": \"***\", \"C\": \"***\"}}" },
    { "{\"env\": \"not a map\", \"list\": [{\"key\": 1, \"x\": 2}, {\"key\": \"\\\"q\"}]}",
      "{\"env\": \"not a map\", \"list\": [{\"key\": \"***\", \"x\": 2}, {\"key\": \"***\"}]}" },
    { "{\"token\": [\"a\", {\"b\": \"c\"}]}", "{\"token\": [\"***\", {\"b\": \"***\"}]}" },
    { "name: a # why\nroles:\n  w:\n    env: {TOKEN: abc, 'N': 'two words'}\n    run: echo abc\n",
      "name: a # why\nroles:\n  w:\n    env: {TOKEN: \"***\", 'N': \"***\"}\n    run: echo abc\n" },
    { "env:\n  A: plain text # not this\n  B: 12\nname: x\n",
      "env:\n  A: \"***\" # not this\n  B: \"***\"\nname: x\n" },
    { "env:\n  A: |\n    one\n    two\nname: x\n", "env:\n  A: \"***\"\nname: x\n" },
    { "{\"notes\": {\"a.b/c\": \"whole\", \"a\": {\"b/c\": \"not\"}}}",
      "{\"notes\": {\"a.b/c\": \"***\", \"a\": {\"b/c\": \"not\"}}}" },
    { "{}", "{}" },
};

static void test_rows(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct report report;
        report_init(&report, arena);
        size_t len = strlen(rows[i].text);
        struct text_node *root = text_parse(arena, rows[i].text, len, &report);
        assert_non_null(root);
        const char *masked = dialect_mask(arena, &dialect, root, rows[i].text, len);
        assert_string_equal(masked, rows[i].masked);
        assert_non_null(text_parse(arena, masked, strlen(masked), &report)); /* still a document */
        assert_true(report_ok(&report));
        assert_string_equal(dialect_mask(arena, &open_dialect, root, rows[i].text, len),
                            rows[i].text);
    }
    arena_destroy(arena);
}

static void test_without_tree(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    assert_string_equal(dialect_mask(arena, &dialect, NULL, "abc", 3), "abc");
    arena_destroy(arena);
}

/* Places that lie (a tree of another text) never read past the text. */
static void test_wrong_places(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct text_node *root = text_map(arena, NULL, NULL);
    text_str(arena, root, "token", "x")->place = (struct place){ 1, 1, 50, 90 };
    assert_string_equal(dialect_mask(arena, &dialect, root, "abc", 3), "abc");
    arena_destroy(arena);
}

/* Only what nobody reads again; and nothing of a text that no dialect knows. */
static void test_credentials(void **state)
{
    static const struct dialect ours = { .name = "ours",
                                         .title = "ours",
                                         .detect = is_map,
                                         .secrets = paths,
                                         .credentials = credentials };
    static const struct dialect *const list[] = { &ours };
    const struct dialects all = { .at = list, .n = 1 };
    struct arena *arena = arena_create();
    static const char text[] = "{\"token\": \"t\", \"env\": {\"A\": \"b\"}}";
    static const char *const names[] = { NULL, "ours" };
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(dialect_without_credentials(&all, arena, names[i], text, strlen(text)),
                            "{\"token\": \"***\", \"env\": {\"A\": \"b\"}}");
    assert_string_equal(dialect_without_credentials(&all, arena, "theirs", text, strlen(text)), "");
    assert_string_equal(dialect_without_credentials(&all, arena, NULL, "{token", 6), "");
    assert_string_equal(dialect_without_credentials(&all, arena, NULL, "[1]", 3), "");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_without_tree),
        cmocka_unit_test(test_wrong_places),
        cmocka_unit_test(test_credentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
