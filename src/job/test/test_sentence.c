/* Sentences that name a job: made, cut, packed and read back, and what older versions wrote, where
 * the name stands in the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/old_sentence.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void check(struct arena *a, const struct sentence *s, const char *hidden, const char *full)
{
    assert_string_equal(s->text, hidden);
    assert_string_equal(sentence_with(a, s, NULL), full);
    assert_string_equal(sentence_with(a, s, HIDDEN_JOB), hidden);
}

static void test_draft(void **state)
{
    struct arena *a = arena_create();
    struct draft one, two;
    (void)state;
    draft_init(&one);
    draft_add(&one, "waits for ");
    draft_name(&one, 12, "job 12 (prep)");
    draft_add(&one, " to end %s", "well");
    struct sentence said = draft_said(&one);
    check(a, &said, "waits for another user's job to end well",
          "waits for job 12 (prep) to end well");
    draft_init(&two);
    draft_add(&two, "[%u] ", 3u);
    draft_sentence(&two, &said);
    draft_name(&two, 13, "job 13"); /* of two, one can be told */
    said = draft_said(&two);
    check(a, &said, "[3] waits for another user's job to end wellanother user's job",
          "[3] waits for job 12 (prep) to end wellanother user's job");
    draft_init(&two);
    draft_sentence(&two, &(struct sentence){ .text = NULL });
    draft_sentence(&two, &(struct sentence){ .text = "100% plain" });
    said = draft_said(&two);
    check(a, &said, "100% plain", "100% plain");
    arena_destroy(a);
}

/* A name that does not fit whole in the text is not named at all. */
static void test_cut(void **state)
{
    char name[SENTENCE_NAME + 20];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int more = 0; more < 60; more++) {
        struct arena *a = arena_create();
        struct draft d;
        draft_init(&d);
        draft_add(&d, "%*s", SENTENCE_MAX - 40 + more, "x");
        draft_name(&d, 7, name);
        draft_add(&d, " and so on");
        struct sentence said = draft_said(&d);
        assert_true(strlen(said.text) < SENTENCE_MAX);
        assert_true(said.named.number == 0 || said.named.at + said.named.len <= strlen(said.text));
        assert_int_equal(said.named.number != 0, more < 40 - (int)strlen(HIDDEN_JOB));
        assert_non_null(sentence_with(a, &said, NULL));
        arena_destroy(a);
    }
}

static void test_packed(void **state)
{
    static const struct {
        const char *packed;
        uint64_t number;
    } rows[] = {
        { "", 0 },
        { "{\"job\":12,\"at\":0,\"len\":5,\"called\":\"a\"}", 12 },
        { "{\"job\":12,\"at\":5,\"len\":0,\"called\":\"a\"}", 12 },
        { "{\"job\":12,\"at\":1,\"len\":5,\"called\":\"a\"}", 0 }, /* past the end */
        { "{\"job\":12,\"at\":6,\"len\":0,\"called\":\"a\"}", 0 },
        { "{\"job\":12,\"at\":-1,\"len\":2,\"called\":\"a\"}", 0 },
        { "{\"job\":-12,\"at\":1,\"len\":2,\"called\":\"a\"}", 0 },
        { "{\"job\":12,\"at\":1,\"len\":2}", 0 },
        { "{\"job\":12,\"at\":1,\"len\":2,\"called\":3}", 0 },
        { "[]", 0 },
        { "{", 0 },
        { "12", 0 },
    };
    struct arena *a = arena_create();
    struct draft d;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(named_job_unpack(a, "12345", rows[i].packed).number, rows[i].number);
    assert_int_equal(named_job_unpack(a, NULL, rows[1].packed).number, 0);
    draft_init(&d);
    draft_add(&d, "makes room for ");
    draft_name(&d, UINT32_MAX, "job 4294967295 (\"q\" \xc3\xa9)");
    const struct sentence said = draft_said(&d);
    AUTO_FREE char *packed = named_job_pack(&said.named);
    struct sentence back = recorded_sentence(a, said.text, packed);
    assert_true(sentence_same(&said, &back));
    assert_int_equal(back.named.at, said.named.at);
    assert_int_equal(back.named.len, said.named.len);
    back.named.number++;
    assert_false(sentence_same(&said, &back));
    const struct sentence none = { .text = "plain" };
    AUTO_FREE char *empty = named_job_pack(&none.named);
    assert_string_equal(empty, "");
    arena_destroy(a);
}

/* ---- what versions before 6 wrote ---- */

static const char *const names[] = {
    "prep",
    "a (b) c",
    "x) was promised it",
    "y) to end",
    "job 7 (z)",
    ": job 3 is suspended",
    "a name of a hundred bytes, which is as long as a name gets where it stands in a reason, and so on..",
};
static const struct {
    const char *before, *after;
    bool last; /* nothing follows */
} clauses[] = {
    { "makes room for ", "", true },      { "there is room, and ", " was promised it", false },
    { "waits for ", " to end", false },   { "waited for ", " to end", false },
    { "replaced by ", "", true },         { ": ", " is suspended", false },
    { ", and ", " names others", false },
};
static const char *const forms[] = { "job 12", "job 12 (%s)", "array 12 (%s)", "12[3] (%s)" };

static void check_old(struct arena *a, size_t clause, const char *called)
{
    const char *rest = clauses[clause].last ? "" : " well, x";
    const char *full = arena_printf(a, "before%s%s%s%s", clauses[clause].before, called,
                                    clauses[clause].after, rest),
               *hidden = arena_printf(a, "before%s" HIDDEN_JOB "%s%s", clauses[clause].before,
                                      clauses[clause].after, rest);
    const struct sentence said = recorded_sentence(a, full, NULL);
    assert_int_equal(said.named.number, 12);
    check(a, &said, hidden, full);
}

static void test_old(void **state)
{
    struct arena *a = arena_create();
    (void)state;
    for (size_t clause = 0; clause < ARRAY_LEN(clauses); clause++)
        for (size_t form = 0; form < ARRAY_LEN(forms); form++)
            for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                char called[200];
                const char *fmt = forms[form], *open = strchr(fmt, '%');
                snprintf(called, sizeof called, "%.*s%s%s", (int)(open ? open - fmt : 90), fmt,
                         open ? names[i] : "", open ? ")" : "");
                check_old(a, clause, called);
            }
    arena_destroy(a);
}

/* What only looks like one, and what was cut. */
static void test_old_others(void **state)
{
    static const char *const plain[] = {
        "",
        "behind 3 jobs",
        "waits for a while",
        "waits for job x to end",
        "waits for job 12",
        "waited for job 99, which is no longer known",
        "makes room for job ",
        "gpu: 4 short; n1 comes closest with 0 of 4 free",
        "it says: job 1 has failed",
        "waits for 1[ (x) to end",
    };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        const struct sentence said = recorded_sentence(a, plain[i], NULL);
        assert_int_equal(said.named.number, 0);
        check(a, &said, plain[i], plain[i]);
    }
    const struct sentence cut = old_sentence(a, "waits for job 1 (cut sho");
    assert_int_equal(cut.named.number, 1);
    check(a, &cut, "waits for another user's job", "waits for job 1 (cut sho");
    assert_null(old_sentence(a, NULL).text);
    /* What is written now is not searched. */
    assert_int_equal(recorded_sentence(a, "makes room for job 1 (x)", "").named.number, 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draft),      cmocka_unit_test(test_cut),
        cmocka_unit_test(test_packed),     cmocka_unit_test(test_old),
        cmocka_unit_test(test_old_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
