/* Rows of operations against what is asked: honoured, warned about, refused. And the rows of the
 * table themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/dlc/test/desk.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void ran(struct dlc_call *d)
{
    dlc_ok(d, dlc_map(d));
}

static const struct dlc_op op = {
    .name = "DoThing",
    .run = ran,
    .query = "PageSize Name Flag? Size# Kind=A|BC -Idle -IdleFlag? !Never !NeverFlag? Tag.N.Key "
             "Tag.N.Value N",
    .body = "Name Flag? Size# Kind=A|BC -Idle !Never Labels Labels.Key Labels.Value Target "
            "Target.Scope Free -Within.Idle Within Within.Name",
};

struct row {
    const char *query, *body, *code, *part; /* code NULL: good; part: of what is said, or NULL */
};

static const char *said_of(const struct dlc_call *d)
{
    const struct text_node *warnings = text_get(d->answer, "Warnings");
    if (d->status != 200)
        return text_get(d->answer, "Message")->str;
    return warnings ? warnings->first->str : NULL;
}

static void check(const struct row *row)
{
    struct arena *a = arena_create();
    struct dlc_call *d = desk_call(a, &op, row->query, row->body);
    dlc_run(d);
    const char *code = d->status == 200 ? NULL : text_get(d->answer, "Code")->str;
    const char *said = said_of(d);
    if ((code == NULL) != (row->code == NULL) || (code && strcmp(code, row->code) != 0) ||
        (said == NULL) != (row->part == NULL) || (said && !strstr(said, row->part)))
        fail_msg("%s %s: %s, %s", row->query ? row->query : "", row->body ? row->body : "",
                 code ? code : "good", said ? said : "nothing said");
    arena_destroy(a);
}

static void queries(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "", NULL, NULL, NULL },
        { "Name=x&PageSize=7", NULL, NULL, NULL },
        { "Nane=x", NULL, "InvalidParameter", "Nane is no parameter of DoThing, but Name is" },
        { "Qqqqqqqqqqq=x", NULL, "InvalidParameter", "Qqqqqqqqqqq is no parameter of DoThing" },
        { "name=x", NULL, "InvalidParameter", "but Name is" },
        { "=x", NULL, "InvalidParameter", "is no parameter" },
        { "Nane=&Name=", NULL, NULL, NULL },
        { "Name=x&Name=y", NULL, "InvalidParameter", "Name is there twice" },
        { "Name=x&Name=", NULL, NULL, NULL },
        { "Flag=True", NULL, NULL, NULL },
        { "Flag=0", NULL, NULL, NULL },
        { "Flag=yes", NULL, "InvalidParameter", "Flag is \"yes\", not true or false" },
        { "Size=12", NULL, NULL, NULL },
        { "Size=1.5", NULL, "InvalidParameter", "Size is \"1.5\", not a whole number" },
        { "Size=-1", NULL, "InvalidParameter", "not a whole number" },
        { "Kind=A", NULL, NULL, NULL },
        { "Kind=BC", NULL, NULL, NULL },
        { "Kind=B", NULL, "InvalidParameter", "Kind is \"B\", and one of A|BC is meant" },
        { "Kind=BCD", NULL, "InvalidParameter", "one of A|BC" },
        { "Kind=A|BC", NULL, "InvalidParameter", "one of A|BC" },
        { "Idle=x", NULL, NULL, "Idle has no effect: there is nothing like it here" },
        { "IdleFlag=false", NULL, NULL, NULL },
        { "IdleFlag=true", NULL, NULL, "IdleFlag has no effect" },
        { "IdleFlag=x", NULL, "InvalidParameter", "not true or false" },
        { "Never=x", NULL, "NotSupported", "Never cannot be asked of DoThing here: there is" },
        { "NeverFlag=False", NULL, NULL, NULL },
        { "NeverFlag=1", NULL, "NotSupported", "NeverFlag cannot be asked" },
        { "Never=x&Nane=y", NULL, "InvalidParameter", "DoThing here: there is nothing like it" },
        { "Tag.1.Key=k&Tag.1.Value=v&Tag.22.Key=l", NULL, NULL, NULL },
        { "Tag.1.Kez=k", NULL, "InvalidParameter", "Tag.1.Kez is no parameter" },
        { "Tag..Key=k", NULL, "InvalidParameter", "is no parameter" },
        { "Tag.1x.Key=k", NULL, "InvalidParameter", "is no parameter" },
        { "Tag.1=k", NULL, "InvalidParameter", "is no parameter" },
        { "7=k", NULL, NULL, NULL },
        { "RegionId=cn-hangzhou", NULL, NULL, "RegionId has no effect: there is one region" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

static void bodies(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { NULL, "{}", NULL, NULL },
        { NULL, "{\"Name\":\"x\",\"Free\":{\"any\":[1]}}", NULL, NULL },
        { NULL, "{\"Nam\":\"x\"}", "InvalidParameter", "Nam is no member of the body of DoThing" },
        { NULL, "{\"Nam\":null,\"Nan\":\"\",\"Nao\":[],\"Nap\":{}}", NULL, NULL },
        { NULL, "{\"Flag\":true}", NULL, NULL },
        { NULL, "{\"Flag\":\"false\"}", NULL, NULL },
        { NULL, "{\"Flag\":2}", "InvalidParameter", "Flag is \"2\", not true or false" },
        { NULL, "{\"Flag\":[true]}", "InvalidParameter", "Flag is a list" },
        { NULL, "{\"Size\":12}", NULL, NULL },
        { NULL, "{\"Size\":\"12\"}", NULL, NULL },
        { NULL, "{\"Size\":1.5}", "InvalidParameter", "not a whole number" },
        { NULL, "{\"Size\":{\"a\":1}}", "InvalidParameter", "Size is" },
        { NULL, "{\"Kind\":\"A\"}", NULL, NULL },
        { NULL, "{\"Kind\":\"a\"}", "InvalidParameter", "one of A|BC" },
        { NULL, "{\"Idle\":[1]}", NULL, "Idle has no effect" },
        { NULL, "{\"Never\":{\"a\":1}}", "NotSupported", "Never cannot be asked" },
        { NULL, "{\"Labels\":[{\"Key\":\"k\",\"Value\":\"\"},{\"Key\":\"l\"}]}", NULL, NULL },
        { NULL, "{\"Labels\":{\"Key\":\"k\"}}", NULL, NULL },
        { NULL, "{\"Labels\":[{\"Kex\":\"k\"}]}", "InvalidParameter", "but Labels.Key is" },
        { NULL, "{\"Labels\":[1]}", "InvalidParameter", "Labels is not an object or a list" },
        { NULL, "{\"Labels\":[{\"Key\":\"k\"},[]]}", "InvalidParameter", "Labels is not an" },
        { NULL, "{\"Labels\":\"k\"}", "InvalidParameter", "Labels is not an object" },
        { NULL, "{\"Target\":{\"Scope\":\"x\",\"More\":1}}", "InvalidParameter", "Target.More" },
        { NULL, "{\"Within\":[{\"Idle\":1,\"Name\":2}]}", NULL, "Within.Idle has no effect" },
        { NULL, "{\"Within\":[{\"Idle\":\"\"}]}", NULL, NULL },
        { "Nane=x", "{\"Nam\":1}", "InvalidParameter", "DoThing, but Name is; Nam is no member" },
        { NULL, "{\"a\":1,\"a\":2}", "InvalidParameter", "the body" },
        { NULL, "[]", "InvalidParameter", "the body is a list, not a JSON object" },
        { NULL, "{", "InvalidParameter", "the body" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

/* However much is wrong, the answer has an end, and it comes soon. */
static void no_end(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    enum { N = 20000, WIDE = 40 };
    char *body = arena_alloc(a, N * WIDE + 100), *at = body;
    *at++ = '{';
    for (int i = 0; i < N; i++)
        at += snprintf(at, WIDE, "%s\"Nonsense%d\":1", i ? "," : "", i);
    *at++ = '}';
    *at = '\0';
    struct dlc_call *d = desk_call(a, &op, NULL, body);
    dlc_run(d);
    assert_int_equal(d->status, 400);
    assert_true(strlen(said_of(d)) < 1200);
    arena_destroy(a);
}

/* What the handler is given has nothing that says nothing at its top. */
static void nothing_empty(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct dlc_call *d = desk_call(
        a, &op, NULL, "{\"Free\":null,\"Name\":\"x\",\"Target\":{},\"Size\":0,\"Labels\":[]}");
    dlc_run(d);
    assert_int_equal(d->status, 200);
    assert_int_equal(d->body->count, 2);
    assert_string_equal(d->body->first->key, "Name");
    assert_string_equal(d->body->last->key, "Size");
    assert_null(d->body->last->next);
    arena_destroy(a);
}

/* ---- who may ---- */

static void who(void **state)
{
    (void)state;
    static const struct dlc_op writes = {
        .name = "Write", .run = ran, .query = "", .body = "", .flags = DLC_WRITES
    };
    static const struct dlc_op cannot = { .name = "No", .flags = DLC_CANNOT, .note = "because" };
    static const struct {
        const struct dlc_op *op;
        enum user_role role;
        unsigned status;
        const char *part;
    } rows[] = {
        { &writes, ROLE_USER, 200, "request" },
        { &writes, ROLE_READER, 403, "is a reader, and Write changes something" },
        { &op, ROLE_READER, 200, "request" },
        { &cannot, ROLE_ADMIN, 400, "No is not supported here: because" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_create();
        struct dlc_call *d = desk_call(a, rows[i].op, NULL, NULL);
        d->call->who = (struct identity){ .name = "x", .role = rows[i].role };
        d->call->owner = "x";
        dlc_run(d);
        assert_int_equal(d->status, rows[i].status);
        const struct text_node *said =
            text_get(d->answer, d->status == 200 ? "RequestId" : "Message");
        if (!strstr(said->str, rows[i].part))
            fail_msg("%zu: %s", i, said->str);
        arena_destroy(a);
    }
}

/* ---- the table ---- */

/* Each word of a row is one name, once, with a suffix that means something. */
static void check_words(const char *op_name, const char *row)
{
    char seen[64][64];
    size_t n = 0;
    while (*row) {
        size_t len = strcspn(row, " ");
        const char *at = row + (*row == '-' || *row == '!');
        size_t name = strcspn(at, "?#= ");
        if (len && (name == 0 || name >= sizeof seen[0] || n == ARRAY_LEN(seen)))
            fail_msg("%s: %s", op_name, row);
        for (size_t i = 0; len && i < name; i++)
            if (!isalnum((unsigned char)at[i]) && at[i] != '.')
                fail_msg("%s: %s", op_name, row);
        for (size_t i = 0; len && i < n; i++)
            if (strlen(seen[i]) == name && strncmp(seen[i], at, name) == 0)
                fail_msg("%s has %s twice", op_name, seen[i]);
        if (len)
            snprintf(seen[n++], sizeof seen[0], "%.*s", (int)name, at);
        row += len + (row[len] == ' ');
    }
}

static void table(void **state)
{
    (void)state;
    size_t n;
    const struct dlc_op *ops = dlc_ops(&n);
    for (size_t i = 0; i < n; i++) {
        if (ops[i].flags & DLC_CANNOT) {
            assert_non_null(ops[i].note);
            continue;
        }
        assert_non_null(ops[i].run);
        check_words(ops[i].name, ops[i].query);
        if (ops[i].body)
            check_words(ops[i].name, ops[i].body);
        else
            assert_string_equal(ops[i].name, "CreateJob");
        if (strcmp(ops[i].method, "GET") != 0)
            assert_true(ops[i].flags & DLC_WRITES);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries),       cmocka_unit_test(bodies), cmocka_unit_test(no_end),
        cmocka_unit_test(nothing_empty), cmocka_unit_test(who),    cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
