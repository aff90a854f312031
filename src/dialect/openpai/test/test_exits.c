/* The exit specification of v1 and its state words. Memory that ran out is told apart from other
 * SIGKILLs, but not where the program chose its code. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/v1.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_table(void **state)
{
    (void)state;
    size_t n;
    const struct openpai_exit *rows = openpai_exits(&n);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i - 1].code < rows[i].code);
        assert_true(rows[i].phrase[0] && rows[i].causer[0] && rows[i].type[0] && rows[i].text[0]);
        assert_int_not_equal(rows[i].class, END_NONE);
        assert_ptr_equal(openpai_exit_find(rows[i].code), &rows[i]);
        if (strcmp(rows[i].type, "RESOURCE_ALLOCATION_TIMEOUT") == 0)
            assert_int_equal(rows[i].class, END_CONFLICT);
        if (strcmp(rows[i].type, "UNKNOWN_FAILURE") == 0)
            assert_int_equal(rows[i].class, END_UNKNOWN);
    }
    assert_int_equal(openpai_exit_find(77)->code, 256);
    assert_int_equal(openpai_exit_find(-9)->code, -8000);
}

struct row {
    struct ending ending;
    int code;
    enum end_class class;
};

static const struct row rows[] = {
    { .ending = { .exited = true, .by = BY_ITSELF }, .code = 0, .class = END_SUCCESS },
    { .ending = { .exited = true, .code = 1, .by = BY_ITSELF }, .code = 255, .class = END_UNKNOWN },
    { .ending = { .exited = true, .code = 127, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    { .ending = { .exited = true, .code = 254, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    /* codes of the table that only the platform gives */
    { .ending = { .exited = true, .code = 193, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    { .ending = { .exited = true, .code = 124, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    /* a shell says 128 + n for its child's signal */
    { .ending = { .exited = true, .code = 139, .by = BY_ITSELF }, .code = 139, .class = END_USER },
    { .ending = { .exited = true, .code = 129, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    { .ending = { .signal = SIGINT, .by = BY_STRANGER }, .code = 130, .class = END_PLATFORM },
    { .ending = { .signal = SIGILL, .by = BY_ITSELF }, .code = 132, .class = END_USER },
    { .ending = { .signal = SIGABRT, .by = BY_ITSELF }, .code = 134, .class = END_UNKNOWN },
    { .ending = { .signal = SIGBUS, .by = BY_ITSELF }, .code = 135, .class = END_USER },
    { .ending = { .signal = SIGFPE, .by = BY_ITSELF }, .code = 136, .class = END_USER },
    { .ending = { .signal = SIGKILL, .by = BY_STRANGER }, .code = 137, .class = END_PLATFORM },
    { .ending = { .signal = SIGSEGV, .by = BY_ITSELF }, .code = 139, .class = END_USER },
    { .ending = { .signal = SIGPIPE, .by = BY_ITSELF }, .code = 141, .class = END_USER },
    { .ending = { .signal = SIGTERM, .by = BY_STRANGER }, .code = 143, .class = END_PLATFORM },
    { .ending = { .signal = SIGUSR1, .by = BY_STRANGER }, .code = 255, .class = END_UNKNOWN },
    /* out of memory: told apart from other SIGKILLs, but not when the program chose its code */
    { .ending = { .signal = SIGKILL, .oom = true, .by = BY_KERNEL },
      .code = 196,
      .class = END_USER },
    { .ending = { .exited = true, .code = 137, .oom = true, .by = BY_ITSELF },
      .code = 196,
      .class = END_USER },
    { .ending = { .exited = true, .code = 1, .oom = true, .by = BY_ITSELF },
      .code = 255,
      .class = END_UNKNOWN },
    { .ending = { .exited = true, .code = 0, .oom = true, .by = BY_ITSELF },
      .code = 0,
      .class = END_SUCCESS },
    /* ended by muster, whatever the signal was */
    { .ending = { .signal = SIGTERM, .by = BY_USER }, .code = -7351, .class = END_STOPPED },
    { .ending = { .signal = SIGKILL, .by = BY_POLICY }, .code = -7400, .class = END_STOPPED },
    { .ending = { .signal = SIGKILL, .by = BY_LIMIT }, .code = 124, .class = END_USER },
    { .ending = { .signal = SIGKILL, .by = BY_LIMIT, .cause = CAUSE_MEMORY },
      .code = 196,
      .class = END_USER },
    { .ending = { .signal = SIGKILL, .oom = true, .by = BY_LIMIT },
      .code = 196,
      .class = END_USER },
    /* the platform */
    { .ending = { .lost = true, .by = BY_PLATFORM }, .code = -7111, .class = END_PLATFORM },
    { .ending = { .lost = true }, .code = -7111, .class = END_PLATFORM },
    { .ending = { .by = BY_PLATFORM }, .code = -7150, .class = END_PLATFORM },
    { .ending = { .by = BY_PLATFORM, .cause = CAUSE_NODE_FULL },
      .code = -7102,
      .class = END_PLATFORM },
    { .ending = { .by = BY_CONFLICT }, .code = -7103, .class = END_CONFLICT },
    /* never ran */
    { .ending = { .by = BY_ITSELF }, .code = -7251, .class = END_USER },
    { .ending = { .by = BY_NONE }, .code = -8000, .class = END_UNKNOWN },
};

static void test_classify(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct end_words words = v1_classify(NULL, &rows[i].ending);
        if (words.code != rows[i].code)
            fail_msg("row %zu: code %d, wanted %d", i, words.code, rows[i].code);
        assert_int_equal(words.class, rows[i].class);
        assert_string_equal(words.phrase, openpai_exit_find(rows[i].code)->phrase);
    }
}

static void test_phrases(void **state)
{
    (void)state;
    assert_string_equal(openpai_exit_find(196)->phrase, "CONTAINER_OOM_KILLED_BY_DOCKER");
    assert_string_equal(openpai_exit_find(137)->phrase, "CONTAINER_KILLED_BY_SIGKILL");
    assert_string_equal(openpai_exit_find(255)->phrase, "CONTAINER_RUNTIME_UNKNOWN_FAILURE");
    assert_string_equal(openpai_exit_find(-7351)->phrase, "APP_STOP_FRAMEWORK_REQUESTED");
    assert_string_equal(openpai_exit_find(-7400)->phrase, "TASK_STOPPED_ON_APP_COMPLETION");
}

static void test_job_words(void **state)
{
    (void)state;
    for (int s = JOB_SUSPENDED; s < JOB_STATE_N; s++) {
        enum job_state job = (enum job_state)s;
        const char *word = v1_job_word(job, true), *idle = v1_job_word(job, false);
        if (job_state_final(job))
            assert_string_equal(word, idle);
        else {
            assert_string_equal(word, "RUNNING");
            assert_string_equal(idle, "WAITING");
        }
    }
    assert_string_equal(v1_job_word(JOB_SUCCEEDED, false), "SUCCEEDED");
    assert_string_equal(v1_job_word(JOB_FAILED, false), "FAILED");
    assert_string_equal(v1_job_word(JOB_STOPPED, true), "STOPPED");
}

static void test_task_words(void **state)
{
    (void)state;
    static const char *const words[TASK_STATE_N] = {
        [TASK_WAITING] = "WAITING",     [TASK_STARTING] = "WAITING", [TASK_RUNNING] = "RUNNING",
        [TASK_SUCCEEDED] = "SUCCEEDED", [TASK_FAILED] = "FAILED",    [TASK_STOPPED] = "STOPPED",
    };
    for (int s = TASK_WAITING; s < TASK_STATE_N; s++)
        assert_string_equal(v1_task_word((enum task_state)s), words[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_classify),
        cmocka_unit_test(test_phrases),    cmocka_unit_test(test_job_words),
        cmocka_unit_test(test_task_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
