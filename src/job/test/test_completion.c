/* Completion policy and retry, by tables: every row of the rules that OpenPAI wrote down, and the
 * native default. */
#include "job/completion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- verdict ---- */

#define N(n_)                                                                                      \
    {                                                                                              \
        .kind = COUNT_NUMBER, .n = (n_)                                                            \
    }
#define NEVER                                                                                      \
    {                                                                                              \
        .kind = COUNT_NEVER                                                                        \
    }
#define ALL                                                                                        \
    {                                                                                              \
        .kind = COUNT_ALWAYS                                                                       \
    }

struct verdict_row {
    struct count failed[2], succeeded[2];
    struct role_tally tally[2]; /* roles: ps with 2 tasks, worker with 3 */
    enum job_outcome outcome;
    uint32_t role;
    const char *reason;
};

static const struct verdict_row verdicts[] = {
    /* nothing has ended */
    { { N(1), N(1) }, { ALL, ALL }, { { 0 }, { 0 } }, OUTCOME_NONE, 0, "" },
    /* rule 1: failed >= least, at once */
    { { N(1), N(1) },
      { ALL, ALL },
      { { 0 }, { 0, 1, 0 } },
      OUTCOME_FAILED,
      1,
      "worker: 1 of 3 tasks failed" },
    { { N(1), N(2) }, { ALL, ALL }, { { 0 }, { 0, 1, 0 } }, OUTCOME_NONE, 0, "" },
    { { N(1), N(2) },
      { ALL, ALL },
      { { 0 }, { 0, 2, 0 } },
      OUTCOME_FAILED,
      1,
      "worker: 2 of 3 tasks failed" },
    /* rule 2: succeeded >= least, at once: the parameter servers still run */
    { { N(1), N(1) }, { ALL, N(3) }, { { 0 }, { 2, 0, 0 } }, OUTCOME_NONE, 0, "" },
    { { N(1), N(1) },
      { ALL, N(3) },
      { { 0 }, { 3, 0, 0 } },
      OUTCOME_SUCCEEDED,
      1,
      "worker: 3 of 3 tasks ended with 0" },
    { { N(1), N(1) },
      { ALL, N(1) },
      { { 0 }, { 1, 0, 0 } },
      OUTCOME_SUCCEEDED,
      1,
      "worker: 1 of 3 tasks ended with 0" },
    /* both true: failing goes first */
    { { N(1), N(1) },
      { ALL, N(1) },
      { { 0 }, { 1, 1, 0 } },
      OUTCOME_FAILED,
      1,
      "worker: 1 of 3 tasks failed" },
    { { N(1), N(1) },
      { N(1), ALL },
      { { 1, 0, 0 }, { 0, 1, 0 } },
      OUTCOME_FAILED,
      1,
      "worker: 1 of 3 tasks failed" },
    /* never: failures alone decide nothing */
    { { NEVER, NEVER }, { ALL, ALL }, { { 0 }, { 0, 3, 0 } }, OUTCOME_NONE, 0, "" },
    /* at_end: failures decide when the job is over */
    { { ALL, ALL }, { ALL, ALL }, { { 0 }, { 2, 1, 0 } }, OUTCOME_NONE, 0, "" },
    { { ALL, ALL },
      { ALL, ALL },
      { { 2, 0, 0 }, { 2, 1, 0 } },
      OUTCOME_FAILED,
      1,
      "all tasks ended, and 1 of 3 tasks of worker failed" },
    { { ALL, ALL },
      { NEVER, ALL },
      { { 0, 1, 0 }, { 3, 0, 0 } },
      OUTCOME_FAILED,
      0,
      "all tasks ended, and 1 of 2 tasks of ps failed" },
    { { ALL, ALL },
      { ALL, ALL },
      { { 2, 0, 0 }, { 3, 0, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all 5 tasks ended with 0" },
    /* rule 4: all ended is a success, even when every task failed */
    { { NEVER, NEVER },
      { ALL, ALL },
      { { 0, 2, 0 }, { 0, 3, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all tasks ended: 0 with 0, 5 failed, 0 stopped" },
    { { N(1), N(1) },
      { ALL, ALL },
      { { 2, 0, 0 }, { 3, 0, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all 5 tasks ended with 0" },
    { { N(1), N(1) }, { ALL, ALL }, { { 2, 0, 0 }, { 2, 0, 0 } }, OUTCOME_NONE, 0, "" },
    /* a role that only serves is not waited for, but its failures count */
    { { N(1), N(1) },
      { NEVER, ALL },
      { { 0 }, { 3, 0, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all 3 tasks ended with 0" },
    { { N(1), N(1) }, { NEVER, ALL }, { { 2, 0, 0 }, { 2, 0, 0 } }, OUTCOME_NONE, 0, "" },
    { { N(1), N(1) },
      { NEVER, ALL },
      { { 0, 1, 0 }, { 0 } },
      OUTCOME_FAILED,
      0,
      "ps: 1 of 2 tasks failed" },
    /* all only serve: then all are waited for */
    { { N(1), N(1) }, { NEVER, NEVER }, { { 2, 0, 0 }, { 2, 0, 0 } }, OUTCOME_NONE, 0, "" },
    { { N(1), N(1) },
      { NEVER, NEVER },
      { { 2, 0, 0 }, { 3, 0, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all 5 tasks ended with 0" },
    /* a limit above the role's tasks never decides; rule 4 does */
    { { N(9), N(9) },
      { ALL, N(9) },
      { { 2, 0, 0 }, { 0, 3, 0 } },
      OUTCOME_SUCCEEDED,
      0,
      "all tasks ended: 2 with 0, 3 failed, 0 stopped" },
};

static void test_verdicts(void **state)
{
    char text[VERDICT_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const struct verdict_row *row = &verdicts[i];
        struct role roles[2] = { { .name = "ps", .replicas = 2 },
                                 { .name = "worker", .replicas = 3 } };
        for (int k = 0; k < 2; k++)
            roles[k].done =
                (struct done){ .failed = row->failed[k], .succeeded = row->succeeded[k] };
        struct job_spec job = { .roles = roles, .n_roles = 2 };
        struct verdict verdict = job_verdict(&job, row->tally);
        assert_int_equal(verdict.outcome, row->outcome);
        assert_string_equal(verdict_text(text, &job, &verdict), row->reason);
        if (verdict.outcome != OUTCOME_NONE)
            assert_int_equal(verdict.role, row->role);
    }
}

static void test_verdict_of_one_role(void **state)
{
    char text[VERDICT_TEXT];
    (void)state;
    struct role role = { .name = "worker", .replicas = 3 }; /* unset: the defaults */
    struct job_spec job = { .roles = &role, .n_roles = 1 };
    struct role_tally tally = { .succeeded = 3 };
    struct verdict verdict = job_verdict(&job, &tally);
    assert_int_equal(verdict.outcome, OUTCOME_SUCCEEDED);
    assert_string_equal(verdict_text(text, &job, &verdict), "worker: 3 of 3 tasks ended with 0");
    tally = (struct role_tally){ .failed = 1 };
    assert_int_equal(job_verdict(&job, &tally).outcome, OUTCOME_FAILED);
}

/* ---- retry ---- */

#define ALWAYS                                                                                     \
    {                                                                                              \
        .kind = COUNT_ALWAYS                                                                       \
    }
/* OpenPAI's retryCount as canonical retry. */
static const struct retry pai_for_ever = { .platform = ALWAYS,
                                           .conflict = ALWAYS,
                                           .unknown = ALWAYS,
                                           .user = ALWAYS,
                                           .success = ALWAYS,
                                           .backoff_ms = 600000,
                                           .backoff_max_ms = 3600000 };
static const struct retry pai_minus_1 = { .platform = ALWAYS,
                                          .conflict = ALWAYS,
                                          .unknown = ALWAYS,
                                          .user = NEVER,
                                          .success = NEVER,
                                          .backoff_ms = 600000,
                                          .backoff_max_ms = 3600000 };
static const struct retry pai_0 = { .platform = ALWAYS,
                                    .conflict = ALWAYS,
                                    .unknown = NEVER,
                                    .user = NEVER,
                                    .success = NEVER,
                                    .backoff_ms = 600000,
                                    .backoff_max_ms = 3600000 };
static const struct retry pai_2 = { .platform = ALWAYS,
                                    .conflict = ALWAYS,
                                    .unknown = N(2),
                                    .user = NEVER,
                                    .success = NEVER,
                                    .backoff_ms = 600000,
                                    .backoff_max_ms = 3600000 };
static const struct retry native = { .platform = N(3),
                                     .conflict = ALWAYS,
                                     .unknown = NEVER,
                                     .user = NEVER,
                                     .success = NEVER,
                                     .backoff_ms = 1000,
                                     .backoff_max_ms = 60000 };

/* How many times each class leads to another attempt, asked again and again (99: no end seen). */
struct retry_row {
    const struct retry *retry;
    uint32_t success, user, unknown, platform, conflict;
};
static const struct retry_row retries[] = {
    { &pai_for_ever, 99, 99, 99, 99, 99 }, { &pai_minus_1, 0, 0, 99, 99, 99 },
    { &pai_0, 0, 0, 0, 99, 99 },           { &pai_2, 0, 0, 2, 99, 99 },
    { &native, 0, 0, 0, 3, 99 },
};

static uint32_t times(const struct retry *retry, enum end_class class)
{
    struct retry_counts used = { 0 };
    uint32_t n = 0;
    while (n < 99 && retry_decide(retry, &used, class).answer != RETRY_NO) {
        retry_count_one(&used, class);
        n++;
    }
    return n;
}

/* As many as work at a time are enough; which of them those are does not matter. */
static void test_spares_are_not_waited_for(void **state)
{
    char text[VERDICT_TEXT];
    (void)state;
    struct role role = { .name = "worker", .replicas = 4, .min = 3, .spares = 1 };
    const struct job_spec job = { .roles = &role, .n_roles = 1 };
    assert_int_equal(job_verdict(&job, &(struct role_tally){ 2, 0, 0 }).outcome, OUTCOME_NONE);
    assert_int_equal(job_verdict(&job, &(struct role_tally){ 2, 0, 1 }).outcome, OUTCOME_NONE);
    const struct verdict verdict = job_verdict(&job, &(struct role_tally){ 3, 0, 0 });
    assert_int_equal(verdict.outcome, OUTCOME_SUCCEEDED);
    assert_string_equal(verdict_text(text, &job, &verdict), "worker: 3 of 3 tasks ended with 0");
    assert_int_equal(job_verdict(&job, &(struct role_tally){ 3, 1, 0 }).outcome, OUTCOME_FAILED);
}

static void test_retry_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof retries / sizeof *retries; i++) {
        const struct retry_row *row = &retries[i];
        assert_int_equal(times(row->retry, END_SUCCESS), row->success);
        assert_int_equal(times(row->retry, END_USER), row->user);
        assert_int_equal(times(row->retry, END_UNKNOWN), row->unknown);
        assert_int_equal(times(row->retry, END_PLATFORM), row->platform);
        assert_int_equal(times(row->retry, END_CONFLICT), row->conflict);
        assert_int_equal(times(row->retry, END_STOPPED), 0);
        assert_int_equal(times(row->retry, END_NONE), 0);
    }
}

static void test_platform_is_not_counted(void **state)
{
    (void)state;
    struct retry_counts used = { .platform = 50, .conflict = 4 };
    assert_int_equal(retry_decide(&pai_2, &used, END_UNKNOWN).answer, RETRY_NOW);
    struct retry counted = pai_2;
    counted.platform_counted = true;
    assert_int_equal(retry_decide(&counted, &used, END_UNKNOWN).answer, RETRY_NO);
    used.platform = 1;
    assert_int_equal(retry_decide(&counted, &used, END_UNKNOWN).answer, RETRY_NOW);
    retry_count_one(&used, END_UNKNOWN);
    assert_int_equal(retry_decide(&counted, &used, END_UNKNOWN).answer, RETRY_NO);
}

static void test_backoff_doubles(void **state)
{
    (void)state;
    static const uint64_t native_ms[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
    static const uint64_t pai_ms[] = { 600000, 1200000, 2400000, 3600000, 3600000 };
    for (uint32_t i = 0; i < 8; i++) {
        struct retry_counts used = { .conflict = i, .platform = 2 };
        struct retry_decision decision = retry_decide(&native, &used, END_CONFLICT);
        assert_int_equal(decision.answer, RETRY_LATER);
        assert_int_equal(decision.delay_ms, native_ms[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        struct retry_counts used = { .conflict = i };
        assert_int_equal(retry_decide(&pai_0, &used, END_CONFLICT).delay_ms, pai_ms[i]);
    }
    struct retry_counts many = { .conflict = UINT32_MAX };
    assert_int_equal(retry_decide(&native, &many, END_CONFLICT).delay_ms, 60000);
    assert_int_equal(retry_decide(&native, &(struct retry_counts){ 0 }, END_PLATFORM).delay_ms, 0);
}

static void test_attempt_numbers(void **state)
{
    (void)state;
    struct retry_counts used = { 0 };
    struct retry_decision decision = retry_decide(&pai_2, &used, END_UNKNOWN);
    assert_int_equal(decision.next, 2);
    assert_int_equal(decision.of, 3);
    retry_count_one(&used, END_UNKNOWN);
    retry_count_one(&used, END_PLATFORM);
    decision = retry_decide(&pai_2, &used, END_UNKNOWN);
    assert_int_equal(decision.next, 4);
    assert_int_equal(decision.of, 4);
    decision = retry_decide(&pai_2, &used, END_PLATFORM);
    assert_int_equal(decision.of, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_verdict_of_one_role),
        cmocka_unit_test(test_spares_are_not_waited_for),
        cmocka_unit_test(test_retry_rows),
        cmocka_unit_test(test_platform_is_not_counted),
        cmocka_unit_test(test_backoff_doubles),
        cmocka_unit_test(test_attempt_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
