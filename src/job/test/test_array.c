/* Arrays: every way of writing one, positions and indexes both ways, and what the states of members
 * make of the whole. */
#include "job/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "job/job.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static struct job_spec *read_array(struct arena *arena, const char *array, struct report *report)
{
    char text[300];
    snprintf(text, sizeof text, "{\"name\":\"x\",\"array\":%s,\"roles\":{\"w\":{\"run\":\"x\"}}}",
             array);
    report_init(report, arena);
    struct text_node *tree = json_parse(arena, arena_strdup(arena, text), strlen(text), 0, report);
    assert_non_null(tree);
    return job_decode(arena, tree, report);
}

static void forms(void **state)
{
    static const struct {
        const char *text;
        struct job_array is;
        const char *range;
    } rows[] = {
        { "100", { .count = 100, .step = 1 }, "0-99" },
        { "1", { .count = 1, .step = 1 }, "0" },
        { "\"5\"", { .count = 1, .first = 5, .step = 1 }, "5" },
        { "\"1-9\"", { .count = 9, .first = 1, .step = 1 }, "1-9" },
        { "\"1-9:2\"", { .count = 5, .first = 1, .step = 2 }, "1-9:2" },
        { "\"1-10:4%2\"", { .count = 3, .first = 1, .step = 4, .at_once = 2 }, "1-9:4" },
        { "\"0-9999%10\"", { .count = 10000, .step = 1, .at_once = 10 }, "0-9999" },
        { "{\"count\":4,\"at_once\":2}", { .count = 4, .step = 1, .at_once = 2 }, "0-3" },
        { "{\"count\":4,\"first\":10,\"step\":5}",
          { .count = 4, .first = 10, .step = 5 },
          "10-25:5" },
        { "0", { .count = 0, .step = 1 }, NULL },
    };
    struct arena *arena = arena_create();
    struct report report;
    char range[JOB_ARRAY_TEXT];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job_spec *job = read_array(arena, rows[i].text, &report);
        assert_non_null(job);
        assert_memory_equal(&job->array, &rows[i].is, sizeof job->array);
        if (rows[i].range)
            assert_string_equal(job_array_range(range, &job->array), rows[i].range);
        struct job_spec *again = job_decode(arena, job_encode(arena, job), &report);
        assert_memory_equal(&again->array, &rows[i].is, sizeof job->array);
    }
    arena_destroy(arena);
}

static void what_is_no_array(void **state)
{
    static const char *const rows[] = {
        "10001",
        "-1",
        "\"\"",
        "\"a\"",
        "\"9-1\"",
        "\"1-\"",
        "\"1-9:0\"",
        "\"1-9%0\"",
        "\"1-9:2x\"",
        "\"0-10000\"",
        "\"0-9%\"",
        "\"1,3\"",
        "true",
        "{}",
        "{\"count\":0}",
        "[1]",
        "{\"count\":3,\"step\":0}",
        "{\"count\":3,\"at\":1}",
        "\"99999999999999999999-1\"",
    };
    struct arena *arena = arena_create();
    struct report report;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (read_array(arena, rows[i], &report))
            fail_msg("%s was taken", rows[i]);
        assert_true(report.errors > 0);
        assert_non_null(strstr(report.at[0].path, "array"));
    }
    arena_destroy(arena);
}

static void positions(void **state)
{
    const struct job_array array = { .count = 5, .first = 1, .step = 2 };
    (void)state;
    for (uint32_t i = 0; i < array.count; i++)
        assert_int_equal(job_array_position(&array, job_array_index(&array, i)), i);
    assert_int_equal(job_array_position(&array, 0), UINT32_MAX);
    assert_int_equal(job_array_position(&array, 2), UINT32_MAX);
    assert_int_equal(job_array_position(&array, 11), UINT32_MAX);
    assert_int_equal(job_array_position(&array, UINT64_MAX), UINT32_MAX);
}

static void states(void **state)
{
    static const struct {
        uint32_t counts[JOB_STATE_N];
        enum job_state is;
        const char *text;
    } rows[] = {
        { { [JOB_QUEUED] = 3 }, JOB_QUEUED, "3 queued" },
        { { [JOB_SUSPENDED] = 3 }, JOB_SUSPENDED, "3 suspended" },
        { { [JOB_SUSPENDED] = 2, [JOB_QUEUED] = 1 }, JOB_QUEUED, "1 queued, 2 suspended" },
        { { [JOB_STARTING] = 1, [JOB_QUEUED] = 2 }, JOB_RUNNING, "1 starting, 2 queued" },
        { { [JOB_QUEUED] = 60, [JOB_RUNNING] = 3, [JOB_SUCCEEDED] = 37 },
          JOB_RUNNING,
          "3 running, 60 queued, 37 succeeded" },
        { { [JOB_SUSPENDED] = 2, [JOB_SUCCEEDED] = 1 }, JOB_SUSPENDED, "2 suspended, 1 succeeded" },
        { { [JOB_QUEUED] = 2, [JOB_FAILED] = 1 }, JOB_RUNNING, "2 queued, 1 failed" },
        { { [JOB_SUCCEEDED] = 3 }, JOB_SUCCEEDED, "3 succeeded" },
        { { [JOB_SUCCEEDED] = 3, [JOB_STOPPED] = 1 }, JOB_STOPPED, "1 stopped, 3 succeeded" },
        { { [JOB_SUCCEEDED] = 3, [JOB_STOPPED] = 1, [JOB_FAILED] = 1 },
          JOB_FAILED,
          "1 failed, 1 stopped, 3 succeeded" },
    };
    char text[JOB_ARRAY_TEXT];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(job_array_state(rows[i].counts), rows[i].is);
        assert_string_equal(job_array_counts(text, rows[i].counts), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(what_is_no_array),
        cmocka_unit_test(positions),
        cmocka_unit_test(states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
