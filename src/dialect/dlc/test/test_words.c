/* States and ends in DLC's words: every state has one, and every way a process can end has a class,
 * a code and a phrase. */
#include "dialect/dlc/test/sample.h"

#include "dialect/dlc/words.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_states(void **state)
{
    (void)state;
    size_t n = 0;
    const struct dlc_status *all = dlc_statuses(&n);
    assert_string_equal(dlc_job_word(JOB_QUEUED, false), "Queuing");
    assert_string_equal(dlc_job_word(JOB_SUSPENDED, false), "Queuing");
    assert_string_equal(dlc_job_word(JOB_STARTING, true), "EnvPreparing");
    assert_string_equal(dlc_job_word(JOB_STOPPED, false), "Stopped");
    for (enum job_state s = JOB_NONE + 1; s < JOB_STATE_N; s++) {
        const struct dlc_status *row = NULL;
        for (size_t i = 0; i < n; i++)
            if (all[i].state == s)
                row = &all[i];
        assert_non_null(row); /* every state has a word */
        assert_int_equal(row->final, job_state_final(s));
    }
    assert_string_equal(dlc_task_word(TASK_STARTING), "Pending");
    assert_string_equal(dlc_task_word(TASK_FAILED), "Failed");
}

static const struct {
    struct ending ending;
    enum end_class class;
    int code;
    const char *phrase;
} ends[] = {
    { { .exited = true, .code = 0, .by = BY_ITSELF }, END_SUCCESS, 0, "Completed" },
    { { .exited = true, .code = 1, .by = BY_ITSELF }, END_USER, 1, "Error" },
    { { .exited = true, .code = 127, .by = BY_ITSELF }, END_USER, 127, "CannotRun" },
    { { .exited = true, .code = 138, .by = BY_ITSELF }, END_UNKNOWN, 138, "PleaseRetry" },
    { { .exited = true, .code = 245, .by = BY_ITSELF }, END_UNKNOWN, 245, "NcclTimeout" },
    { { .exited = true, .code = 255, .by = BY_ITSELF }, END_UNKNOWN, 255, "RemoteShell" },
    { { .exited = true, .code = 77, .by = BY_ITSELF }, END_USER, 77, "Error" },
    { { .signal = SIGKILL, .by = BY_STRANGER }, END_PLATFORM, 137, "Killed" },
    { { .signal = SIGTERM, .by = BY_STRANGER }, END_PLATFORM, 143, "Terminated" },
    { { .signal = SIGSEGV, .by = BY_ITSELF }, END_USER, 139, "SegmentationFault" },
    { { .signal = SIGFPE, .by = BY_ITSELF }, END_USER, 136, "Error" },
    { { .signal = SIGKILL, .oom = true, .by = BY_KERNEL }, END_USER, 137, "OOMKilled" },
    { { .signal = SIGKILL, .oom = true, .by = BY_LIMIT }, END_USER, 137, "OOMKilled" },
    { { .signal = SIGTERM, .by = BY_LIMIT }, END_USER, 143, "DeadlineExceeded" },
    { { .signal = SIGTERM, .by = BY_USER }, END_STOPPED, 143, "StoppedByUser" },
    { { .signal = SIGTERM, .by = BY_POLICY }, END_STOPPED, 143, "JobEnded" },
    { { .by = BY_CONFLICT }, END_CONFLICT, 137, "PortConflict" },
    { { .lost = true, .by = BY_PLATFORM }, END_PLATFORM, 137, "NodeLost" },
    { { .by = BY_PLATFORM }, END_PLATFORM, 137, "CreateFailed" },
    { { .by = BY_ITSELF }, END_USER, 126, "CannotRun" },
};

static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct end_words words = dlc_classify(NULL, &ends[i].ending);
        if (words.class != ends[i].class || words.code != ends[i].code ||
            strcmp(words.phrase, ends[i].phrase) != 0)
            fail_msg("row %zu: %s %d %s", i, end_class_word(words.class), words.code, words.phrase);
        assert_true(words.text && *words.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
