/* Selectors, patches, tables, shapes and labels without a server: what kubectl relies on, by
 * example. RFC 7386 and 6902 are followed example by example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/k8s/patch.h"
#include "api/k8s/selector.h"
#include "api/k8s/shape.h"
#include "api/k8s/table.h"
#include "api/test/trees.h"

#include <stdio.h>

/* ---- selectors ---- */

static const char object[] = "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\",\"n\":\"5\"}},"
                             "\"status\":{\"phase\":\"Running\"},\"type\":\"Warning\"}";

static bool fits(struct fix *f, const char *labels, const char *fields)
{
    struct selector s;
    struct err err;
    if (selector_parse(f->arena, labels, fields, &s, &err))
        fail_msg("%s / %s: %s", labels, fields, err.what);
    return selector_fits(&s, tree(f, object));
}

static void labels(void **state)
{
    static const struct {
        const char *text;
        bool fits;
    } rows[] = {
        { "", true },
        { "a=b", true },
        { "a==b", true },
        { "a=c", false },
        { "a!=c", true },
        { "a!=b", false },
        { "z!=b", true },
        { "a", true },
        { "z", false },
        { "!z", true },
        { "!a", false },
        { "a in (x, b)", true },
        { "a in (x)", false },
        { "a notin (x)", true },
        { "z notin (x)", true },
        { "a=b,n=5", true },
        { "a=b, n=6", false },
        { "a notin (b),n", false },
        { "a in (b),!z", true },
        { "a=", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (fits(*state, rows[i].text, NULL) != rows[i].fits)
            fail_msg("%s", rows[i].text);
}

static void fields(void **state)
{
    assert_true(fits(*state, NULL, "metadata.name=x"));
    assert_true(fits(*state, NULL, "metadata.name==x,type!=Normal"));
    assert_false(fits(*state, NULL, "metadata.name=y"));
    assert_true(fits(*state, NULL, "status.phase=Running,metadata.name!=y"));
    assert_true(fits(*state, NULL, "spec.nodeName=")); /* what is not there is empty */
    assert_false(fits(*state, "a=c", "metadata.name=x"));
}

static void no_selectors(void **state)
{
    static const char *const bad_labels[] = { "a in b", "a in (b", "=b", "a=b,,c", "a=b c", "!" };
    static const char *const bad_fields[] = { "a", "a=b,c", "=x", "!" };
    struct fix *f = *state;
    struct selector s;
    struct err err;
    for (size_t i = 0; i < sizeof bad_labels / sizeof bad_labels[0]; i++)
        if (selector_parse(f->arena, bad_labels[i], NULL, &s, &err) == 0)
            fail_msg("%s is taken", bad_labels[i]);
    for (size_t i = 0; i < sizeof bad_fields / sizeof bad_fields[0]; i++)
        if (selector_parse(f->arena, NULL, bad_fields[i], &s, &err) == 0)
            fail_msg("%s is taken", bad_fields[i]);
}

static void field_of(void **state)
{
    struct fix *f = *state;
    struct selector s;
    assert_int_equal(selector_parse(f->arena, NULL, "type!=a,metadata.name=b\\,c", &s, NULL), 0);
    assert_string_equal(selector_field(&s, "metadata.name"), "b,c");
    assert_null(selector_field(&s, "type"));
}

/* ---- patches ---- */

static void merges(void **state)
{
    static const char *const rows[][3] = {
        /* the examples of RFC 7386 */
        { "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
        { "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
        { "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
        { "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
        { "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
        { "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
        { "{\"a\":\"foo\"}", "[\"c\"]", "[\"c\"]" },
        { "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
        { "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
        { "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
    };
    struct fix *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is(f, kube_merge(f->arena, tree(f, rows[i][0]), tree(f, rows[i][1])), rows[i][2]);
}

static void json_patches(void **state)
{
    static const char *const rows[][3] = {
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}" },
        { "{\"a\":[1,3]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":2}]", "{\"a\":[1,2,3]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/-\",\"value\":2}]", "{\"a\":[1,2]}" },
        { "{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/0\"}]", "{\"a\":[2]}" },
        { "{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":9}]",
          "{\"a\":[1,9]}" },
        { "{\"a/b\":1,\"c~d\":2}",
          "[{\"op\":\"remove\",\"path\":\"/a~1b\"},{\"op\":\"replace\",\"path\":\"/c~0d\","
          "\"value\":3}]",
          "{\"c~d\":3}" },
        { "{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c\"}]",
          "{\"a\":{},\"c\":1}" },
        { "{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}]",
          "{\"a\":{\"b\":1},\"c\":{\"b\":1}}" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]", "{}" },
    };
    struct fix *f = *state;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is(f, kube_json_patch(f->arena, tree(f, rows[i][0]), tree(f, rows[i][1]), &err),
           rows[i][2]);
}

static void no_patches(void **state)
{
    static const struct {
        const char *patch;
        enum err_code code;
    } rows[] = {
        { "{}", ERR_INPUT },
        { "[{}]", ERR_INPUT },
        { "[{\"op\":\"fly\",\"path\":\"/a\"}]", ERR_INPUT },
        { "[{\"op\":\"add\",\"path\":\"/b\"}]", ERR_INPUT },
        { "[{\"op\":\"add\",\"path\":\"b\",\"value\":1}]", ERR_INPUT },
        { "[{\"op\":\"remove\",\"path\":\"/nope\"}]", ERR_CANNOT },
        { "[{\"op\":\"replace\",\"path\":\"/nope\",\"value\":1}]", ERR_CANNOT },
        { "[{\"op\":\"add\",\"path\":\"/l/7\",\"value\":1}]", ERR_CANNOT },
        { "[{\"op\":\"add\",\"path\":\"/nope/x\",\"value\":1}]", ERR_CANNOT },
        { "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", ERR_CANNOT },
        { "[{\"op\":\"move\",\"from\":\"/m\",\"path\":\"/m/n\"}]", ERR_INPUT },
        { "[{\"op\":\"copy\",\"path\":\"/m\"}]", ERR_INPUT },
    };
    struct fix *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = { 0 };
        const struct text_node *target = tree(f, "{\"a\":1,\"l\":[1],\"m\":{\"n\":{}}}");
        if (kube_json_patch(f->arena, target, tree(f, rows[i].patch), &err) ||
            err.code != rows[i].code)
            fail_msg("%s: %d %s", rows[i].patch, err.code, err.what);
    }
}

/* Copying the whole into itself doubles it each time. */
static void no_bombs(void **state)
{
    struct fix *f = *state;
    struct err err = { 0 };
    struct text_node *ops = text_list(f->arena, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        struct text_node *op = text_map(f->arena, ops, NULL);
        char path[16];
        snprintf(path, sizeof path, "/x%d", i);
        text_str(f->arena, op, "op", "copy");
        text_str(f->arena, op, "from", "");
        text_str(f->arena, op, "path", path);
    }
    assert_null(kube_json_patch(f->arena, tree(f, "{\"a\":[1,2,3,4]}"), ops, &err));
    assert_int_equal(err.code, ERR_INPUT);
}

static void directives(void **state)
{
    struct fix *f = *state;
    is(f,
       kube_plain_patch(f->arena, tree(f, "{\"$setElementOrder/x\":[1],\"a\":{\"$patch\":\"merge\","
                                          "\"b\":1}}")),
       "{\"a\":{\"b\":1}}");
}

/* ---- tables ---- */

static void ages(void **state)
{
    static const struct {
        uint64_t s;
        const char *text;
    } rows[] = {
        { 0, "0s" },
        { 45, "45s" },
        { 68, "68s" },
        { 119, "119s" },
        { 120, "2m" },
        { 172, "2m52s" },
        { 218, "3m38s" },
        { 600, "10m" },
        { 1020, "17m" },
        { 10799, "179m" },
        { 10800, "3h" },
        { 18180, "5h3m" },
        { 28800, "8h" },
        { 172799, "47h" },
        { 172800, "2d" },
        { 190800, "2d5h" },
        { 691200, "8d" },
        { 777600, "9d" },
        { 86400u * 800, "2y70d" },
    };
    struct fix *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(kube_age(f->arena, rows[i].s * 1000), rows[i].text);
    assert_int_equal(kube_time("1970-01-02T00:00:01Z"), 86401000);
    assert_int_equal(kube_time("soon"), 0);
    assert_int_equal(kube_time(NULL), 0);
}

static void row_is(struct fix *f, const char *text, table_cells *cells, const char *wanted)
{
    const struct text_node *row =
        kube_row(f->arena, tree(f, text), cells, 86400000 + 68000, TABLE_NONE);
    is(f, text_get(row, "cells"), wanted);
}

#define META "\"metadata\":{\"name\":\"x\",\"creationTimestamp\":\"1970-01-02T00:00:00Z\"}"

static void cells(void **state)
{
    struct fix *f = *state;
    row_is(f, "{" META ",\"status\":{\"phase\":\"Suspended\"}}", table_job_cells,
           "[\"x\",\"Suspended\",\"68s\"]");
    row_is(f, "{" META ",\"status\":{\"phase\":\"Pending\"},\"spec\":{}}", table_pod_cells,
           "[\"x\",\"0/1\",\"Pending\",\"0\",\"68s\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]");
    row_is(f,
           "{" META ",\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Failed\",\"podIP\":"
           "\"1.2.3.4\",\"containerStatuses\":[{\"ready\":false,\"restartCount\":2,\"state\":"
           "{\"terminated\":{\"reason\":\"OOMKilled\"}}}]}}",
           table_pod_cells,
           "[\"x\",\"0/1\",\"OOMKilled\",\"2\",\"68s\",\"1.2.3.4\",\"n1\",\"<none>\",\"<none>\"]");
    row_is(f,
           "{" META ",\"type\":\"Warning\",\"reason\":\"R\",\"message\":\"m\",\"count\":2,"
           "\"firstTimestamp\":\"1970-01-02T00:00:55Z\",\"lastTimestamp\":\"1970-01-02T00:00:58Z\","
           "\"source\":{\"component\":\"s\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"}}",
           table_event_cells,
           "[\"10s (x2 over 13s)\",\"Warning\",\"R\",\"pod/p\",\"\",\"s\",\"m\",\"13s\",\"2\","
           "\"x\"]");
    row_is(f, "{}", table_pod_cells,
           "[\"\",\"0/1\",\"\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]");
}

static void rows(void **state)
{
    struct fix *f = *state;
    const struct text_node *o = tree(f, "{" META ",\"kind\":\"K\"}");
    const struct text_node *row = kube_row(f->arena, o, table_job_cells, 0, TABLE_METADATA);
    is(f, text_get(row, "object"),
       "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\"," META "}");
    row = kube_row(f->arena, o, table_job_cells, 0, TABLE_OBJECT);
    is(f, text_get(row, "object"), "{" META ",\"kind\":\"K\"}");
    assert_null(text_get(kube_row(f->arena, o, table_job_cells, 0, TABLE_NONE), "object"));
    const struct text_node *table = kube_table(f->arena, table_job, true, "7");
    assert_int_equal(text_get(table, "columnDefinitions")->count, 3);
    assert_int_equal(
        text_get(kube_table(f->arena, table_job, false, "7"), "columnDefinitions")->count, 0);
}

static void shapes(void **state)
{
    struct fix *f = *state;
    static const struct {
        const char *text, *part;
    } all[] = {
        { "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":{\"n\":4}}}", NULL },
        { "{\"data\":{\"a\":\"b\"},\"stringData\":null,\"metadata\":null}", NULL },
        { "{}", NULL },
        { "[1]", NULL },
        { "{\"metadata\":[]}", "metadata" },
        { "{\"metadata\":{\"labels\":[1]}}", "metadata.labels" },
        { "{\"metadata\":{\"annotations\":{\"a\":{}}}}", "metadata.annotations" },
        { "{\"data\":[1]}", "data" },
        { "{\"binaryData\":\"x\"}", "binaryData" },
        { "{\"stringData\":{\"a\":[]}}", "stringData" },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *part = kube_unreadable(tree(f, all[i].text), false);
        if (all[i].part)
            assert_string_equal(part ? part : "", all[i].part);
        else
            assert_null(part);
    }
    struct text_node *number = tree(f, "{\"data\":{\"a\":1}}");
    assert_null(kube_unreadable(number, false));
    assert_string_equal(kube_unreadable(number, true), "data");
}

static void labels_and_annotations(void **state)
{
    static const struct {
        const char *metadata, *bad; /* NULL: good */
        const char *field;
    } rows[] = {
        { "{\"labels\":{\"a\":\"b\",\"a.b/C_d-1\":\"\",\"n\":5},\"annotations\":{\"x\":\"any text\"}}",
          NULL, NULL },
        { "{\"labels\":{\"was bad\":\"as before\"}}", NULL, NULL },
        { "{\"labels\":{\"was bad\":\"changed\"}}", "\"was bad\": a key", "metadata.labels" },
        { "{\"labels\":{\"-a\":\"\"}}", "\"-a\"", "metadata.labels" },
        { "{\"labels\":{\"\":\"\"}}", "\"\"", "metadata.labels" },
        { "{\"labels\":{\"/a\":\"\"}}", "\"/a\"", "metadata.labels" },
        { "{\"labels\":{\"a/\":\"\"}}", "\"a/\"", "metadata.labels" },
        { "{\"labels\":{\"A.b/c\":\"\"}}", "\"A.b/c\"", "metadata.labels" },
        { "{\"labels\":{\"a/b/c\":\"\"}}", "\"a/b/c\"", "metadata.labels" },
        { "{\"labels\":{\"a\":\"b \"}}", "\"b \": a value", "metadata.labels" },
        { "{\"labels\":{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123\"}}",
          "a value", "metadata.labels" },
        { "{\"annotations\":{\"b d\":\"\"}}", "\"b d\": a key", "metadata.annotations" },
    };
    struct fix *f = *state;
    const struct text_node *old = tree(f, "{\"labels\":{\"was bad\":\"as before\"}}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kube_fault fault;
        bool bad = kube_bad_label(f->arena, tree(f, rows[i].metadata), old, &fault);
        if (bad != !!rows[i].bad || (bad && !strstr(fault.text, rows[i].bad)))
            fail_msg("%s: %s", rows[i].metadata, fault.text);
        if (bad)
            assert_string_equal(fault.field, rows[i].field);
    }
}

/* Every kind has as many cells as columns. */
static void widths(void **state)
{
    static const struct {
        const struct table_column *columns;
        table_cells *cells;
    } kinds[] = {
        { table_job, table_job_cells },     { table_pod, table_pod_cells },
        { table_event, table_event_cells }, { table_namespace, table_namespace_cells },
        { table_node, table_node_cells },   { table_group, table_group_cells },
        { table_data, table_data_cells },   { table_secret, table_secret_cells },
        { table_claim, table_claim_cells }, { table_service, table_service_cells },
    };
    struct fix *f = *state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct text_node *row =
            kube_row(f->arena, tree(f, "{" META "}"), kinds[i].cells, 0, TABLE_NONE);
        size_t n = 0;
        while (kinds[i].columns[n].name)
            n++;
        assert_int_equal(text_get(row, "cells")->count, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(labels),       T(fields),
        T(no_selectors), T(field_of),
        T(merges),       T(json_patches),
        T(no_patches),   T(no_bombs),
        T(directives),   T(ages),
        T(cells),        T(rows),
        T(shapes),       T(labels_and_annotations),
        T(widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
