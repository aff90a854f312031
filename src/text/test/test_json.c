/* JSON: what is read, where it stands, the one error of each bad text, and that what is printed
 * reads back. */
#include "text/json.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct sample s;

static struct text_node *lenient(struct arena *a, const char *src, size_t len, struct report *r)
{
    return json_parse(a, src, len, JSON_COMMENTS, r);
}

static struct text_node *strict(struct arena *a, const char *src, size_t len, struct report *r)
{
    return json_parse(a, src, len, 0, r);
}

static const struct text_node *read_good(const char *src)
{
    sample_parse(&s, lenient, src, strlen(src));
    if (!s.root || s.report.errors)
        fail_msg("%s -> %s", src, s.report.n ? s.report.at[0].what : "NULL");
    return s.root;
}

static void kinds_and_values(void **state)
{
    (void)state;
    const struct text_node *n = read_good(
        "{\"null\": null, \"t\": true, \"f\": false, \"i\": -12, \"big\": 9223372036854775807,"
        "\"bigger\": 9223372036854775808, \"r\": 1.50, \"s\": \"x\", \"l\": [1, [], {}], \"m\": {\"k\": 1}}");
    assert_int_equal(n->kind, TEXT_MAP);
    assert_int_equal(n->count, 10);
    assert_int_equal(text_get(n, "null")->kind, TEXT_NULL);
    assert_true(text_get(n, "t")->boolean);
    assert_string_equal(text_get(n, "f")->str, "false");
    assert_int_equal(text_get(n, "i")->integer, -12);
    assert_string_equal(text_get(n, "i")->str, "-12");
    assert_true(text_get(n, "big")->integer == INT64_MAX);
    assert_int_equal(text_get(n, "bigger")->kind, TEXT_REAL);
    assert_string_equal(text_get(n, "r")->str, "1.50");
    assert_string_equal(text_get(n, "s")->str, "x");
    assert_int_equal(text_get(n, "l")->count, 3);
    assert_int_equal(text_get(n, "l")->last->kind, TEXT_MAP);
    assert_int_equal(text_get(text_get(n, "m"), "k")->integer, 1);
    assert_null(text_get(n, "K"));
    assert_null(text_get(text_get(n, "l"), "k"));
}

static void places_are_right(void **state)
{
    (void)state;
    static const char src[] =
        "// \xc3\xa9\n{ \"\xc3\xa9\xe6\xbc\xa2\": 64, /* a\n b */ \"k\":\r\n\t[true, \"x\\ny\"] }";
    const struct text_node *n = read_good(src), *first = n->first, *list = first->next,
                           *text = list->last;
    assert_int_equal(n->place.line, 2);
    assert_int_equal(n->place.col, 1);
    assert_int_equal(first->key_place.col, 3);
    assert_int_equal(first->key_place.len, 7);
    assert_int_equal(first->place.col, 9);
    assert_memory_equal(src + first->place.offset, "64", 2);
    assert_int_equal(list->key_place.line, 3);
    assert_int_equal(list->key_place.col, 7);
    assert_int_equal(list->place.line, 4);
    assert_int_equal(list->place.col, 2);
    assert_int_equal(text->place.col, 9);
    assert_int_equal(text->place.len, strlen("\"x\\ny\""));
    assert_memory_equal(src + text->place.offset, "\"x\\ny\"", text->place.len);
}

static void escapes(void **state)
{
    (void)state;
    const struct text_node *n = read_good(
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u00e9\\u6f22\\ud83d\\ude00\", \"a\\u0041\", \"\\uFFFF\"]");
    assert_string_equal(n->first->str, "\"\\/\b\f\n\r\t");
    assert_string_equal(n->first->next->str, "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
    assert_string_equal(n->first->next->next->str, "aA");
    assert_string_equal(n->last->str, "\xef\xbf\xbf");
    n = read_good("{\"\\u0061b\": 1}");
    assert_string_equal(n->first->key, "ab");
}

static void comments_and_trailing_commas(void **state)
{
    (void)state;
    const struct text_node *n =
        read_good("/**/ // x\n{ // \"no\": 1\n\"a\": /* { */ [1, 2, /* 3 */ ], // end\n} // last");
    assert_int_equal(n->count, 1);
    assert_int_equal(n->first->count, 2);
    static const struct bad_text rows[] = {
        { "[1, 2,]", 1, 6, "a comma before \"]\"" },
        { "[1] // x", 1, 5, "comments are not allowed here" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        sample_expect_bad(&s, strict, &rows[i]);
    read_good("\xef\xbb\xbf{}");
}

static void bad_texts_give_one_error(void **state)
{
    (void)state;
    static const struct bad_text rows[] = {
        { "", 0, 0, "the text is empty" },
        { " \n\t ", 0, 0, "the text is blank" },
        { "// only\n", 2, 1, "ends where a value belongs" },
        { "{", 1, 1, "\"{\" is never closed" },
        { "{\n \"a\": [\n  1,\n", 4, 1, "ends where a value belongs" },
        { "{\n \"a\": [\n  1\n", 2, 7, "\"[\" is never closed" },
        { "{\"a\": 1", 1, 1, "\"{\" is never closed" },
        { "{\"a\"", 1, 1, "\"{\" is never closed" },
        { "{\"a\" 1}", 1, 6, "a colon is missing" },
        { "{\"a\": 1\n \"b\": 2}", 1, 8, "\",\" or \"}\" is missing" },
        { "[1 2]", 1, 4, "\",\" or \"]\" is missing" },
        { "[1}", 1, 3, "\",\" or \"]\" is missing" },
        { "{a: 1}", 1, 2, "a key without quotes" },
        { "{1: 1}", 1, 2, "a key without quotes" },
        { "{,}", 1, 2, "a key is missing" },
        { "[,]", 1, 2, "a value is missing before \",\"" },
        { "{\"a\":}", 1, 6, "a value is missing before \"}\"" },
        { "{'a': 1}", 1, 2, "a key is missing" },
        { "['a']", 1, 2, "single quotes" },
        { "[True]", 1, 2, "True is not a value" },
        { "[nul]", 1, 2, "nul is not a value" },
        { "[+1]", 1, 2, "\"+\" does not begin one" },
        { "[\xc3\xa9]", 1, 2, "\xc3\xa9" },
        { "[01]", 1, 2, "begins with 0" },
        { "[-]", 1, 2, "digits are missing" },
        { "[1.]", 1, 2, "ends without digits" },
        { "[1e+]", 1, 2, "ends without digits" },
        { "[.5]", 1, 2, "\".\" does not begin one" },
        { "[1e999]", 1, 2, "out of range" },
        { "[0x10]", 1, 3, "\",\" or \"]\" is missing" },
        { "[\"abc", 1, 2, "no closing quote" },
        { "[\"abc\n\"]", 1, 2, "no closing quote" },
        { "[\"abc\\", 1, 2, "no closing quote" },
        { "[\"a\tb\"]", 1, 4, "control character 0x09" },
        { "[\"\\x\"]", 1, 3, "\\ does not fit" },
        { "[\"\\u12g4\"]", 1, 3, "four hexadecimal digits" },
        { "[\"\\u0000\"]", 1, 3, "NUL" },
        { "[\"a\\ud800\"]", 1, 4, "lone surrogate" },
        { "[\"\\udc00\\ud800\"]", 1, 3, "lone surrogate" },
        { "[\"\\ud800\\u0041\"]", 1, 3, "lone surrogate" },
        { "[1] /* x", 1, 5, "never ends" },
        { "{ /* x", 1, 3, "never ends" },
        { "{\"a\": /", 1, 7, "\"/\" does not fit" },
        { "{} {}", 1, 4, "goes on after its end" },
        { "[1]\n\n  x", 3, 3, "goes on after its end" },
        { "[\"\xff\"]", 1, 3, "0xff is not valid UTF-8" },
        { "\xff\xfe{\n", 0, 0, "UTF-16" },
        { "\x1f\x8b\x08\x01zzzzz", 0, 0, "a gzip archive" },
        { "\x01\x02\x03\x04\xff\xff", 0, 0, "a binary file" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        sample_expect_bad(&s, lenient, &rows[i]);
    sample_parse(&s, lenient, "[\"a\0b\"]", 7);
    assert_int_equal(s.report.errors, 1);
    assert_string_equal(s.report.at[0].what, "a NUL byte is in the text");
    assert_int_equal(s.report.at[0].place.col, 4);
    sample_parse(&s, lenient, "", 0);
    assert_int_equal(s.report.errors, 1);
}

static void fixes_are_offered(void **state)
{
    (void)state;
    static const char src[] = "{\"a\": 1\n \"b\": 2}";
    sample_parse(&s, lenient, src, strlen(src));
    const struct problem *p = &s.report.at[0];
    assert_string_equal(p->fix, ",");
    assert_int_equal(p->place.len, 0);
    assert_int_equal(p->place.offset, 7);
}

static void duplicate_keys_keep_the_first(void **state)
{
    (void)state;
    static const char src[] = "{\"a\": 1, \"b\": {\"x\": 1, \"x\": 2},\n \"\\u0061\": 3, \"a\": 4}";
    sample_parse(&s, lenient, src, strlen(src));
    assert_int_equal(s.report.errors, 3);
    assert_string_equal(s.report.at[0].what, "\"x\" is there twice, first in line 1");
    assert_int_equal(s.report.at[1].place.line, 2);
    assert_int_equal(s.report.at[1].place.col, 2);
    assert_int_equal(s.root->count, 2);
    assert_int_equal(text_get(s.root, "a")->integer, 1);
}

static void many_keys(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    buf_putc(&text, '{');
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "\"key-%d\": %d,\n", i, i);
    buf_puts(&text, "\"key-77777\": 1, \"key-3\": 1}");
    sample_parse(&s, lenient, text.data, text.len);
    assert_int_equal(s.report.errors, 2);
    assert_int_equal(s.root->count, 100000);
    assert_string_equal(s.report.at[0].what, "\"key-77777\" is there twice, first in line 77778");
    assert_int_equal(text_get(s.root, "key-99999")->integer, 99999);
}

static void repeat(struct buf *b, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_puts(b, text);
}

static void bounds(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(200u << 20);
    repeat(&text, "[", TEXT_MAX_DEPTH);
    repeat(&text, "]", TEXT_MAX_DEPTH);
    sample_parse(&s, lenient, text.data, text.len);
    assert_non_null(s.root);

    buf_clear(&text);
    repeat(&text, "[", 10000);
    sample_parse(&s, lenient, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "more than 64 deep"));
    assert_int_equal(s.report.at[0].place.col, 65);

    buf_clear(&text);
    buf_putc(&text, '[');
    repeat(&text, "1,", TEXT_MAX_NODES + 5);
    buf_puts(&text, "1]");
    sample_parse(&s, lenient, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "more than 1000000 values"));

    buf_clear(&text);
    repeat(&text, "          ", 10000001);
    sample_parse(&s, lenient, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_string_equal(s.report.at[0].what, "the text has 100000010 bytes, the most is 4194304");
}

/* What the server says of its largest job has more bytes and values than a text may have that comes
 * from outside. */
static void answers(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(200u << 20);
    struct arena *arena = arena_create();
    struct report report;
    report_init(&report, arena);
    buf_putc(&text, '[');
    repeat(&text, "12345,", TEXT_MAX_NODES + 5);
    buf_puts(&text, "1]");
    const struct text_node *root = json_parse(arena, text.data, text.len, JSON_ANSWER, &report);
    assert_non_null(root);
    assert_int_equal(root->count, TEXT_MAX_NODES + 6);
    arena_destroy(arena);
}

static void prints_both_shapes(void **state)
{
    (void)state;
    const struct text_node *n = read_good(
        "{\"a\":[1,2.50,{}],\"b\":{\"c\":null,\"d\":[]},\"e\\n\":\"\\u0001\xc3\xa9\\/\"}");
    AUTO_BUF struct buf out = BUF_INIT(10000);
    json_print(n, 0, &out);
    assert_string_equal(
        buf_str(&out),
        "{\"a\":[1,2.50,{}],\"b\":{\"c\":null,\"d\":[]},\"e\\n\":\"\\u0001\xc3\xa9/\"}");
    buf_clear(&out);
    json_print(n, 2, &out);
    assert_string_equal(
        buf_str(&out),
        "{\n  \"a\": [\n    1,\n    2.50,\n    {}\n  ],\n  \"b\": {\n    \"c\": null,\n"
        "    \"d\": []\n  },\n  \"e\\n\": \"\\u0001\xc3\xa9/\"\n}");
}

/* Elements put into the gaps, from the last on, make the document with its lists filled. */
static void prints_with_gaps(void **state)
{
    (void)state;
    const struct text_node *n =
        read_good("{\"a\":[],\"b\":{\"none\":[],\"c\":[]},\"d\":[1],\"e\":[]}");
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct json_gap gaps[] = { { .list = text_get(n, "e") },
                               { .list = NULL }, /* of another document */
                               { .list = text_get(text_get(n, "b"), "c") },
                               { .list = text_get(n, "a") } };
    json_print_gaps(n, gaps, ARRAY_LEN(gaps), &out);
    const char *plain = "{\"a\":[],\"b\":{\"none\":[],\"c\":[]},\"d\":[1],\"e\":[]}";
    assert_string_equal(buf_str(&out), plain);
    assert_ptr_equal(gaps[0].list, text_get(n, "a"));
    assert_ptr_equal(gaps[1].list, text_get(text_get(n, "b"), "c"));
    assert_ptr_equal(gaps[2].list, text_get(n, "e"));
    assert_true(gaps[3].at == SIZE_MAX);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(plain[gaps[i].at - 1], '[');
        assert_int_equal(plain[gaps[i].at], ']');
    }
}

static void prints_what_is_no_utf8(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct text_node *n = text_list(a, NULL, NULL);
    text_str(a, n, NULL, "a\xff\xc3z\xed\xa0\x80");
    text_real(a, n, NULL, 0.1);
    text_real(a, n, NULL, 1e22);
    text_real(a, n, NULL, -3.0);
    json_print(n, 0, &out);
    assert_string_equal(
        buf_str(&out),
        "[\"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",0.1,1e+22,-3.0]");
    arena_destroy(a);
}

static void what_is_printed_reads_back(void **state)
{
    (void)state;
    struct dice dice = { 1 };
    for (int i = 0; i < 1500; i++) {
        struct arena *a = arena_create();
        AUTO_BUF struct buf out = BUF_INIT(4u << 20);
        struct text_node *tree = sample_tree(a, &dice, 5);
        json_print(tree, i % 3, &out);
        sample_parse(&s, strict, out.data, out.len);
        if (!text_equal(tree, s.root) || s.report.errors)
            fail_msg("tree %d: %s\n%s", i, s.report.n ? s.report.at[0].what : "differs",
                     buf_str(&out));
        struct text_node *copy = text_copy(a, NULL, NULL, s.root);
        assert_true(text_equal(copy, tree));
        arena_destroy(a);
    }
}

/* ---- some members ---- */

static const char *const wanted[] = { "a", "metadata", "z", NULL };

/* What was picked, printed; "-": parse it. */
static const char *picked(struct arena *a, const char *src)
{
    const struct text_node *map = json_pick(a, &(struct json_span){ src, strlen(src) }, wanted);
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    if (!map)
        return "-";
    json_print(map, 0, &out);
    return arena_strdup(a, buf_str(&out));
}

static void members_are_picked(void **state)
{
    static const char *const rows[][2] = {
        { "{}", "{}" },
        { " \n{\"b\":1}", "{}" },
        { "{\"z\":1,\"b\":{\"a\":2},\"a\":[\"}\",{\"z\":3}]}",
          "{\"a\":[\"}\",{\"z\":3}],\"z\":1}" },
        { "{\"b\":\"\\\"a\\\\\",\"metadata\" : \"\\\"{\" , \"a\":-1.50}",
          "{\"a\":-1.50,\"metadata\":\"\\\"{\"}" },
        { "{\"a\": true ,\"a\":2,}", "{\"a\":true}" },
        { "{\"meta\":1,\"metadatas\":2,\"z\":null}", "{\"z\":null}" },
        { "{\"b\":[1, // two\n2],\"a\":1}", "-" },
        { "{\"\\u0061\":1}", "-" },
        { "[{\"a\":1}]", "-" },
        { "a: 1", "-" },
        { "", "-" },
        { "{\"b\":\"", "-" },
        { "{\"b\":[", "-" },
        { "{\"b\"", "-" },
        { "{\"b\" 1}", "-" },
        { "{\"b\":1]", "-" },
        { "{\"a\":tru}", "-" },
    };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(picked(a, rows[i][0]), rows[i][1]);
    arena_destroy(a);
}

/* Of any map: each member as it is in the whole tree. */
static void picked_is_what_is_parsed(void **state)
{
    static const char *const others[] = { "b", "meta", "zz" };
    struct dice dice = { 7 };
    (void)state;
    for (int i = 0; i < 500; i++) {
        struct arena *a = arena_create();
        AUTO_BUF struct buf out = BUF_INIT(4u << 20);
        struct text_node *root = text_map(a, NULL, NULL);
        for (size_t k = 0; wanted[k]; k++) {
            text_share(a, root, others[k], sample_tree(a, &dice, 4));
            text_share(a, root, wanted[k], sample_tree(a, &dice, 4));
        }
        json_print(root, i % 3, &out);
        struct text_node *map = json_pick(a, &(struct json_span){ out.data, out.len }, wanted);
        assert_non_null(map);
        for (size_t k = 0; wanted[k]; k++)
            assert_true(text_equal(text_get(map, wanted[k]), text_get(root, wanted[k])));
        arena_destroy(a);
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
        cmocka_unit_test(kinds_and_values),
        cmocka_unit_test(places_are_right),
        cmocka_unit_test(escapes),
        cmocka_unit_test(comments_and_trailing_commas),
        cmocka_unit_test(bad_texts_give_one_error),
        cmocka_unit_test(fixes_are_offered),
        cmocka_unit_test(duplicate_keys_keep_the_first),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(bounds),
        cmocka_unit_test(answers),
        cmocka_unit_test(prints_both_shapes),
        cmocka_unit_test(prints_with_gaps),
        cmocka_unit_test(prints_what_is_no_utf8),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(members_are_picked),
        cmocka_unit_test(picked_is_what_is_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
