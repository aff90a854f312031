/* Transition tables: what is in them, written once more as pairs, and that random events never
 * leave them. A model counts resources: held exactly between allocated and freed. */
#include "job/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/ending.h"

/* The table once more, as pairs: a change of a table must be meant. */
static const struct {
    enum job_state from;
    enum job_event event;
    enum job_state to;
} job_rows[] = {
    { JOB_NONE, JOB_EV_SUBMITTED, JOB_QUEUED },
    { JOB_NONE, JOB_EV_HELD, JOB_SUSPENDED },
    { JOB_SUSPENDED, JOB_EV_RESUMED, JOB_QUEUED },
    { JOB_SUSPENDED, JOB_EV_STOP, JOB_STOPPED },
    { JOB_QUEUED, JOB_EV_ALLOCATED, JOB_STARTING },
    { JOB_QUEUED, JOB_EV_PAUSED, JOB_SUSPENDED },
    { JOB_QUEUED, JOB_EV_FAIL, JOB_FAILED },
    { JOB_QUEUED, JOB_EV_STOP, JOB_STOPPED },
    { JOB_STARTING, JOB_EV_STARTED, JOB_RUNNING },
    { JOB_STARTING, JOB_EV_TASK_RETRY, JOB_RESTARTING },
    { JOB_STARTING, JOB_EV_RESTART, JOB_RESTARTING },
    { JOB_STARTING, JOB_EV_CLOSING, JOB_STOPPING },
    { JOB_RUNNING, JOB_EV_TASK_RETRY, JOB_RESTARTING },
    { JOB_RUNNING, JOB_EV_RESTART, JOB_RESTARTING },
    { JOB_RUNNING, JOB_EV_CLOSING, JOB_STOPPING },
    { JOB_RESTARTING, JOB_EV_TASK_RETRY, JOB_RESTARTING },
    { JOB_RESTARTING, JOB_EV_RESTART, JOB_RESTARTING },
    { JOB_RESTARTING, JOB_EV_RECOVERED, JOB_RUNNING },
    { JOB_RESTARTING, JOB_EV_REQUEUED, JOB_QUEUED },
    { JOB_RESTARTING, JOB_EV_CLOSING, JOB_STOPPING },
    { JOB_STOPPING, JOB_EV_CLOSING, JOB_STOPPING },
    { JOB_STOPPING, JOB_EV_REQUEUED, JOB_QUEUED },
    { JOB_STOPPING, JOB_EV_PAUSED, JOB_SUSPENDED },
    { JOB_STOPPING, JOB_EV_SUCCEED, JOB_SUCCEEDED },
    { JOB_STOPPING, JOB_EV_FAIL, JOB_FAILED },
    { JOB_STOPPING, JOB_EV_STOP, JOB_STOPPED },
};

static void test_job_table(void **state)
{
    (void)state;
    size_t listed = 0;
    for (int from = 0; from < JOB_STATE_N; from++) {
        for (int event = 0; event < JOB_EV_N; event++) {
            enum job_state want = JOB_NONE;
            for (size_t i = 0; i < sizeof job_rows / sizeof *job_rows; i++)
                if (job_rows[i].from == (enum job_state)from &&
                    job_rows[i].event == (enum job_event)event)
                    want = job_rows[i].to;
            listed += want != JOB_NONE;
            assert_int_equal(job_next_state((enum job_state)from, (enum job_event)event), want);
        }
    }
    assert_int_equal(listed, sizeof job_rows / sizeof *job_rows);
    assert_int_equal(job_next_state(JOB_STATE_N, JOB_EV_STOP), JOB_NONE);
    assert_int_equal(job_next_state(JOB_QUEUED, JOB_EV_N), JOB_NONE);
}

/* Marks what can be reached from a state. */
static void reach(enum job_state from, bool seen[JOB_STATE_N])
{
    if (seen[from])
        return;
    seen[from] = true;
    for (int event = 1; event < JOB_EV_N; event++) {
        enum job_state to = job_next_state(from, (enum job_event)event);
        if (to != JOB_NONE)
            reach(to, seen);
    }
}

static void test_job_ends(void **state)
{
    (void)state;
    for (int from = JOB_NONE + 1; from < JOB_STATE_N; from++) {
        bool seen[JOB_STATE_N] = { false };
        reach((enum job_state)from, seen);
        if (job_state_final((enum job_state)from)) {
            for (int event = 0; event < JOB_EV_N; event++)
                assert_int_equal(job_next_state((enum job_state)from, (enum job_event)event),
                                 JOB_NONE);
            continue;
        }
        assert_true(seen[JOB_SUCCEEDED] && seen[JOB_FAILED] && seen[JOB_STOPPED]);
    }
    bool seen[JOB_STATE_N] = { false };
    reach(JOB_NONE, seen);
    for (int to = 0; to < JOB_STATE_N; to++)
        assert_true(seen[to]);
}

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Model: refused events change nothing, resources are held exactly between allocated and freed. */
static void test_job_random_walk(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int walk = 0; walk < 2000; walk++) {
        enum job_state now = JOB_NONE;
        bool holds = false;
        for (int step = 0; step < 60; step++) {
            enum job_event event = (enum job_event)(1 + random_next(&seed) % (JOB_EV_N - 1));
            enum job_state next = job_next_state(now, event);
            if (next == JOB_NONE)
                continue;
            assert_in_range(next, JOB_NONE + 1, JOB_STATE_N - 1);
            if (event == JOB_EV_ALLOCATED) {
                assert_false(holds);
                holds = true;
            }
            if (next == JOB_QUEUED || next == JOB_SUSPENDED || job_state_final(next))
                holds = false;
            now = next;
            assert_int_equal(job_state_holds(now), holds);
        }
    }
}

static void test_outcomes(void **state)
{
    (void)state;
    static const enum job_state ends[OUTCOME_N] = {
        [OUTCOME_SUCCEEDED] = JOB_SUCCEEDED, [OUTCOME_FAILED] = JOB_FAILED,
        [OUTCOME_STOPPED] = JOB_STOPPED,     [OUTCOME_REQUEUED] = JOB_QUEUED,
        [OUTCOME_SUSPENDED] = JOB_SUSPENDED,
    };
    for (int i = OUTCOME_NONE + 1; i < OUTCOME_N; i++) {
        enum job_outcome outcome = (enum job_outcome)i;
        assert_int_equal(job_next_state(JOB_STOPPING, job_outcome_event(outcome)), ends[i]);
        assert_int_equal(job_outcome_parse(job_outcome_word(outcome)), outcome);
    }
    assert_int_equal(job_outcome_event(OUTCOME_NONE), JOB_EV_NONE);
}

static void test_task_table(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int event = 0; event < TASK_EV_N; event++)
        assert_int_equal(task_next_state(TASK_NONE, (enum task_event)event), TASK_NONE);
    for (int from = TASK_NONE + 1; from < TASK_STATE_N; from++) {
        /* a new generation resets every task that does not wait; a final one does nothing else */
        assert_int_equal(task_next_state((enum task_state)from, TASK_EV_RESET),
                         from == TASK_WAITING ? TASK_NONE : TASK_WAITING);
        for (int event = 1; event < TASK_EV_N && task_state_final((enum task_state)from); event++)
            if (event != TASK_EV_RESET)
                assert_int_equal(task_next_state((enum task_state)from, (enum task_event)event),
                                 TASK_NONE);
    }
    assert_int_equal(task_next_state(TASK_WAITING, TASK_EV_PLACED), TASK_STARTING);
    assert_int_equal(task_next_state(TASK_STARTING, TASK_EV_STARTED), TASK_RUNNING);
    assert_int_equal(task_next_state(TASK_RUNNING, TASK_EV_RETRY), TASK_WAITING);
    assert_int_equal(task_next_state(TASK_WAITING, TASK_EV_SUCCEED), TASK_NONE);
    assert_int_equal(task_next_state(TASK_RUNNING, TASK_EV_PLACED), TASK_NONE);
    enum task_state now = TASK_WAITING;
    for (int step = 0; step < 20000; step++) {
        enum task_event event = (enum task_event)(1 + random_next(&seed) % (TASK_EV_N - 1));
        enum task_state next = task_next_state(now, event);
        now = next == TASK_NONE ? now : next;
        assert_in_range(now, TASK_NONE + 1, TASK_STATE_N - 1);
    }
}

static void test_attempts_and_agents(void **state)
{
    (void)state;
    assert_int_equal(attempt_next_state(ATTEMPT_NONE, ATTEMPT_STARTING), ATTEMPT_STARTING);
    assert_int_equal(attempt_next_state(ATTEMPT_STARTING, ATTEMPT_RUNNING), ATTEMPT_RUNNING);
    assert_int_equal(attempt_next_state(ATTEMPT_STARTING, ATTEMPT_LOST), ATTEMPT_LOST);
    assert_int_equal(attempt_next_state(ATTEMPT_RUNNING, ATTEMPT_STARTING), ATTEMPT_NONE);
    for (int from = ATTEMPT_SUCCEEDED; from < ATTEMPT_STATE_N; from++) {
        assert_true(attempt_state_final((enum attempt_state)from));
        for (int to = 0; to < ATTEMPT_STATE_N; to++)
            assert_int_equal(attempt_next_state((enum attempt_state)from, (enum attempt_state)to),
                             ATTEMPT_NONE);
    }
    assert_int_equal(agent_next_state(AGENT_EXPECTED, AGENT_JOINED), AGENT_JOINED);
    assert_int_equal(agent_next_state(AGENT_SILENT, AGENT_JOINED), AGENT_JOINED);
    for (int to = 0; to < AGENT_STATE_N; to++)
        assert_int_equal(agent_next_state(AGENT_GONE, (enum agent_state)to), AGENT_NONE);
}

#define BOTH_WAYS(type, name, count)                                                               \
    for (int i = 1; i < (count); i++) {                                                            \
        assert_int_equal(name##_parse(name##_word((enum type)i)), i);                              \
    }                                                                                              \
    assert_int_equal(name##_parse("none"), 0);                                                     \
    assert_int_equal(name##_parse("Queued"), 0);                                                   \
    assert_string_equal(name##_word((enum type)999), "none")

static void test_words(void **state)
{
    (void)state;
    BOTH_WAYS(job_state, job_state, JOB_STATE_N);
    BOTH_WAYS(task_state, task_state, TASK_STATE_N);
    BOTH_WAYS(task_event, task_event, TASK_EV_N);
    BOTH_WAYS(attempt_state, attempt_state, ATTEMPT_STATE_N);
    BOTH_WAYS(agent_state, agent_state, AGENT_STATE_N);
    BOTH_WAYS(job_event, job_event, JOB_EV_N);
    for (int i = BY_NONE + 1; i < END_BY_N; i++)
        assert_int_equal(end_origin_parse(end_origin_word((enum end_origin)i)), i);
    assert_int_equal(end_origin_parse("nobody"), BY_NONE);
    assert_int_equal(end_origin_parse(""), BY_NONE);
    assert_string_equal(end_origin_word(BY_NONE), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_table),       cmocka_unit_test(test_job_ends),
        cmocka_unit_test(test_job_random_walk), cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_task_table),      cmocka_unit_test(test_attempts_and_agents),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
