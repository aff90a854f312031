/* What a request says: texts, flags, numbers, times, lists, ids; and what is answered to what it
 * says badly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/dlc/test/desk.h"
#include "api/test/trees.h"

#include "base/mem.h"

static struct dlc_call *asked(struct fix *f, const char *query)
{
    return desk_call(f->arena, desk_op("ListJobs"), query, NULL);
}

/* ---- times ---- */

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms; /* 0: no time */
    } rows[] = {
        { "2020-11-08T16:00:00Z", 1604851200000 },
        { "2020-11-08T16:00:00.000Z", 1604851200000 },
        { "2020-11-08T16:00:00.678Z", 1604851200678 },
        { "1604851200123", 1604851200123 },
        { "1", 1 },
        { "2020-11-08T16:00:00.67Z", 0 },
        { "2020-11-08T16:00:00.6789Z", 0 },
        { "2020-11-08T16:00:00.-78Z", 0 },
        { "2020-11-08T16:00:00,678Z", 0 },
        { "2020-11-08T16:00:00.678z", 0 },
        { "2020-11-08 16:00:00.678Z", 0 },
        { "2020-13-08T16:00:00.678Z", 0 },
        { "2020-11-08T16:00:00", 0 },
        { "2020-11-08", 0 },
        { "-1", 0 },
        { "noon", 0 },
        { "", 0 },
        { "99999999999999999999", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t ms = 0;
        bool good = dlc_scan_time(rows[i].text, &ms);
        if (good != (rows[i].ms != 0) || (good && ms != rows[i].ms))
            fail_msg("\"%s\": %llu", rows[i].text, (unsigned long long)ms);
    }
}

/* ---- the query ---- */

static void queries(void **state)
{
    struct fix *f = *state;
    struct dlc_call *d = asked(f, "a=1&b=&c=x%20y+z&a=2&d=TRUE&e=0&g=no&t=5");
    uint64_t n = 77, ms = 0;
    assert_string_equal(dlc_query(d, "a"), "1");
    assert_null(dlc_query(d, "b"));
    assert_null(dlc_query(d, "nothing"));
    assert_string_equal(dlc_query(d, "c"), "x y z");
    assert_true(dlc_query_flag(d, "d", false));
    assert_true(dlc_query_flag(d, "a", false));
    assert_false(dlc_query_flag(d, "e", true));
    assert_true(dlc_query_flag(d, "nothing", true));
    assert_null(dlc_header(d, "Host"));
    assert_true(dlc_query_u64(d, "nothing", 1, 10, &n));
    assert_int_equal(n, 77);
    assert_true(dlc_query_u64(d, "t", 1, 10, &n));
    assert_int_equal(n, 5);
    assert_true(dlc_query_time(d, "t", &ms));
    assert_int_equal(ms, 5);
    assert_null(d->answer);
    assert_false(dlc_query_u64(d, "t", 6, 10, &n));
    assert_int_equal(n, 5);
    is(f, d->answer,
       "{\"Code\":\"InvalidParameter\",\"Message\":\"t is \\\"5\\\", not a whole number from 6 to "
       "10\",\"RequestId\":\"request\",\"HostId\":\"\"}");
    d = asked(f, "t=noon");
    assert_false(dlc_query_time(d, "t", &ms));
    assert_int_equal(d->status, 400);
}

static void pages(void **state)
{
    struct fix *f = *state;
    struct facade_page page;
    assert_true(dlc_page(asked(f, ""), 20, &page));
    assert_int_equal(page.offset, 0);
    assert_int_equal(page.limit, 20);
    assert_int_equal(dlc_page_number(&page), 1);
    assert_true(dlc_page(asked(f, "PageNumber=4&PageSize=7"), 20, &page));
    assert_int_equal(page.offset, 21);
    assert_int_equal(page.limit, 7);
    assert_int_equal(dlc_page_number(&page), 4);
    assert_true(dlc_page(asked(f, "PageNumber=1000000&PageSize=1000"), 20, &page));
    assert_false(dlc_page(asked(f, "PageNumber=1000001"), 20, &page));
    assert_false(dlc_page(asked(f, "PageSize=0"), 20, &page));
}

static void orders(void **state)
{
    struct fix *f = *state;
    static const struct {
        const char *query;
        bool otherwise, good, ascending;
    } rows[] = {
        { "", true, true, true },
        { "", false, true, false },
        { "Order=", true, true, true },
        { "Order=asc", false, true, true },
        { "Order=ASC", false, true, true },
        { "Order=Desc", true, true, false },
        { "Order=descending", true, false, false },
        { "Order=1", true, false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool ascending = false;
        struct dlc_call *d = asked(f, rows[i].query);
        assert_int_equal(dlc_order(d, rows[i].otherwise, &ascending), rows[i].good);
        assert_int_equal(ascending, rows[i].ascending);
        assert_int_equal(d->answer == NULL, rows[i].good);
    }
}

/* ---- the body ---- */

static void members(void **state)
{
    struct fix *f = *state;
    const struct text_node *map =
        tree(f, "{\"t\":\"x\",\"e\":\"\",\"z\":null,\"n\":5,\"r\":1.50,\"b\":true,\"f\":false,"
                "\"l\":[1],\"v\":[],\"m\":{},\"s\":\"True\",\"o\":{\"a\":1}}");
    static const char *const empties[] = { "e", "z", "v", "m" };
    static const char *const full[] = { "t", "n", "b", "f", "l", "o" };
    assert_string_equal(dlc_text(map, "t"), "x");
    assert_string_equal(dlc_text(map, "n"), "5");
    assert_string_equal(dlc_text(map, "r"), "1.50");
    assert_string_equal(dlc_text(map, "b"), "true");
    assert_null(dlc_text(map, "e"));
    assert_null(dlc_text(map, "z"));
    assert_null(dlc_text(map, "l"));
    assert_null(dlc_text(map, "o"));
    assert_null(dlc_text(map, "nothing"));
    assert_null(dlc_text(text_get(map, "l"), "t"));
    assert_int_equal(dlc_list(map, "l")->count, 1);
    assert_null(dlc_list(map, "v"));
    assert_null(dlc_list(map, "t"));
    assert_true(dlc_true(map, "b"));
    assert_true(dlc_true(map, "s"));
    assert_false(dlc_true(map, "f"));
    assert_false(dlc_true(map, "n"));
    assert_false(dlc_true(map, "nothing"));
    for (size_t i = 0; i < ARRAY_LEN(empties); i++)
        assert_true(dlc_empty(text_get(map, empties[i])));
    for (size_t i = 0; i < ARRAY_LEN(full); i++)
        assert_false(dlc_empty(text_get(map, full[i])));
}

static void needed(void **state)
{
    struct fix *f = *state;
    struct dlc_call *d = asked(f, "");
    const char *text;
    d->body = tree(f, "{\"a\":\"x\",\"l\":[1]}");
    assert_true(dlc_need(d, "a", &text));
    assert_string_equal(text, "x");
    assert_null(d->answer);
    assert_false(dlc_need(d, "l", &text));
    assert_string_equal(text_get(d->answer, "Code")->str, "MissingParameter");
    assert_string_equal(text_get(d->answer, "Message")->str, "l is missing");
}

static void documents(void **state)
{
    struct fix *f = *state;
    static const char *const bad[] = {
        "", "{", "[]", "null", "\"x\"", "{\"a\":1,\"a\":2}", "{}{}"
    };
    is(f, dlc_parse(f->arena, " {\"a\": [1]} "), "{\"a\":[1]}");
    assert_null(dlc_parse(f->arena, NULL));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (dlc_parse(f->arena, bad[i]))
            fail_msg("%s", bad[i]);
}

/* ---- lists and ids ---- */

static void parts(void **state)
{
    (void)state;
    assert_true(dlc_within("", "x"));
    assert_true(dlc_within("SES", "my session"));
    assert_true(dlc_within("\346\225\260", "\346\225\260\346\215\256"));
    assert_false(dlc_within("sess.*", "session"));
    assert_false(dlc_within("longer than", "long"));
    assert_false(dlc_within("x", ""));
    assert_false(dlc_within("x", NULL));
    assert_true(dlc_in_list("a,b", "b"));
    assert_true(dlc_in_list("a, b", "b"));
    assert_true(dlc_in_list("b", "b"));
    assert_false(dlc_in_list("ab,ba", "b"));
    assert_false(dlc_in_list("a,,", "b"));
    assert_false(dlc_in_list("", "b"));
}

static void ids(void **state)
{
    struct fix *f = *state;
    const char *one = dlc_new_id(f->arena, "d-", 18), *two = dlc_new_id(f->arena, "d-", 18);
    assert_int_equal(strlen(one), 20);
    assert_memory_equal(one, "d-", 2);
    assert_int_equal(strspn(one + 2, "0123456789abcdefghijklmnopqrstuvwxyz"), 18);
    assert_string_not_equal(one, two);
}

static void labels(void **state)
{
    struct fix *f = *state;
    struct text_node *out = text_map(f->arena, NULL, NULL);
    is(f, dlc_labels(f->arena, out, tree(f, "{\"a\":\"b\",\"n\":5}")),
       "[{\"Key\":\"a\",\"Value\":\"b\"},{\"Key\":\"n\",\"Value\":\"5\"}]");
    out = text_map(f->arena, NULL, NULL);
    is(f, dlc_labels(f->arena, out, tree(f, "[{\"Key\":\"a\"}]")), "[{\"Key\":\"a\"}]");
    out = text_map(f->arena, NULL, NULL);
    is(f, dlc_labels(f->arena, out, NULL), "[]");
    out = text_map(f->arena, NULL, NULL);
    dlc_put(f->arena, out, "a", NULL);
    dlc_put(f->arena, out, "b", "");
    dlc_put(f->arena, out, "c", "x");
    dlc_copy(f->arena, out, NULL, "d");
    dlc_copy(f->arena, out, tree(f, "{\"d\":null}"), "d");
    dlc_copy(f->arena, out, tree(f, "{\"e\":{\"f\":[1]}}"), "e");
    is(f, out, "{\"c\":\"x\",\"e\":{\"f\":[1]}}");
    assert_string_equal(dlc_workspace(NULL), "default");
    assert_string_equal(dlc_workspace(""), "default");
    assert_string_equal(dlc_workspace("team"), "team");
}

/* ---- pods ---- */

static void pods(void **state)
{
    struct fix *f = *state;
    const char *pod = dlc_pod_id(f->arena, 1, "Worker", 12);
    const char *first = dlc_pod_uid(f->arena, 1, pod, 1), *next = dlc_pod_uid(f->arena, 1, pod, 2);
    assert_string_equal(pod, "dlc0000000000001-worker-12");
    assert_int_equal(strlen(first), 36);
    assert_string_equal(first, dlc_pod_uid(f->arena, 1, pod, 1));
    assert_string_not_equal(first, next);
}

/* ---- answers ---- */

static void answers(void **state)
{
    struct fix *f = *state;
    struct dlc_call *d = asked(f, "");
    struct text_node *out = dlc_map(d);
    text_str(f->arena, out, "a", "b");
    dlc_note(d, "%s has no effect", "c");
    dlc_note(d, "d");
    dlc_ok(d, out);
    dlc_fail(d, 500, "Late", "the first one counts");
    assert_int_equal(d->status, 200);
    is(f, d->answer,
       "{\"a\":\"b\",\"RequestId\":\"request\",\"Warnings\":[\"c has no effect\",\"d\"]}");
    d = asked(f, "");
    dlc_note(d, "not of a bad answer");
    struct err err;
    err_set(&err, ERR_DENIED, "no");
    err_hint(&err, "ask");
    dlc_err(d, &err, NULL);
    assert_int_equal(d->status, 403);
    is(f, d->answer,
       "{\"Code\":\"Forbidden.RAM\",\"Message\":\"no: ask\",\"RequestId\":\"request\",\"HostId\":"
       "\"\"}");
}

/* Cut where a character ends. */
static void long_answers(void **state)
{
    struct fix *f = *state;
    struct dlc_call *d = asked(f, "");
    char text[2000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\303\244", 3);
    dlc_fail(d, 400, "Long", "x%s", text);
    const char *said = text_get(d->answer, "Message")->str;
    assert_true(strlen(said) > 1000 && strlen(said) < 1200 && strlen(said) % 2 == 1);
    d = asked(f, "");
    dlc_note(d, "%s", text);
    dlc_ok(d, dlc_map(d));
    said = text_get(d->answer, "Warnings")->first->str;
    assert_true(strlen(said) > 1000 && strlen(said) % 2 == 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times, setup, teardown),
        cmocka_unit_test_setup_teardown(queries, setup, teardown),
        cmocka_unit_test_setup_teardown(pages, setup, teardown),
        cmocka_unit_test_setup_teardown(orders, setup, teardown),
        cmocka_unit_test_setup_teardown(members, setup, teardown),
        cmocka_unit_test_setup_teardown(needed, setup, teardown),
        cmocka_unit_test_setup_teardown(documents, setup, teardown),
        cmocka_unit_test_setup_teardown(parts, setup, teardown),
        cmocka_unit_test_setup_teardown(ids, setup, teardown),
        cmocka_unit_test_setup_teardown(labels, setup, teardown),
        cmocka_unit_test_setup_teardown(pods, setup, teardown),
        cmocka_unit_test_setup_teardown(answers, setup, teardown),
        cmocka_unit_test_setup_teardown(long_answers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
