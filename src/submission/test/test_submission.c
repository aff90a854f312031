/* Which submissions are the same, what is kept of what stood beside a text, and in what jobs
 * differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialect/dialect.h"
#include "submission/difference.h"
#include "submission/submission.h"
#include "text/json.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

#define BASE                                                                                       \
    {                                                                                              \
        .owner = "ada", .text = "{}", .len = 2, .queue = "q"                                       \
    }

static bool same(const struct submission *a, const struct submission *b)
{
    unsigned char x[SUBMISSION_HASH], y[SUBMISSION_HASH];
    submission_hash(a, x);
    submission_hash(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

static void what_is_said_makes_the_hash(void **state)
{
    (void)state;
    const struct submission first = BASE;
    struct submission other = BASE;
    assert_true(same(&first, &other));
    other.owner = "bob"; /* keys are an owner's */
    other.python = "/opt/env/bin/python";
    other.python_from = "VIRTUAL_ENV"; /* of another shell by chance */
    assert_true(same(&first, &other));
    assert_false(submission_names_python(&other));
    other.python_from = PYTHON_BY_OPTION;
    assert_true(submission_names_python(&other));
    assert_false(same(&first, &other));
    other = first;
    other.queue = NULL;
    other.name = "q"; /* parts are kept apart */
    assert_false(same(&first, &other));
    other = first;
    other.text = "[]";
    assert_false(same(&first, &other));
}

static void values_of_variables_are_not_kept(void **state)
{
    (void)state;
    const char *sets[] = { "roles.w.replicas=2" };
    struct arena *arena = arena_create();
    struct submission ask = BASE;
    AUTO_BUF struct buf text = BUF_INIT(1000);
    ask.sets = (struct words){ .at = sets, .n = 1 };
    ask.code_dir = "/code";
    pairs_set(&ask.env, arena, "TOKEN", "secret");
    json_print(submission_differs(&ask, arena), 0, &text);
    assert_string_equal(buf_str(&text),
                        "[\"queue=q\",\"code=/code\",\"roles.w.replicas=2\",\"env TOKEN\"]");
    arena_destroy(arena);
}

static struct job_spec *job(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    return job_decode(arena, json_parse(arena, text, strlen(text), 0, &report), &report);
}

static void jobs_differ_in_named_fields(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct job_spec *is = job(arena, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\"}}}");
    const struct job_spec *held =
        job(arena, "{\"name\":\"j\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}");
    const struct job_spec *other =
        job(arena, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"y\",\"replicas\":2}}}");
    assert_null(job_difference(arena, is, held));
    const char *text = job_difference(arena, is, other);
    assert_non_null(strstr(text, "roles.w.run is \"x\", not \"y\""));
    assert_non_null(strstr(text, "roles.w.replicas is "));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_said_makes_the_hash),
                                        cmocka_unit_test(values_of_variables_are_not_kept),
                                        cmocka_unit_test(jobs_differ_in_named_fields) };
    return cmocka_run_group_tests_name("submission/submission", tests, NULL, NULL);
}
