#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/catalogue.h"
#include "text/detect.h"
#include "text/json.h"

#include <string.h>

struct read {
    struct arena *arena;
    struct report report;
    struct text_node *root;
    struct entry *at;
    size_t n;
};

static int read_text(struct read *r, const char *text)
{
    size_t documents;
    r->arena = arena_create();
    report_init(&r->report, r->arena);
    r->root = text_parse_documents(r->arena, text, strlen(text), &documents, &r->report);
    assert_non_null(r->root);
    return entries_decode(r->arena, r->root, &r->at, &r->n, &r->report);
}

static void kinds_have_words(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENTRY_KIND_N; i++) {
        enum entry_kind kind = (enum entry_kind)i, found;
        assert_true(entry_kind_parse(entry_word(kind), &found));
        assert_int_equal(found, kind);
        assert_true(entry_kind_parse(entry_plural(kind), &found));
        assert_int_equal(found, kind);
    }
    enum entry_kind kind;
    assert_true(entry_kind_parse("code-sources", &kind) && kind == ENTRY_CODE_SOURCE);
    assert_true(entry_kind_parse("instancetype", &kind) && kind == ENTRY_INSTANCE_TYPE);
    assert_false(entry_kind_parse("", &kind));
    assert_false(entry_kind_parse("data", &kind));
    assert_false(entry_kind_parse("datasetss", &kind));
}

static void only_declarations_are_known(void **state)
{
    static const struct {
        const char *text;
        bool ours;
    } cases[] = {
        { "kind: dataset\nname: x\n", true },
        { "kind: dataset\nname: x\n---\nkind: quota\nname: q\n", true },
        { "[{\"kind\": \"image\"}]", true },
        { "kind: dataset\nname: x\n---\nname: j\nrun: 'true'\n", false },
        { "kind: ElasticJob\napiVersion: elastic.iml.github.io/v1alpha1\n", false },
        { "kind: workspace\napiVersion: v1\n", false },
        { "kind=quota\nname=q\n", false },
        { "[]", false },
        { "name: j\nrun: 'true'\n", false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct read r;
        read_text(&r, cases[i].text);
        assert_int_equal(entries_detect(r.root), cases[i].ours);
        arena_destroy(r.arena);
    }
    assert_false(entries_detect(NULL));
}

static void text_and_back(void **state)
{
    AUTO_BUF struct buf one = BUF_INIT(1 << 16), two = BUF_INIT(1 << 16);
    struct read r, again;
    (void)state;
    assert_int_equal(read_text(&r, "kind: instance-type\nname: big\ncpu: 1.5\nmemory: 3Gi\ngpu: 2\n"
                                   "gpu_type: A100\n"),
                     0);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.at[0].kind, ENTRY_INSTANCE_TYPE);
    assert_true(r.at[0].cpu_milli == 1500 && r.at[0].memory == 3ull << 30);
    assert_true(r.at[0].gpu_milli == 2000);
    json_print(entry_encode(r.arena, NULL, &r.at[0]), 0, &one);
    assert_int_equal(read_text(&again, buf_str(&one)), 0);
    json_print(entry_encode(again.arena, NULL, &again.at[0]), 0, &two);
    assert_string_equal(buf_str(&one), buf_str(&two));
    arena_destroy(r.arena);
    arena_destroy(again.arena);
}

static void all_that_is_wrong(void **state)
{
    struct read r;
    (void)state;
    assert_int_equal(read_text(&r,
                               "kind: dataset\nname: a/b\nuri: /x\n---\nkind: dataset\nname: x\n"
                               "uri: /d\npath: mnt\n---\nkind: quota\nname: q\nuri: /x\n---\n"
                               "kind: quota\nname: r\n---\nkind: quota\nname: r\n"),
                     -1);
    assert_int_equal(r.report.errors, 4);
    assert_non_null(strstr(r.report.at[1].hint, "/mnt"));
    arena_destroy(r.arena);
}

static void found_near_and_listed(void **state)
{
    struct catalogue *c = catalogue_create();
    struct arena *arena = arena_create();
    struct pairs labels = { .at = NULL };
    char name[] = "d-digits";
    size_t n;
    (void)state;
    pairs_set(&labels, arena, "a", "b");
    catalogue_put(c, &(struct entry){ .kind = ENTRY_DATASET, .name = name, .uri = "/d" });
    catalogue_put(c, &(struct entry){ .kind = ENTRY_DATASET, .name = "a", .labels = labels });
    catalogue_put(c, &(struct entry){ .kind = ENTRY_IMAGE, .name = "d-digits" });
    memset(name, 'x', sizeof name - 1);
    assert_string_equal(catalogue_find(c, ENTRY_DATASET, "d-digits")->uri, "/d");
    assert_null(catalogue_find(c, ENTRY_QUOTA, "d-digits"));
    assert_null(catalogue_find(NULL, ENTRY_QUOTA, "q"));
    assert_string_equal(catalogue_near(c, ENTRY_DATASET, "d-digit"), "d-digits");
    assert_null(catalogue_near(c, ENTRY_DATASET, "something else"));
    const struct entry **at = catalogue_list(c, arena, ENTRY_DATASET, &n);
    assert_int_equal(n, 2);
    assert_string_equal(at[0]->name, "a");
    assert_string_equal(pairs_get(&at[0]->labels, "a"), "b");
    catalogue_put(c, &(struct entry){ .kind = ENTRY_DATASET, .name = "a", .uri = "/new" });
    assert_string_equal(catalogue_find(c, ENTRY_DATASET, "a")->uri, "/new");
    catalogue_list(c, arena, ENTRY_DATASET, &n);
    assert_int_equal(n, 2);
    catalogue_list(NULL, arena, ENTRY_DATASET, &n);
    assert_int_equal(n, 0);
    catalogue_destroy(c);
    catalogue_destroy(NULL);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_words),      cmocka_unit_test(only_declarations_are_known),
        cmocka_unit_test(text_and_back),         cmocka_unit_test(all_that_is_wrong),
        cmocka_unit_test(found_near_and_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
