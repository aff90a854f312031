/* YAML: the core schema, places, aliases within bounds, the one error of each bad text, and that
 * what is printed reads back. */
#include "text/yaml.h"

#include "text/detect.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct sample s;

static const struct text_node *read_good(const char *src)
{
    sample_parse(&s, yaml_parse, src, strlen(src));
    if (!s.root || s.report.errors)
        fail_msg("%s -> %s", src, s.report.n ? s.report.at[0].what : "NULL");
    return s.root;
}

struct scalar {
    const char *text;
    enum text_kind kind;
};

static void core_schema(void **state)
{
    (void)state;
    static const struct scalar rows[] = {
        { "null", TEXT_NULL },      { "~", TEXT_NULL },
        { "Null", TEXT_NULL },      { "true", TEXT_BOOL },
        { "False", TEXT_BOOL },     { "12", TEXT_INT },
        { "-3", TEXT_INT },         { "+4", TEXT_INT },
        { "007", TEXT_INT },        { "1.5", TEXT_REAL },
        { ".5", TEXT_REAL },        { "1.", TEXT_REAL },
        { "1e3", TEXT_REAL },       { "99999999999999999999", TEXT_REAL },
        { "yes", TEXT_STR },        { "no", TEXT_STR },
        { "on", TEXT_STR },         { "off", TEXT_STR },
        { "0x10", TEXT_STR },       { "0o7", TEXT_STR },
        { "2001-01-01", TEXT_STR }, { "1:30", TEXT_STR },
        { ".inf", TEXT_STR },       { ".nan", TEXT_STR },
        { "1_000", TEXT_STR },      { "-", TEXT_STR },
        { "1e999", TEXT_STR },      { "nULL", TEXT_STR },
        { "'12'", TEXT_STR },       { "\"true\"", TEXT_STR },
        { "!!str 12", TEXT_STR },   { "! 12", TEXT_STR },
        { "!!int '12'", TEXT_INT }, { "!!float 1", TEXT_REAL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char src[64];
        snprintf(src, sizeof src, "k: %s\n", rows[i].text);
        if (strcmp(rows[i].text, "-") == 0)
            snprintf(src, sizeof src, "k: \"-\"\n");
        const struct text_node *n = read_good(src)->first;
        if (n->kind != rows[i].kind)
            fail_msg("%s is %s", rows[i].text, text_kind_word(n->kind));
    }
    assert_int_equal(read_good("k: +4")->first->integer, 4);
    assert_string_equal(read_good("k: 007")->first->str, "007");
    assert_int_equal(read_good("k:\n")->first->kind, TEXT_NULL);
    assert_true(read_good("k: x")->first->plain);
    assert_false(read_good("k: 'x'")->first->plain);
}

static void structure_and_places(void **state)
{
    (void)state;
    static const char src[] =
        "# job\n\xc3\xa9: 1\nroles:\n- name: \"w\xc3\xa9\"   # x\n  cmd: |\n    a\n    b\n- [x, {y: 2}]\r\n8080: z\n";
    const struct text_node *n = read_good(src), *roles = text_get(n, "roles");
    assert_int_equal(n->count, 3);
    assert_int_equal(n->first->place.line, 2);
    assert_int_equal(n->first->place.col, 4);
    assert_int_equal(n->first->place.offset, 10);
    const struct text_node *name = text_get(roles->first, "name"),
                           *cmd = text_get(roles->first, "cmd");
    assert_string_equal(name->str, "w\xc3\xa9");
    assert_int_equal(name->place.line, 4);
    assert_int_equal(name->place.col, 9);
    assert_memory_equal(src + name->place.offset, "\"w\xc3\xa9\"", name->place.len);
    assert_int_equal(name->place.len, 5);
    assert_int_equal(name->key_place.col, 3);
    assert_string_equal(cmd->str, "a\nb\n");
    assert_int_equal(roles->last->place.line, 8);
    const struct text_node *port = text_get(n, "8080");
    assert_string_equal(port->str, "z");
    assert_int_equal(port->key_place.line, 9);
    n = read_good("\xef\xbb\xbf"
                  "k: v");
    assert_string_equal(n->first->key, "k");
    assert_int_equal(n->first->place.offset, 6);
    n = read_good("\xef\xbb\xbf"
                  "k: v\nlast: w\n");
    assert_int_equal(n->first->key_place.col, 1);
    assert_int_equal(n->last->place.offset, 14);
}

static void anchors(void **state)
{
    (void)state;
    const struct text_node *n =
        read_good("a: &x {k: [1, 2]}\nb: *x\nc: &y text\nd: [*y, *y, *x]\n*y : e\n");
    assert_true(text_equal(text_get(n, "a"), text_get(n, "b")));
    assert_string_equal(text_get(n, "b")->key, "b");
    assert_string_equal(text_get(n, "d")->first->str, "text");
    assert_null(text_get(n, "d")->first->key);
    assert_string_equal(text_get(n, "text")->str, "e");
}

static void bad_texts_give_one_error(void **state)
{
    (void)state;
    static const struct bad_text rows[] = {
        { "", 0, 0, "the text is empty" },
        { "# only\n", 0, 0, "nothing but comments" },
        { "---\n...\n", 0, 0, "nothing but comments" },
        { "a: 1\n\tb: 2\n", 2, 1, "a tab is used for indentation" },
        { "a:\n\tb: 2\n", 2, 1, "a tab is used for indentation" },
        { "a: b: c\n", 1, 5, "a \":\" does not fit here" },
        { "a: 1\n b: 2\n", 2, 3, "a \":\" does not fit here" },
        { "a:\n    b: 1\n  c: 2\n", 3, 3, "does not fit the block" },
        { "a: [1, 2\nb: 3\n", 2, 2, "\",\" or \"]\" is missing" },
        { "a: {x: 1\nb: 3\n", 2, 2, "\",\" or \"}\" is missing" },
        { "a: \"x\nb: 1\n", 1, 4, "a quote is never closed" },
        { "a: @x\n", 1, 4, "cannot begin a text" },
        { "a: \"\\q\"\n", 1, 5, "\\ does not fit" },
        { "a: *nope\n", 1, 4, "*nope is not defined above" },
        { "a: &x [*x]\n", 1, 8, "*x contains itself" },
        { "a: !thing 1\n", 1, 4, "tag !thing is not known" },
        { "a: !!int x\n", 1, 4, "this is text, its tag wants a whole number" },
        { "[a]: 1\n", 1, 1, "a key has to be a text" },
        { "? {a: 1}\n: 2\n", 1, 3, "a key has to be a text" },
        { "a: 1\n---\nb: 2\n", 2, 1, "a second document begins here" },
        { "a: \"\\0\"\n", 1, 4, "NUL" },
        { "a: \x01\n", 1, 4, "control character" },
        { "a: \xc3\n", 1, 4, "0xc3 is not valid UTF-8" },
        { "a: 1\nb\nc: 2\n", 2, 1, "a \":\" is missing after this key" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        sample_expect_bad(&s, yaml_parse, &rows[i]);
}

static void duplicates_keep_the_first(void **state)
{
    (void)state;
    static const char src[] = "a: 1\nb:\n  x: 1\n  'x': 2\na: 3\n";
    sample_parse(&s, yaml_parse, src, strlen(src));
    assert_int_equal(s.report.errors, 2);
    assert_string_equal(s.report.at[0].what, "\"x\" is there twice, first in line 3");
    assert_int_equal(s.report.at[1].place.line, 5);
    assert_int_equal(text_get(s.root, "a")->integer, 1);
}

static void lost_indentation_is_one_error(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "name: x\ntaskRoles:\nworker:\ninstances: 1\nname: y\ninstances: 2\n",
        "name: x\ntaskRoles:\n- name: a\ncommands:\n- b: c\nports:\nssh: 1\nports:\n",
        "name: x\nroles:\nworker:\n- a\ncommand: \"b\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sample_parse(&s, yaml_parse, texts[i], strlen(texts[i]));
        assert_int_equal(s.report.errors, 1);
        assert_non_null(strstr(s.report.at[0].what, "indentation of this YAML is lost"));
    }
    read_good("a:\nb:\nc: 1\nd: 2\n"); /* odd, and right */
}

static void bounds(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    for (int i = 0; i < 10000; i++)
        buf_putc(&text, '[');
    sample_parse(&s, yaml_parse, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "more than 64 deep"));

    buf_clear(&text); /* each list has ten of the one before */
    buf_puts(&text, "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for (int i = 1; i < 20; i++) {
        buf_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_addf(&text, "*a%d,", i - 1);
        buf_puts(&text, "]\n");
    }
    sample_parse(&s, yaml_parse, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "more than 1000000 values"));
    assert_null(s.root);

    buf_clear(&text); /* each is one deeper than the one before */
    buf_puts(&text, "a0: &a0 [1]\n");
    for (int i = 1; i < 100; i++)
        buf_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    sample_parse(&s, yaml_parse, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_non_null(strstr(s.report.at[0].what, "too deep in each other"));
}

/* Takes forever when anything is counted from the start for every node. */
static void many_keys(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    for (int i = 0; i < 40000; i++)
        buf_addf(&text, "k%d:\n  - a: some text\n    b: \"quoted\"\n", i);
    buf_puts(&text, "k7: 1\n");
    sample_parse(&s, yaml_parse, text.data, text.len);
    assert_int_equal(s.report.errors, 1);
    assert_int_equal(s.root->count, 40000);
    assert_int_equal(s.root->last->key_place.line, 119998);
    assert_string_equal(s.report.at[0].what, "\"k7\" is there twice, first in line 22");
}

static void several_documents(void **state)
{
    (void)state;
    static const char src[] = "a: 1\n---\n# nothing\n---\nb: 2\n...\n";
    struct arena *a = arena_create();
    struct report r;
    struct text_node **docs = NULL;
    size_t n = 0;
    report_init(&r, a);
    assert_int_equal(yaml_parse_all(a, src, strlen(src), &docs, &n, &r), 0);
    assert_int_equal(n, 2);
    assert_string_equal(docs[1]->first->key, "b");
    assert_int_equal(docs[1]->first->place.line, 5);
    static const char broken[] = "a: &x 1\n---\nb: *x\n"; /* anchors end with their document */
    assert_int_equal(yaml_parse_all(a, broken, strlen(broken), &docs, &n, &r), -1);
    assert_int_equal(n, 2);
    assert_int_equal(r.errors, 1);
    arena_destroy(a);
}

static void documents_are_a_list(void **state)
{
    (void)state;
    static const char *const texts[] = { "a: 1\n---\nb: 2\n", "a: 1\n", "{\"a\": 1}" };
    static const size_t counts[] = { 2, 1, 1 };
    struct arena *a = arena_create();
    for (size_t i = 0; i < 3; i++) {
        struct report r;
        size_t n = 0;
        report_init(&r, a);
        const struct text_node *root = text_parse_documents(a, texts[i], strlen(texts[i]), &n, &r);
        assert_non_null(root);
        assert_int_equal(n, counts[i]);
        assert_int_equal(root->kind, n > 1 ? TEXT_LIST : TEXT_MAP);
        assert_non_null(text_get(n > 1 ? root->first : root, "a"));
        assert_int_equal(n > 1 ? root->count : 2, 2);
    }
    arena_destroy(a);
}

static void prints_for_people(void **state)
{
    (void)state;
    static const char src[] =
        "name: ddp\nroles:\n  - name: worker\n    command: |\n      a\n      b\n"
        "    args:\n      - - x\n        - 12\n      - {}\n    \"on\": \"yes\"\n"
        "    empty: []\nnum: 1.50\nz: null\ntext: \"12\"\n";
    AUTO_BUF struct buf out = BUF_INIT(10000);
    yaml_print(read_good(src), &out);
    assert_string_equal(buf_str(&out), src);
}

static void what_is_printed_reads_back(void **state)
{
    (void)state;
    struct dice dice = { 7 };
    for (int i = 0; i < 1500; i++) {
        struct arena *a = arena_create();
        AUTO_BUF struct buf out = BUF_INIT(4u << 20);
        struct text_node *tree = sample_tree(a, &dice, 5);
        yaml_print(tree, &out);
        sample_parse(&s, yaml_parse, out.data, out.len);
        if (!text_equal(tree, s.root) || s.report.errors)
            fail_msg("tree %d: %s\n%s", i, s.report.n ? s.report.at[0].what : "differs",
                     buf_str(&out));
        arena_destroy(a);
    }
}

static void long_keys_and_bad_bytes_print(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(100000);
    char key[3000];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    struct text_node *n = text_map(a, NULL, NULL), *inner = text_map(a, n, "m");
    text_int(a, inner, key, 1);
    text_list(a, text_map(a, inner, "x"), key);
    text_str(a, inner, "bad", "a\xff");
    yaml_print(n, &out);
    const struct text_node *back = text_get(read_good(buf_str(&out)), "m");
    assert_int_equal(text_get(back, key)->integer, 1);
    assert_int_equal(text_get(text_get(back, "x"), key)->kind, TEXT_LIST);
    assert_string_equal(text_get(back, "bad")->str, "a\xef\xbf\xbd");
    arena_destroy(a);
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
        cmocka_unit_test(core_schema),
        cmocka_unit_test(structure_and_places),
        cmocka_unit_test(anchors),
        cmocka_unit_test(bad_texts_give_one_error),
        cmocka_unit_test(duplicates_keep_the_first),
        cmocka_unit_test(lost_indentation_is_one_error),
        cmocka_unit_test(bounds),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(several_documents),
        cmocka_unit_test(documents_are_a_list),
        cmocka_unit_test(prints_for_people),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(long_keys_and_bad_bytes_print),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
