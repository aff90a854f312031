/* The exit specification of v1.x as version 2 has it: its table, what the output of a program says
 * of its end, and the state words. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/v2.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_table(void **state)
{
    (void)state;
    size_t n;
    const struct openpai_exit *rows = openpai_v2_exits(&n);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i - 1].code < rows[i].code);
        assert_true(rows[i].phrase[0] && rows[i].type[0] && rows[i].text[0]);
        assert_int_not_equal(rows[i].class, END_NONE);
        if (strcmp(rows[i].type, "RESOURCE_ALLOCATION_TIMEOUT") == 0)
            assert_int_equal(rows[i].class, END_CONFLICT);
        if (strcmp(rows[i].type, "UNKNOWN_FAILURE") == 0)
            assert_int_equal(rows[i].class, END_UNKNOWN);
    }
}

#define EXITED(n) .exited = true, .code = (n), .by = BY_ITSELF

static const struct row {
    struct ending ending;
    int code;
    enum end_class class;
} rows[] = {
    { { EXITED(0) }, 0, END_SUCCESS },
    { { EXITED(1) }, 255, END_UNKNOWN },
    { { EXITED(1), .tail = "" }, 255, END_UNKNOWN },
    { { EXITED(253) }, 255, END_UNKNOWN }, /* only the platform gives it */
    { { EXITED(127) }, 255, END_UNKNOWN },
    { { EXITED(127), .tail = "bash: line 2: pyhton: Command not found\n" }, 220, END_USER },
    { { EXITED(1), .tail = "x: command not found" }, 255, END_UNKNOWN }, /* somewhere in a script */
    { { EXITED(1), .tail = "ModuleNotFoundError: No module named 'x'" }, 232, END_USER },
    { { EXITED(1), .tail = "RuntimeError: CUDA out of memory." }, 226, END_USER },
    { { EXITED(1), .tail = "CUDA_ERROR_ECC_UNCORRECTABLE" }, 223, END_PLATFORM },
    { { EXITED(1), .tail = "CUDA error: uncorrectable ECC error encountered" }, 223, END_PLATFORM },
    { { EXITED(1), .tail = "IndexError: list index out of range" }, 233, END_USER },
    { { EXITED(1), .tail = "index out of range, says IndexError:" }, 255, END_UNKNOWN },
    { { EXITED(0), .tail = "ImportError: caught" }, 0, END_SUCCESS },
    { { EXITED(200) }, 200, END_PLATFORM },
    { { EXITED(201) }, 201, END_CONFLICT },
    { { EXITED(210) }, 210, END_USER },
    { { EXITED(137) }, 137, END_PLATFORM },
    { { EXITED(128) }, 128, END_UNKNOWN },
    { { EXITED(139) }, 139, END_UNKNOWN }, /* never in the older releases */
    { { .signal = SIGQUIT, .by = BY_STRANGER }, 131, END_PLATFORM },
    { { .signal = SIGKILL, .by = BY_STRANGER }, 137, END_PLATFORM },
    { { .signal = SIGKILL, .oom = true, .by = BY_KERNEL }, -1200, END_USER },
    { { EXITED(137), .oom = true }, -1200, END_USER },
    { { .by = BY_USER }, -210, END_STOPPED },
    { { .by = BY_POLICY }, -220, END_STOPPED },
    { { .by = BY_CONFLICT }, 253, END_CONFLICT },
    { { .by = BY_LIMIT }, -1004, END_USER },
    { { .by = BY_LIMIT, .cause = CAUSE_MEMORY }, -1200, END_USER },
    { { .by = BY_PLATFORM, .lost = true }, -1001, END_PLATFORM },
    { { .by = BY_PLATFORM, .cause = CAUSE_NODE_FULL }, -1000, END_PLATFORM },
    { { .by = BY_PLATFORM }, -120, END_PLATFORM },
    { { .lost = true }, -1001, END_PLATFORM },
    { { .by = BY_ITSELF }, -200, END_USER },
    { { .by = BY_NONE }, -8000, END_UNKNOWN },
};

static void test_endings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct end_words words = v2_classify(NULL, &rows[i].ending);
        if (words.code != rows[i].code || words.class != rows[i].class)
            fail_msg("row %zu: %d (class %d), not %d", i, words.code, (int)words.class,
                     rows[i].code);
    }
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(v2_job_word(JOB_QUEUED, false), "WAITING");
    assert_string_equal(v2_job_word(JOB_RUNNING, true), "RUNNING");
    assert_string_equal(v2_job_word(JOB_STOPPING, true), "STOPPING");
    assert_string_equal(v2_job_word(JOB_STOPPED, false), "STOPPED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
