/* Declarations of the catalogue: which documents are some, text and back, all that is wrong with
 * one, names that are found and names that are near. Queues with their shares in both notations. */
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

static void queues_text_and_back(void **state)
{
    static const char *const forms[] = {
        "{\"kind\":\"quota\",\"name\":\"q\",\"parent\":\"p\",\"guaranteed\":\"12.5%\",\"maximum\":{"
        "\"all\":\"50%\",\"cpu\":1.5,\"memory\":\"64Gi\",\"gpu\":\"0%\"},\"user\":{\"gpu\":0},"
        "\"strategy\":\"balance\",\"weight\":3,\"reclaim\":false}",
        "{\"kind\":\"quota\",\"name\":\"q\",\"cells\":{\"rack\":2,\"node\":1}}",
        "{\"kind\":\"workspace\",\"name\":\"w\",\"queue\":\"q\"}",
        "{\"kind\":\"quota\",\"name\":\"q\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        AUTO_BUF struct buf out = BUF_INIT(1 << 16);
        struct catalogue *c = catalogue_create();
        struct read r;
        if (read_text(&r, forms[i]))
            fail_msg("%s", r.report.at[0].what);
        catalogue_put(c, &r.at[0]);
        struct catalogue *copy = catalogue_copy(c);
        catalogue_destroy(c); /* the copy stands by itself */
        json_print(entry_encode(r.arena, NULL, catalogue_find(copy, r.at[0].kind, r.at[0].name)), 0,
                   &out);
        assert_string_equal(buf_str(&out), forms[i]);
        catalogue_destroy(copy);
        arena_destroy(r.arena);
    }
}

static void capacity_is_another_word(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    struct read r;
    (void)state;
    assert_int_equal(read_text(&r, "kind: virtual_cluster\nname: v\ncapacity: 40\n"
                                   "maxCapacity: 62.5%\nstrategy: round-robin\n"),
                     0);
    assert_true(r.at[0].guaranteed.all.percent && r.at[0].guaranteed.all.value == 40000);
    json_print(entry_encode(r.arena, NULL, &r.at[0]), 0, &out);
    assert_string_equal(buf_str(&out),
                        "{\"kind\":\"virtual_cluster\",\"name\":\"v\",\"guaranteed\":\"40%\","
                        "\"maximum\":\"62.5%\",\"strategy\":\"round_robin\"}");
    arena_destroy(r.arena);
}

static void portions_are_parts(void **state)
{
    const struct portion half = { .value = 50000, .percent = true, .given = true };
    const struct portion third = { .value = 33333, .percent = true, .given = true };
    const struct portion eight = { .value = 8000, .given = true };
    const struct portions p = { .all = half, .gpu = eight };
    (void)state;
    assert_int_equal(portion_of(&half, 7000), 3500);
    assert_int_equal(portion_of(&third, 8000), 2666); /* never more than is said */
    assert_int_equal(portion_of(&eight, 4000), 8000);
    assert_true(portion_of(&half, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(portion_of(&half, UINT64_MAX - 1), UINT64_MAX / 2);
    assert_int_equal(portion_or_all(&p.gpu, &p).value, 8000);
    assert_true(portion_or_all(&p.cpu, &p).percent);
}

static void queues_that_cannot_be(void **state)
{
    static const struct {
        const char *text, *what, *hint;
    } cases[] = {
        { "guaranteed: 8", "guaranteed is no percentage", "40%" },
        { "guaranteed: 101%", "guaranteed is 101%, a percentage is from 0% to 100%", "12.5%" },
        { "guaranteed: \"%\"", "a percentage is from 0% to 100%", "" },
        { "guaranteed: 100m%", "a percentage is from 0% to 100%", "" },
        { "guaranteed: {gpu: -1}", "guaranteed.gpu is -1, the least is 0", "0 or more" },
        { "guaranteed: {gpu: 1.2345}", "guaranteed.gpu is 1.2345, not a number", "" },
        { "guaranteed: {gpu: .nan}", "guaranteed.gpu is", "" },
        { "guaranteed: {cpu: nan}", "guaranteed.cpu is \"nan\", not a number", "" },
        { "guaranteed: {memory: 1.5}", "guaranteed.memory is 1.5, not a size", "" },
        { "maximum: {cores: 1}", "unknown field \"cores\" in maximum", "" },
        { "weight: 1.5", "weight is 1.5, not a whole number", "" },
        { "weight: 0", "weight is 0, the least is 1", "" },
        { "reclaim: 1", "reclaim is 1, not true or false", "" },
        { "strategy: fif", "strategy is \"fif\", not backfill", "fifo" },
        { "cells: {node: 1.5}", "cells of node: only whole ones can be guaranteed", "whole" },
        { "cells: {node: 1}\nguaranteed: 5%", "cells and guaranteed say the same", "one" },
        { "user_cpu: 1\nuser: {cpu: 2}", "user_cpu and user.cpu say the same", "one" },
        { "capacity: 40", "unknown field \"capacity\"", "" },
        { "queue: x", "unknown field \"queue\"", "" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[200];
        struct read r;
        snprintf(text, sizeof text, "kind: quota\nname: q\n%s\n", cases[i].text);
        assert_int_equal(read_text(&r, text), -1);
        assert_int_equal(r.report.errors, 1);
        if (!strstr(r.report.at[0].what, cases[i].what) ||
            !strstr(r.report.at[0].hint, cases[i].hint))
            fail_msg("%s: %s (%s)", cases[i].text, r.report.at[0].what, r.report.at[0].hint);
        arena_destroy(r.arena);
    }
}

static void queues_of_a_settings_file(void **state)
{
    struct read r;
    struct entry *at;
    size_t n;
    (void)state;
    read_text(&r, "- plain\n- {name: a, weight: 2}\n- 7\n- {kind: virtual-cluster, name: b}\n");
    const struct text_node *list = r.root;
    r.report.errors = r.report.n = 0;
    assert_int_equal(entries_decode_queues(r.arena, list, &at, &n, &r.report), 0);
    assert_int_equal(n, 4);
    assert_true(at[0].kind == ENTRY_QUOTA && strcmp(at[0].name, "plain") == 0);
    assert_true(at[1].weight == 2 && strcmp(at[2].name, "7") == 0);
    assert_int_equal(at[3].kind, ENTRY_VIRTUAL_CLUSTER);
    arena_destroy(r.arena);
    read_text(&r, "- {kind: image, name: i, uri: u}\n- a\n- a\n");
    list = r.root;
    r.report.errors = r.report.n = 0;
    assert_int_equal(entries_decode_queues(r.arena, list, &at, &n, &r.report), -1);
    assert_string_equal(r.report.at[0].what, "image \"i\" is no queue");
    assert_string_equal(r.report.at[1].what, "quota \"a\" is declared twice");
    arena_destroy(r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_words),
        cmocka_unit_test(only_declarations_are_known),
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(all_that_is_wrong),
        cmocka_unit_test(found_near_and_listed),
        cmocka_unit_test(queues_text_and_back),
        cmocka_unit_test(capacity_is_another_word),
        cmocka_unit_test(portions_are_parts),
        cmocka_unit_test(queues_that_cannot_be),
        cmocka_unit_test(queues_of_a_settings_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
