/* Lists: sorted both ways by text, number and time, stable, in pages; and what is asked of them
 * badly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/dlc/documents.h"
#include "api/dlc/test/desk.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

static const struct dlc_list_type things = {
    .key = "Things", .size = 3, .sorts = { "GmtCreateTime", "GmtModifiedTime", "Name", "Size" }
};
static const struct dlc_list_type newest = {
    .key = "Things", .size = 10, .descending = true, .numbered = true, .sorts = { "GmtCreateTime" }
};

/* {Name, Size} and when the document was put; 0: there is none. */
static const struct {
    const char *name, *size;
    uint64_t created, changed;
} rows[] = { { "c", "10", 5, 9 },      { "a", "9", 0, 0 },  { "b", "\"x\"", 2, 30 },
             { "a", "100", 7, 7 },     { "d", NULL, 2, 2 }, { "e", "-1", 6, 6 },
             { "\303\244", "9", 3, 3 } };

static void add_rows(struct dlc_listing *l)
{
    struct arena *a = l->d->arena;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct report report;
        report_init(&report, a);
        struct text_node *row = text_map(a, NULL, NULL);
        const struct document_view object = { .created_ms = rows[i].created,
                                              .changed_ms = rows[i].changed };
        text_str(a, row, "Name", rows[i].name);
        text_int(a, row, "Id", (int64_t)i);
        if (rows[i].size)
            text_copy(a, row, "Size",
                      json_parse(a, rows[i].size, strlen(rows[i].size), 0, &report));
        dlc_listing_add(l, row, rows[i].created ? &object : NULL);
    }
}

/* The rows of the page, as digits. */
static const char *page(struct arena *a, const struct dlc_list_type *of, const char *query)
{
    struct dlc_call *d = desk_call(a, desk_op("ListImages"), query, NULL);
    struct dlc_listing l;
    char *out = arena_alloc(a, ARRAY_LEN(rows) + 1);
    size_t n = 0;
    if (!dlc_listing_begin(&l, d, of))
        fail_msg("%s: %s", query, text_get(d->answer, "Message")->str);
    add_rows(&l);
    const struct text_node *root = dlc_listing_end(&l);
    assert_int_equal(text_get(root, "TotalCount")->integer, ARRAY_LEN(rows));
    for (const struct text_node *one = text_get(root, of->key)->first; one; one = one->next)
        out[n++] = (char)('0' + text_get(one, "Id")->integer);
    out[n] = '\0';
    return out;
}

static void is_page(const struct dlc_list_type *of, const char *query, const char *wanted)
{
    struct arena *a = arena_create();
    const char *got = page(a, of, query);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s: %s, not %s", query, got, wanted);
    arena_destroy(a);
}

static void sorted(void **state)
{
    (void)state;
    /* the server's own are older than all; equals stay as they were added, either way */
    is_page(&things, "PageSize=7", "1246053");
    is_page(&things, "PageSize=7&Order=DESC", "3506241");
    is_page(&things, "PageSize=7&Order=asc&SortBy=GmtCreateTime", "1246053");
    is_page(&things, "PageSize=7&SortBy=GmtModifiedTime", "1465302");
    is_page(&things, "PageSize=7&SortBy=GmtModifiedTime&Order=desc", "2035641");
    is_page(&things, "PageSize=7&SortBy=Name", "1320456");
    is_page(&things, "PageSize=7&SortBy=name&Order=desc", "6540213");
    is_page(&newest, "", "3506241");
    is_page(&newest, "Order=asc", "1246053");
}

/* Nothing, then numbers, then texts. */
static void numbers(void **state)
{
    (void)state;
    is_page(&things, "PageSize=7&SortBy=Size", "4516032");
    is_page(&things, "PageSize=7&SortBy=Size&Order=desc", "2301654");
}

static void paged(void **state)
{
    (void)state;
    is_page(&things, "", "124");
    is_page(&things, "PageNumber=2", "605");
    is_page(&things, "PageNumber=3", "3");
    is_page(&things, "PageNumber=4", "");
    is_page(&things, "PageNumber=1000000", "");
    is_page(&things, "PageNumber=2&PageSize=2&Order=desc", "06");
    is_page(&things, "PageNumber=&PageSize=&SortBy=&Order=", "124");
}

static void numbered(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct dlc_call *d = desk_call(a, desk_op("ListSignals"), "PageNumber=3&PageSize=2", NULL);
    struct dlc_listing l;
    assert_true(dlc_listing_begin(&l, d, &newest));
    const struct text_node *root = dlc_listing_end(&l);
    assert_int_equal(text_get(root, "TotalCount")->integer, 0);
    assert_int_equal(text_get(root, "PageNumber")->integer, 3);
    assert_int_equal(text_get(root, "PageSize")->integer, 2);
    assert_int_equal(text_get(root, "Things")->count, 0);
    assert_null(text_get(root, "Warnings"));
    arena_destroy(a);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *query, *said;
    } bad[] = {
        { "SortBy=Beauty",
          "SortBy is \"Beauty\"; known is GmtCreateTime, GmtModifiedTime, Name, Size" },
        { "SortBy=Nam", "SortBy is \"Nam\"" },
        { "Order=up", "Order is \"up\", not asc or desc" },
        { "PageNumber=0", "PageNumber is \"0\", not a whole number from 1" },
        { "PageNumber=-1", "PageNumber" },
        { "PageSize=1001", "PageSize" },
        { "PageSize=two", "PageSize" },
        { "PageSize=1e2", "PageSize" },
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena *a = arena_create();
        struct dlc_call *d = desk_call(a, desk_op("ListImages"), bad[i].query, NULL);
        struct dlc_listing l;
        assert_false(dlc_listing_begin(&l, d, &things));
        assert_int_equal(d->status, 400);
        assert_string_equal(text_get(d->answer, "Code")->str, "InvalidParameter");
        if (!strstr(text_get(d->answer, "Message")->str, bad[i].said))
            fail_msg("%s: %s", bad[i].query, text_get(d->answer, "Message")->str);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted),   cmocka_unit_test(numbers), cmocka_unit_test(paged),
        cmocka_unit_test(numbered), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
