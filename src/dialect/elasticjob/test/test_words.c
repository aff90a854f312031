/* The table of exit classes, who ended what, and the words for states. No two rows of the table are
 * alike. */
#include "dialect/elasticjob/test/sample.h"

#include "dialect/elasticjob/words.h"

#include <signal.h>

static struct job_spec *job_of(struct arena *arena, const char *strategy, const char *pod)
{
    const struct sample s = { .strategy = strategy, .pod = pod };
    return sample_job(arena, &s);
}

static void is(const struct job_spec *job, struct ending e, enum end_class class,
               const char *phrase)
{
    struct end_words words = ej_classify(job, &e);
    if (words.class != class || strcmp(words.phrase, phrase) != 0)
        fail_msg("code %d signal %d: %s %s", e.code, e.signal, end_class_word(words.class),
                 words.phrase);
}

static void exits(const struct job_spec *job, int code, enum end_class class, const char *phrase)
{
    is(job, (struct ending){ .exited = true, .code = code, .by = BY_ITSELF }, class, phrase);
}

static void test_codes(void **state)
{
    const struct job_spec *ring = job_of(*state, "AllreduceStrategy", "");
    const struct job_spec *servers = job_of(*state, "ParameterServerStrategy", "");
    const struct job_spec *always =
        job_of(*state, "ParameterServerStrategy", "\"restartPolicy\": \"Always\",");
    exits(ring, 0, END_SUCCESS, "Succeeded");
    exits(ring, 1, END_UNKNOWN, "Error");
    exits(servers, 1, END_USER, "Error");
    exits(always, 1, END_UNKNOWN, "Error");
    exits(servers, 134, END_USER, "Error");
    exits(servers, 137, END_PLATFORM, "Deleted");
    exits(ring, 143, END_PLATFORM, "Deleted");
    exits(ring, 201, END_UNKNOWN, "HardwareError");
    exits(ring, 202, END_UNKNOWN, "HardwareError");
    exits(ring, 14, END_UNKNOWN, "HardwareError");
    exits(ring, 128, END_UNKNOWN, "UnknownError");
    exits(servers, 2, END_UNKNOWN, "UnknownError");
    exits(ring, 247, END_USER, "OOMKilled");
    exits(servers, 247, END_UNKNOWN, "OOMKilled");
}

static void test_who_ended_it(void **state)
{
    const struct job_spec *ring = job_of(*state, "AllreduceStrategy", "");
    const struct job_spec *servers = job_of(*state, "ParameterServerStrategy", "");
    struct ending killed = { .signal = SIGKILL, .by = BY_STRANGER };
    struct ending oom = { .signal = SIGKILL, .by = BY_KERNEL, .oom = true };
    is(ring, killed, END_PLATFORM, "Deleted");
    is(ring, oom, END_USER, "OOMKilled");
    is(servers, oom, END_UNKNOWN, "OOMKilled");
    is(ring, (struct ending){ .lost = true }, END_PLATFORM, "NoHeartBeat");
    is(ring, (struct ending){ .signal = SIGTERM, .by = BY_USER }, END_STOPPED, "Released");
    is(ring, (struct ending){ .signal = SIGTERM, .by = BY_POLICY }, END_STOPPED, "Released");
    is(ring, (struct ending){ .by = BY_CONFLICT }, END_CONFLICT, "PortConflict");
    is(ring, (struct ending){ .by = BY_LIMIT }, END_USER, "OverLimit");
    is(ring, (struct ending){ .by = BY_ITSELF }, END_USER, "Error");
}

static void test_rows_are_unlike(void **state)
{
    size_t n;
    const struct ej_exit *rows = ej_exits(&n);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_non_null(rows[i].text);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(rows[i].code, rows[k].code);
    }
    assert_int_equal(rows[n - 1].code, EJ_EXIT_OTHER);
}

static void test_phases(void **state)
{
    (void)state;
    assert_string_equal(ej_job_word(JOB_SUSPENDED, false), "Suspended");
    assert_string_equal(ej_job_word(JOB_QUEUED, false), "Running");
    assert_string_equal(ej_job_word(JOB_STARTING, true), "Running");
    assert_string_equal(ej_job_word(JOB_RUNNING, true), "Running");
    assert_string_equal(ej_job_word(JOB_RESTARTING, false), "Restarting");
    assert_string_equal(ej_job_word(JOB_SUCCEEDED, false), "Succeeded");
    assert_string_equal(ej_job_word(JOB_FAILED, false), "Failed");
    for (enum job_state s = JOB_NONE + 1; s < JOB_STATE_N; s++)
        assert_non_null(ej_job_word(s, false));
    assert_string_equal(ej_task_word(TASK_WAITING), "Pending");
    assert_string_equal(ej_task_word(TASK_STOPPED), "Deleted");
    assert_string_equal(ej_task_word(TASK_RUNNING), "Running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAMPLE_TEST(test_codes),
        SAMPLE_TEST(test_who_ended_it),
        SAMPLE_TEST(test_rows_are_unlike),
        SAMPLE_TEST(test_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
