/* The field engine on a table of its own: every type, every kind of problem with its words, fixes,
 * defaults, schema. */
#include "job/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "job/job.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

enum mood { MOOD_CALM, MOOD_BUSY };
struct wheel {
    const char *id;
    uint32_t size;
};
struct thing {
    const char *name, *word;
    bool flag, has_level;
    uint32_t small, level;
    uint64_t big, milli, size, wait, at, job;
    int code;
    struct opt_u64 maybe;
    enum mood mood;
    struct words list;
    struct pairs env;
    struct count count;
    struct amounts rest;
    struct wheel front, *wheels, *named;
    size_t n_wheels, n_named;
    const struct text_node *tree;
};

static bool lower(const char *s)
{
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyz")] == '\0';
}
static const struct field_chars lower_chars = { lower, "lower-case letters", "^[a-z]*$" };
static const struct field_word mood_words[] = { { "calm", MOOD_CALM },
                                                { "busy", MOOD_BUSY },
                                                { 0 } };
static const struct field wheel_fields[] = {
    FIELD(U32, "size", struct wheel, size, .min = 2, .max = 30, .def = 20, .unit = "inches",
          .doc = "size"),
    FIELD_END,
};
static const struct field thing_fields[] = {
    FIELD(TEXT, "name", struct thing, name, .flags = FIELD_REQUIRED, .min = 1, .max = 8,
          .chars = &lower_chars, .doc = "its name"),
    FIELD(WORD, "word", struct thing, word, .words = mood_words, .def_text = "calm", .doc = "w"),
    FIELD(BOOL, "flag", struct thing, flag, .doc = "f"),
    FIELD(U32, "small", struct thing, small, .min = 100, .max = 200, .def = 150,
          .unit = "MB for one task", .doc = "s"),
    FIELD(U32, "level", struct thing, level, .has_offset = offsetof(struct thing, has_level),
          .doc = "l"),
    FIELD(U64, "big", struct thing, big, .doc = "b"),
    FIELD(MILLI, "milli", struct thing, milli, .max = 8000, .doc = "m"),
    FIELD(SIZE, "size", struct thing, size, .doc = "s"),
    FIELD(DURATION, "wait", struct thing, wait, .def = 1000, .max = 3600000, .doc = "w"),
    FIELD(TIME, "at", struct thing, at, .doc = "a"),
    FIELD(ID, "job", struct thing, job, .doc = "j"),
    FIELD(INT, "code", struct thing, code, .doc = "c"),
    FIELD(MAYBE_DURATION, "maybe", struct thing, maybe, .doc = "m"),
    FIELD(ENUM, "mood", struct thing, mood, .words = mood_words, .doc = "m"),
    FIELD(WORDS, "list", struct thing, list, .flags = FIELD_ONE, .max = 3, .doc = "l"),
    FIELD(PAIRS, "env", struct thing, env, .flags = FIELD_SECRET, .max = 3, .doc = "e"),
    FIELD(COUNT, "count", struct thing, count, .counts = FIELD_NEVER | FIELD_FOR_EVER, .def = 1,
          .doc = "c"),
    FIELD(AMOUNTS, "rest", struct thing, rest, .flags = FIELD_REST, .chars = &lower_chars,
          .doc = "others"),
    FIELD(OBJECT, "front", struct thing, front, .table = wheel_fields, .doc = "f"),
    FIELD_MANY(LIST, "wheels", struct thing, wheels, n_wheels, .table = wheel_fields,
               .brief = "size", .max = 3, .doc = "w"),
    FIELD_MANY(MAP, "named", struct thing, named, n_named, .table = wheel_fields, .brief = "size",
               .key_offset = offsetof(struct wheel, id), .chars = &lower_chars, .doc = "n"),
    FIELD(TREE, "tree", struct thing, tree, .doc = "t"),
    FIELD_END,
};

struct bench {
    struct arena *arena;
    struct report report;
    struct thing thing;
    int rc;
};

static void decode(struct bench *b, const char *json)
{
    if (!b->arena)
        b->arena = arena_create();
    report_init(&b->report, b->arena);
    struct text_node *root = json_parse(b->arena, json, strlen(json), JSON_COMMENTS, &b->report);
    assert_non_null(root);
    memset(&b->thing, 0xAA, sizeof b->thing);
    field_init(thing_fields, &b->thing);
    b->rc = field_decode(b->arena, root, thing_fields, &b->thing, "", &b->report);
    assert_int_equal(b->rc == 0, report_ok(&b->report));
}

static const char *encode(struct bench *b)
{
    AUTO_BUF struct buf out = BUF_INIT(100000);
    json_print(field_encode(b->arena, NULL, NULL, thing_fields, &b->thing), 0, &out);
    return arena_strdup(b->arena, buf_str(&out));
}

static void test_defaults(void **state)
{
    (void)state;
    struct bench b = { 0 };
    decode(&b, "{\"name\": \"a\", \"flag\": null}");
    assert_int_equal(b.rc, 0);
    assert_string_equal(b.thing.word, "calm");
    assert_int_equal(b.thing.small, 150);
    assert_int_equal(b.thing.wait, 1000);
    assert_int_equal(b.thing.front.size, 20);
    assert_int_equal(b.thing.count.kind, COUNT_NUMBER);
    assert_int_equal(b.thing.count.n, 1);
    assert_false(b.thing.maybe.has);
    assert_false(b.thing.has_level);
    assert_false(b.thing.flag);
    assert_null(b.thing.tree);
    assert_string_equal(encode(&b), "{\"name\":\"a\"}");
    arena_destroy(b.arena);
}

/* What is read is written again. */
static const char *const same[] = {
    "{\"name\":\"a\",\"word\":\"busy\",\"flag\":true,\"small\":100,\"level\":0,\"big\":7}",
    "{\"name\":\"a\",\"milli\":0.5,\"size\":\"16Gi\",\"wait\":\"1h\",\"maybe\":\"90s\"}",
    "{\"name\":\"a\",\"size\":12345,\"wait\":0,\"code\":-7,\"mood\":\"busy\"}",
    "{\"name\":\"a\",\"list\":\"one\",\"env\":{\"A\":\"1\",\"B\":\"\"},\"count\":\"never\"}",
    "{\"name\":\"a\",\"list\":[\"one\",\"two\"],\"count\":\"always\",\"licence\":0.25}",
    "{\"name\":\"a\",\"count\":5,\"front\":{\"size\":2},\"wheels\":[{\"size\":3},20]}",
    "{\"name\":\"a\",\"named\":{\"left\":4,\"right\":30}}",
    "{\"name\":\"a\",\"tree\":{\"x\":[1,2.5,null,{\"y\":false}]}}",
};

static void test_round_trips(void **state)
{
    (void)state;
    struct bench b = { 0 };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        decode(&b, same[i]);
        assert_int_equal(b.rc, 0);
        const char *once = encode(&b);
        if (!strstr(same[i], "wheels")) /* which has two spellings */
            assert_string_equal(once, same[i]);
        decode(&b, once);
        assert_int_equal(b.rc, 0);
        assert_string_equal(encode(&b), once);
    }
    arena_destroy(b.arena);
}

static void test_other_spellings(void **state)
{
    (void)state;
    struct bench b = { 0 };
    decode(&b, "{\"name\": \"a\", \"milli\": \"500m\", \"size\": 1024, \"wait\": 1.5, \"maybe\": "
               "\"none\", \"count\": 0, \"wheels\": [5], \"env\": {\"N\": 64, \"T\": true}}");
    assert_int_equal(b.rc, 0);
    assert_int_equal(b.thing.milli, 500);
    assert_int_equal(b.thing.size, 1024);
    assert_int_equal(b.thing.wait, 1500);
    assert_int_equal(b.thing.count.kind, COUNT_NEVER);
    assert_int_equal(b.thing.wheels[0].size, 5);
    assert_string_equal(pairs_get(&b.thing.env, "N"), "64");
    assert_string_equal(pairs_get(&b.thing.env, "T"), "true");
    arena_destroy(b.arena);
}

struct bad {
    const char *json, *what, *hint, *fix;
};
static const struct bad bads[] = {
    { "{}", "name is missing", "name: its name", NULL },
    { "{\"name\": \"\"}", "name is empty", "its name", NULL },
    { "{\"name\": \"aaaaaaaaa\"}", "name has 9 bytes, the most are 8", "8 bytes or fewer", NULL },
    { "{\"name\": \"A\"}", "name is \"A\", wanted are lower-case letters", "lower-case letters",
      NULL },
    { "{\"name\": [1]}", "name is a list, not text", "text", NULL },
    { "{\"name\": \"a\", \"small\": 64}", "small is 64, the least is 100",
      "100 or more (MB for one task)", NULL },
    { "{\"name\": \"a\", \"small\": 201}", "small is 201, the most is 200",
      "200 or less (MB for one task)", NULL },
    { "{\"name\": \"a\", \"small\": -5}", "small is -5, the least is 100",
      "100 or more (MB for one task)", NULL },
    { "{\"name\": \"a\", \"small\": \"120\"}", "small is text, not a number: \"120\"",
      "120 without quotes", "120" },
    { "{\"name\": \"a\", \"small\": \"x\"}", "small is \"x\", not a whole number", "a whole number",
      NULL },
    { "{\"name\": \"a\", \"small\": 1.5}", "small is 1.5, not a whole number", "a whole number",
      NULL },
    { "{\"name\": \"a\", \"flag\": 1}", "flag is 1, not true or false", "true or false", NULL },
    { "{\"name\": \"a\", \"milli\": 0.0005}",
      "milli is 0.0005, not a number with at most three decimals",
      "a number with at most three decimals", NULL },
    { "{\"name\": \"a\", \"milli\": 9}", "milli is 9, the most is 8", "8 or less", NULL },
    { "{\"name\": \"a\", \"milli\": -0.5}", "milli is -0.5, the least is 0", "0 or more", NULL },
    { "{\"name\": \"a\", \"size\": \"16 Gi\"}",
      "size is \"16 Gi\", not a size such as 16Gi, 500M or a number of bytes",
      "a size such as 16Gi, 500M or a number of bytes", NULL },
    { "{\"name\": \"a\", \"wait\": \"2h\"}", "wait is \"2h\", the most is 1h", "1h or less", NULL },
    { "{\"name\": \"a\", \"mood\": \"bsy\"}", "mood is \"bsy\", not calm or busy", "busy",
      "\"busy\"" },
    { "{\"name\": \"a\", \"word\": 3}", "word is 3, not calm or busy", "calm or busy", NULL },
    { "{\"name\": \"a\", \"count\": \"alwys\"}",
      "count is \"alwys\", not a number, never or always", "always", "\"always\"" },
    { "{\"name\": \"a\", \"list\": [\"a\", \"\"]}", "list[1] is empty", "text", NULL },
    { "{\"name\": \"a\", \"list\": [1, 2, 3, 4]}", "list has 4 entries, the most are 3",
      "3 or fewer", NULL },
    { "{\"name\": \"a\", \"list\": {\"a\": 1}}", "list is a map, not text or a list of texts",
      "text or a list of texts", NULL },
    { "{\"name\": \"a\", \"env\": {\"A\": [1]}}", "env.A is a list, not text", "text", NULL },
    { "{\"name\": \"a\", \"smal\": 120}", "unknown field \"smal\"", "\"small\"?", "\"small\"" },
    { "{\"name\": \"a\", \"front\": {\"sizes\": 3}}", "unknown field \"sizes\" in front",
      "\"size\"?", "\"size\"" },
    { "{\"name\": \"a\", \"front\": {\"colour\": 3}}", "unknown field \"colour\" in front", "",
      NULL },
    { "{\"name\": \"a\", \"front\": 3}", "front is 3, not a map", "a map", NULL },
    { "{\"name\": \"a\", \"wheels\": [3, {\"size\": 31}]}", "wheels[1].size is 31, the most is 30",
      "30 or less (inches)", NULL },
    { "{\"name\": \"a\", \"wheels\": [1]}", "wheels[0] is 1, the least is 2", "2 or more (inches)",
      NULL },
    { "{\"name\": \"a\", \"named\": {\"L\": 3}}", "named.L is \"L\", wanted are lower-case letters",
      "lower-case letters", NULL },
    { "{\"name\": \"a\", \"LICENCE\": 3}", "LICENCE is \"LICENCE\", wanted are lower-case letters",
      "lower-case letters", NULL },
    { "{\"name\": \"a\", \"at\": \"2026-01-01\"}", "at is \"2026-01-01\", not a time", "a time",
      NULL },
};

/* What is said without the name of the field is the rest of the sentence. */
static void assert_says_of_field(const struct problem *p)
{
    char is[300], other[300];
    if (p->kind == PROBLEM_UNKNOWN_FIELD) {
        assert_null(p->rest);
        return;
    }
    assert_non_null(p->rest);
    snprintf(is, sizeof is, "%s is %s", p->path, p->rest);
    snprintf(other, sizeof other, "%s %s", p->path, p->rest);
    assert_true(strcmp(p->what, is) == 0 || strcmp(p->what, other) == 0);
    assert_int_not_equal(strncmp(p->rest, "is ", 3), 0);
}

static void test_problems(void **state)
{
    (void)state;
    struct bench b = { 0 };
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        decode(&b, bads[i].json);
        assert_int_equal(b.report.n, 1);
        const struct problem *p = &b.report.at[0];
        assert_string_equal(p->what, bads[i].what);
        assert_string_equal(p->hint, bads[i].hint);
        assert_int_equal(p->place.line, 1);
        assert_says_of_field(p);
        if (bads[i].fix)
            assert_string_equal(p->fix, bads[i].fix);
        else
            assert_null(p->fix);
    }
    arena_destroy(b.arena);
}

/* A fix replaces exactly the bytes at its place. */
static void test_fix_applies(void **state)
{
    (void)state;
    struct bench b = { 0 };
    const char *json = "{\"name\": \"a\",\n  \"smal\": \"120\" /* why */}";
    decode(&b, json);
    const struct problem *p = &b.report.at[0];
    AUTO_BUF struct buf fixed = BUF_INIT(1000);
    buf_add(&fixed, json, p->place.offset);
    buf_puts(&fixed, p->fix);
    buf_puts(&fixed, json + p->place.offset + p->place.len);
    assert_string_equal(buf_str(&fixed), "{\"name\": \"a\",\n  \"small\": \"120\" /* why */}");
    assert_int_equal(p->place.line, 2);
    assert_int_equal(p->place.col, 3);
    arena_destroy(b.arena);
}

static void test_all_problems_at_once(void **state)
{
    (void)state;
    struct bench b = { 0 };
    decode(&b, "{\"name\": 3, \"small\": 1, \"flag\": 2, \"wheels\": [1, 2, 99], \"smal\": 1}");
    assert_int_equal(b.report.errors, 6);
    arena_destroy(b.arena);
}

static void test_long_values_are_cut(void **state)
{
    (void)state;
    struct bench b = { 0 };
    decode(&b, "{\"name\": \"a\", \"mood\": \"ääääääääääääääääääääääääääääääääääääääääää\"}");
    assert_non_null(strstr(b.report.at[0].what, "...\", not calm or busy"));
    arena_destroy(b.arena);
}

static void test_stamps_are_encoded(void **state)
{
    (void)state;
    struct bench b = { 0 };
    decode(&b, "{\"name\": \"a\"}");
    b.thing.at = 1000;
    b.thing.job = 36;
    assert_string_equal(encode(&b), "{\"name\":\"a\",\"at\":\"1970-01-01T00:00:01.000Z\",\"job\":"
                                    "\"0000000000010\"}");
    arena_destroy(b.arena);
}

static void test_schema_has_every_row(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct text_node *schema = field_schema(arena, thing_fields);
    const struct text_node *properties = text_get(schema, "properties");
    for (const struct field *f = thing_fields; f->name; f++) {
        const struct text_node *property = text_get(properties, f->name);
        assert_true(f->flags & FIELD_REST ? !property : property != NULL);
        if (property)
            assert_string_equal(text_get(property, "description")->str, f->doc);
    }
    assert_string_equal(text_get(schema, "required")->first->str, "name");
    assert_int_equal(text_get(text_get(properties, "small"), "minimum")->integer, 100);
    assert_int_equal(text_get(schema, "additionalProperties")->kind, TEXT_MAP);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_other_spellings),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_fix_applies),
        cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_stamps_are_encoded),
        cmocka_unit_test(test_schema_has_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
