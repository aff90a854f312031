/* The life of jobs: start, end, retry, stop, suspend, loss; budgets, limits, gangs, repeated facts.
 * At each end nothing is held and every attempt has its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "access/task_entry.h"
#include "answer/jobs.h"
#include "ctl/test/world.h"
#include "live/row_json.h"
#include "store/find.h"

#include <stdio.h>
#include <string.h>

#define ONE "{\"name\":\"one\",\"roles\":{\"w\":{\"run\":\"true\",\"resources\":{\"cpu\":1}}}}"
#define GANG                                                                                       \
    "{\"name\":\"gang\",\"roles\":{\"m\":{\"run\":\"a\",\"resources\":{\"cpu\":1,\"gpu\":1}},"     \
    "\"w\":{\"replicas\":3,\"run\":\"b\",\"resources\":{\"cpu\":1,\"gpu\":1}}}}"
#define TASK_RETRY                                                                                 \
    "{\"name\":\"r\",\"retry\":{\"scope\":\"task\",\"unknown\":2,\"platform\":3},"                 \
    "\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":1},\"ports\":{\"p\":1}}}}"
#define JOB_RETRY                                                                                  \
    "{\"name\":\"r\",\"retry\":{\"scope\":\"job\",\"unknown\":1,\"platform\":\"always\"},"         \
    "\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":1}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(w->fake.doubled, 0);
    world_fini(w);
    return 0;
}

static void assert_over(struct world *w, uint64_t job, enum job_state state)
{
    assert_string_equal(job_state_word(world_state(w, job)), job_state_word(state));
    assert_true(world_used(w) == 0);
    assert_int_equal(fake_alive(&w->fake), 0);
}

static void runs_and_succeeds(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(w, ONE);
    assert_true(job != 0);
    assert_true(world_used(w) == 1000);
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
    assert_string_equal(world_events(w, job), "submitted allocated started closing succeeded");
    assert_string_equal(world_reason(w, job), "w: 1 of 1 tasks ended with 0");
    assert_int_equal(world_attempts(w, job), 1);
}

static void gang_waits_for_all(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t first = world_submit(w, GANG);
    uint64_t second = world_submit(w, GANG);
    world_run(w);
    assert_int_equal(world_state(w, first), JOB_RUNNING);
    assert_int_equal(world_state(w, second), JOB_QUEUED);
    assert_true(strstr(world_reason(w, second), "gpu") != NULL);
    world_command(w, first, CTL_STOP);
    assert_int_equal(w->code, ERR_NONE);
    world_run(w);
    assert_int_equal(world_state(w, first), JOB_STOPPED);
    assert_string_equal(world_reason(w, first), "stopped by ada");
    assert_int_equal(world_state(w, second), JOB_RUNNING);
    w->code_all = 0;
    world_run(w);
    assert_over(w, second, JOB_SUCCEEDED);
}

static int second_time_lucky(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 1 && attempt == 1 ? 1 : 0;
}

static void task_comes_back_alone(void **state)
{
    struct world *w = *state;
    w->by_attempt = second_time_lucky;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
    assert_int_equal(world_attempts(w, job), 3);
    assert_int_equal(world_count(w, job, "task.retry"), 1);
    assert_int_equal(world_count(w, job, "task_retry"), 0); /* it is said once */
    assert_int_equal(world_count(w, job, "refused"), 0);
}

static int always_bad(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)attempt;
    return index == 1 ? 1 : FAKE_RUNS;
}

static void budget_is_spent(void **state)
{
    struct world *w = *state;
    w->by_attempt = always_bad;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    assert_over(w, job, JOB_FAILED);
    assert_int_equal(world_attempts(w, job), 4);
    assert_non_null(strstr(world_reason(w, job), "w/1 on n"));
    assert_non_null(strstr(world_reason(w, job), "exited with 1, first of 2"));
}

/* An end of one of its tasks, as the engine tells it. */
static void tell_end(struct world *w, uint64_t job, uint32_t index, int code, uint64_t wakeup,
                     const char *tail)
{
    struct engine_fact fact = { .kind = FACT_ENDED,
                                .generation = { .job = job, .number = 1 },
                                .node = w->fake.agents.at[w->fake.agents.n - 1]->node,
                                .task = { .index = index },
                                .attempt = 1,
                                .wakeup = wakeup,
                                .ending = {
                                    .exited = true, .code = code, .by = BY_ITSELF, .tail = tail } };
    w->fake.base.sink.fact(w->fake.base.sink.arg, &fact);
}

#define FOUR                                                                                       \
    "{\"name\":\"f\",\"roles\":{\"w\":{\"replicas\":4,\"run\":\"x\",\"resources\":{\"cpu\":\"100m\"}}}}"

/* What one wake-up of the agent saw is a tie: a cause of its own decides, or all are named. */
static void who_died_first(void **state)
{
    static const struct {
        const char *tails[3];
        uint64_t wakeups[3];
        const char *says;
    } cases[] = {
        { { "", "", "" }, { 7, 8, 8 }, "w/0 on n" },
        { { "", "", "EOFError\n" }, { 7, 7, 7 }, ", at the same moment as w/1: first of 4" },
        { { "EOFError\n", "KeyError: 1\n", "" }, { 7, 7, 8 }, "w/1 on n" },
        { { "EOFError\n", "", "" }, { 5, 6, 6 }, ", at the same moment as w/2: first of 4" },
    };
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t job = world_submit(w, FOUR);
        world_run(w);
        for (uint32_t index = 0; index < 3; index++)
            tell_end(w, job, index, 1, cases[i].wakeups[index], cases[i].tails[index]);
        world_run(w);
        if (!strstr(world_reason(w, job), cases[i].says))
            fail_msg("%zu: %s", i, world_reason(w, job));
        world_pass(w, 60000);
    }
}

static void whole_job_comes_back(void **state)
{
    struct world *w = *state;
    w->by_attempt = second_time_lucky;
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
    assert_string_equal(
        world_events(w, job),
        "submitted allocated started restart requeued allocated started closing succeeded");
    assert_int_equal(world_attempts(w, job), 4);
}

/* What fails at once and is retried for ever is not retried in a hot loop for ever. */
static void crash_loops_are_paced(void **state)
{
    struct world *w = *state;
    w->code_all = 1;
    uint64_t job = world_submit(w, "{\"name\":\"r\",\"retry\":{\"unknown\":\"always\"},"
                                   "\"roles\":{\"w\":{\"run\":\"b\",\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    uint32_t attempts = world_attempts(w, job);
    assert_in_range(attempts, 10, 12);
    assert_non_null(strstr(world_reason(w, job), "again in 200ms"));
    world_pass(w, 200);
    world_run(w);
    assert_int_equal(world_attempts(w, job), attempts + 1);
    w->code_all = 0;
    world_pass(w, 60000);
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
}

static int dies_once(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 0 && attempt == 1 ? FAKE_DIES : 0;
}

static void lost_agent_is_a_platform_failure(void **state)
{
    struct world *w = *state;
    w->by_attempt = dies_once;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    world_pass(w, 1000); /* what had not begun there waits a little */
    assert_over(w, job, JOB_SUCCEEDED);
    assert_true(world_attempts(w, job) >= 3); /* the other one may have been there too */
    struct arena *arena = arena_create();
    const struct job_ask ask = { .job = job,
                                 .owner = "ada",
                                 .parts = JOB_TASKS | JOB_SPEC | JOB_ORIGIN | JOB_TIMELINE };
    struct job_view view;
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &view, NULL), 0);
    const struct attempt_view *attempt = &view.task_list.at[0].attempts.at[0];
    assert_int_equal(attempt->state, ATTEMPT_LOST);
    assert_int_equal(attempt->class, END_PLATFORM);
    assert_non_null(view.spec);
    assert_non_null(view.origin);
    arena_destroy(arena);
}

static int conflict_once(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 0 && attempt == 1 ? FAKE_CONFLICT : attempt == 1 ? FAKE_RUNS : 0;
}

static void taken_port_means_a_new_generation(void **state)
{
    struct world *w = *state;
    w->by_attempt = conflict_once;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    world_pass(w, 5000);
    assert_over(w, job, JOB_SUCCEEDED);
    assert_int_equal(world_count(w, job, "allocated"), 2);
}

static void engine_refuses_and_is_asked_again(void **state)
{
    struct world *w = *state;
    w->fake.refuse = 2;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    assert_int_not_equal(world_state(w, job), JOB_SUCCEEDED); /* it waits a little between tries */
    world_pass(w, 2000);
    assert_over(w, job, JOB_SUCCEEDED);
}

static void suspend_and_resume(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    world_command(w, job, CTL_SUSPEND);
    world_run(w);
    assert_over(w, job, JOB_SUSPENDED);
    world_command(w, job, CTL_RESUME);
    w->code_all = 0;
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
    uint64_t held =
        world_submit(w, "{\"name\":\"h\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}");
    assert_int_equal(world_state(w, held), JOB_SUSPENDED);
    world_command(w, held, CTL_STOP);
    assert_over(w, held, JOB_STOPPED);
}

static void rights_and_wrong_moments(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(w, ONE);
    world_command_as(w, "bob", job, CTL_STOP);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    world_command(w, job, CTL_DELETE);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_run(w);
    world_command(w, job, CTL_STOP);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_command_as(w, "root", job, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    world_command(w, job, CTL_STOP);
    assert_int_equal(w->code, ERR_NOT_FOUND);
}

/* A job that waits goes before others by it, also after a restart; one that runs has none to
 * change.
 */
static void priority_changes_the_turn(void **state)
{
    static const char all[] = "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\","
                              "\"resources\":{\"cpu\":4}}}}";
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t runs = world_submit(w, all), first = world_submit(w, all);
    uint64_t second = world_submit(w, all), third = world_submit(w, all);
    world_run(w);
    world_command(w, runs, CTL_PRIORITY + 9);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_command_as(w, "bob", third, CTL_PRIORITY + 9);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    world_command(w, third, CTL_PRIORITY + 9);
    assert_int_equal(w->code, ERR_NONE);
    world_command(w, first, CTL_PRIORITY + 1);
    assert_string_equal(world_events(w, third), "submitted priority");
    world_crash(w);
    const uint64_t order[] = { runs, third, second, first };
    for (size_t i = 0; i < 4; i++) {
        world_run(w);
        assert_int_equal(world_state(w, order[i]), JOB_RUNNING);
        world_command(w, order[i], CTL_STOP);
    }
    world_run(w);
    assert_over(w, first, JOB_STOPPED);
}

/* Of a job that lives: it ends at once and is gone; what a restarted server finds ends so too. */
static void dropping_ends_and_removes(void **state)
{
    struct world *w = *state;
    uint64_t ended = world_submit(w, ONE);
    world_run(w);
    world_command(w, ended, CTL_DROP);
    assert_int_equal(w->code, ERR_NONE);
    world_command(w, ended, CTL_DROP);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    uint64_t waits =
        world_submit(w, "{\"name\":\"h\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}");
    world_command_as(w, "bob", waits, CTL_DROP);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    world_command(w, waits, CTL_DROP);
    assert_int_equal(w->code, ERR_NONE);
    uint64_t runs = world_submit(w, ONE);
    world_command(w, runs, CTL_DROP);
    assert_int_equal(w->code, ERR_NONE);
    world_crash(w);
    world_run(w);
    world_pass(w, 2000);
    const uint64_t gone[] = { ended, waits, runs };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        struct err err;
        struct job_view view;
        const struct job_ask ask = { .job = gone[i] };
        assert_int_equal(answer_job_view(w->ctl, arena, &ask, &view, &err), -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
    }
    arena_destroy(arena);
    assert_true(world_used(w) == 0);
}

static void repeated_facts_count_once(void **state)
{
    struct world *w = *state;
    w->fake.twice = true;
    w->by_attempt = second_time_lucky;
    uint64_t job = world_submit(w, TASK_RETRY);
    world_run(w);
    assert_over(w, job, JOB_SUCCEEDED);
    assert_int_equal(world_attempts(w, job), 3);
    assert_int_equal(world_count(w, job, "refused"), 0);
}

static void limits_end_jobs(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(
        w, "{\"name\":\"l\",\"limits\":{\"run_time\":\"10s\"},\"roles\":{\"w\":{\"run\":\"x\","
           "\"resources\":{\"cpu\":4,\"gpu\":2},\"replicas\":2}}}");
    uint64_t late = world_submit(
        w, "{\"name\":\"p\",\"limits\":{\"pending\":\"5s\"},\"roles\":{\"w\":{\"run\":\"x\","
           "\"resources\":{\"cpu\":4}}}}");
    world_run(w);
    world_pass(w, 6000);
    assert_int_equal(world_state(w, late), JOB_FAILED);
    assert_non_null(strstr(world_reason(w, late), "pending limit"));
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_pass(w, 6000);
    assert_over(w, job, JOB_FAILED);
    assert_string_equal(world_reason(w, job), "ran longer than its limit of 10s");
}

static int every_third_fails(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job, (void)role, (void)attempt;
    return index % 3 == 0;
}

/* Of a large job that has ended its row says how its tasks ended. */
static void large_job_counts_its_tasks(void **state)
{
    struct world *w = *state;
    w->by_attempt = every_third_fails;
    uint64_t job = world_submit(w, "{\"name\":\"l\",\"roles\":{\"w\":{\"replicas\":600,"
                                   "\"run\":\"x\",\"resources\":{\"cpu\":0,\"memory\":\"0\"},"
                                   "\"done\":{\"failed\":600,\"succeeded\":\"never\"}}}}");
    world_run(w);
    assert_true(job_state_final(world_state(w, job)));
    world_crash(w);
    struct arena *arena = arena_create();
    struct job_row row;
    struct live_column notes = { 0 };
    struct task_counts counts;
    struct job_view view;
    assert_int_equal(store_get_job(w->store, arena, job, &row, NULL), 1);
    row_json_read_job(arena, arena, row.live, &notes);
    assert_true(notes.counted);
    assert_int_equal(store_task_counts(w->store, &row, &counts, NULL), 0);
    assert_int_equal(counts.succeeded, 400);
    const struct job_ask ask = { .job = job, .owner = "ada" };
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &view, NULL), 0);
    assert_int_equal(view.tasks_succeeded, counts.succeeded);
    assert_int_equal(view.tasks_failed, counts.failed);
    assert_int_equal(view.tasks_running, 0);
    arena_destroy(arena);
}

static int enter(struct world *w, const char *owner, uint64_t job, const char *task,
                 struct engine_exec *exec, struct err *err)
{
    const struct task_target to = { owner, job, task };
    return task_exec(ctl_access(w->ctl), &to, exec, err);
}

static void failed_task_is_held(void **state)
{
    struct world *w = *state;
    w->code_all = 1;
    uint64_t job = world_submit(
        w, "{\"name\":\"d\",\"health\":{\"debug_hold\":true},\"roles\":{\"w\":{\"run\":\"x\","
           "\"resources\":{\"cpu\":1}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_STOPPING);
    assert_true(world_used(w) == 1000);
    struct engine_exec exec = { 0 };
    struct err err;
    assert_int_equal(enter(w, "ada", job, "w/0", &exec, &err), 0);
    assert_int_equal(enter(w, "ada", job, NULL, &exec, &err), 0);
    assert_int_equal(enter(w, "bob", job, "w/0", &exec, &err), -1);
    world_crash(w);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_STOPPING);
    assert_true(world_used(w) == 1000);
    world_command(w, job, CTL_STOP);
    world_run(w);
    assert_over(w, job, JOB_FAILED);
}

static void one_of_several_tasks_is_to_be_named(void **state)
{
    struct world *w = *state;
    struct engine_exec exec = { 0 };
    struct err err;
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, JOB_RETRY);
    world_run(w);
    assert_int_equal(enter(w, "ada", job, NULL, &exec, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_non_null(strstr(err.hint, "w/1"));
    assert_int_equal(enter(w, "ada", job, "w/0", &exec, &err), 0);
    world_command(w, job, CTL_STOP);
    world_run(w);
}

static void waits_for_other_jobs(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t first = world_submit(w, ONE);
    uint64_t well = world_submit(
        w,
        "{\"name\":\"b\",\"after\":[{\"job\":1,\"ended\":\"well\"}],\"roles\":{\"w\":{\"run\":\"x\"}}}");
    uint64_t badly = world_submit(
        w,
        "{\"name\":\"c\",\"after\":[{\"job\":\"one\",\"ended\":\"badly\"}],\"roles\":{\"w\":{\"run\":\"x\"}}}");
    assert_true(first && well && badly);
    world_run(w);
    assert_int_equal(world_state(w, well), JOB_QUEUED);
    w->code_all = 0;
    world_run(w);
    assert_int_equal(world_state(w, well), JOB_SUCCEEDED);
    assert_int_equal(world_state(w, badly), JOB_FAILED);
    assert_int_equal(
        world_submit(w,
                     "{\"name\":\"d\",\"after\":[{\"job\":99}],\"roles\":{\"w\":{\"run\":\"x\"}}}"),
        0);
}

/* What an elastic job says of its tasks is true again as more of them come, and once all have come
 * an event says it; also where the server was another one before. */
static void an_elastic_job_counts_its_tasks_again(void **state)
{
    static const char large[] =
        "{\"name\":\"l\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":3}}}}";
    static const char elastic[] = "{\"name\":\"e\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":"
                                  "{\"min\":1,\"max\":7},\"resources\":{\"cpu\":1}}}}";
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t one = world_submit(w, large), two = world_submit(w, large);
    uint64_t job = world_submit(w, elastic);
    world_run(w);
    assert_string_equal(world_reason(w, job), "2 of 7 tasks");
    world_command(w, one, CTL_STOP);
    world_run(w);
    assert_string_equal(world_reason(w, job), "5 of 7 tasks");
    assert_int_equal(world_count(w, job, "complete"), 0);
    world_crash(w);
    world_run(w);
    world_command(w, two, CTL_STOP);
    world_run(w);
    assert_string_equal(world_reason(w, job), "7 of 7 tasks");
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_crash(w);
    world_run(w);
    assert_int_equal(world_count(w, job, "complete"), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(runs_and_succeeds),
        T(gang_waits_for_all),
        T(task_comes_back_alone),
        T(budget_is_spent),
        T(who_died_first),
        T(whole_job_comes_back),
        T(crash_loops_are_paced),
        T(lost_agent_is_a_platform_failure),
        T(taken_port_means_a_new_generation),
        T(engine_refuses_and_is_asked_again),
        T(suspend_and_resume),
        T(rights_and_wrong_moments),
        T(priority_changes_the_turn),
        T(dropping_ends_and_removes),
        T(repeated_facts_count_once),
        T(limits_end_jobs),
        T(large_job_counts_its_tasks),
        T(failed_task_is_held),
        T(one_of_several_tasks_is_to_be_named),
        T(waits_for_other_jobs),
        T(an_elastic_job_counts_its_tasks_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
