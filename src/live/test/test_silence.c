/* Agents that fall silent: since when, what is kept of it over a commit that fails, and a job that
 * is over for all but those that were left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "live/silence.h"
#include "text/json.h"

#include "base/mem.h"

#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"

struct fix {
    struct arena *arena;
    struct live *live;
    struct live_job *job;
    bool done;
};

/* As its rows say: a task on each of two nodes, both agents are there. */
static struct live_job *load(struct fix *f)
{
    const struct job_row row = {
        .id = 7, .generation = 1, .tasks = 2, .state = JOB_RUNNING, .name = "j", .owner = "me"
    };
    struct report report;
    report_init(&report, f->arena);
    struct live_job *job = live_add(f->live, &row);
    job->spec = job_decode(f->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    live_make_tasks(job);
    for (uint32_t i = 0; i < 2; i++) {
        job->tasks[i].place.node = i ? "n2" : "n1";
        job->tasks[i].place.index = i;
        job->tasks[i].attempt = 1;
        job->tasks[i].attempt_state = ATTEMPT_RUNNING;
        job->tasks[i].state = TASK_RUNNING;
        live_add_agent(job, i ? "n2" : "n1")->state = AGENT_JOINED;
    }
    live_count_tasks(job);
    return job;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    f->live = live_create();
    f->job = load(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    live_destroy(f->live);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void it_began_when_it_was_heard_last(void **state)
{
    struct fix *f = *state;
    assert_null(silence_begin(f->job, "nobody", 5000, 0));
    const struct live_agent *agent = silence_begin(f->job, "n1", 5000, 300);
    assert_int_equal(agent->silent_ms, 4700);
    assert_int_equal(agent->state, AGENT_SILENT);
    assert_int_equal(f->job->silent, 1);
    assert_null(silence_begin(f->job, "n1", 6000, 0)); /* it is known */
    assert_true(silence_until(f->job, agent) > 4700);
    struct live_agent *other = live_agent(f->job, "n2");
    silence_assume(f->job, other, 100); /* since a restart, so that this is when it began */
    assert_int_equal(silence_begin(f->job, "n2", 9000, 0)->silent_ms, 100);
    assert_int_equal(f->job->silent, 2);
}

static void it_outlives_a_commit_that_fails(void **state)
{
    struct fix *f = *state;
    silence_begin(f->job, "n1", 5000, 0);
    f->job->tasks[0].left = true;
    live_agent(f->job, "n2")->unheard = true;
    const struct silence_memory *memory = silence_save(f->arena, f->job);
    live_remove(f->live, f->job);
    f->job = load(f);
    silence_restore(f->job, memory);
    assert_int_equal(live_agent(f->job, "n1")->silent_ms, 5000);
    assert_true(live_agent(f->job, "n2")->unheard && f->job->tasks[0].left);
    assert_int_equal(f->job->silent, 1);
    live_remove(f->live, f->job);
    f->job = load(f);
    f->job->row.generation = 2; /* other agents than those */
    silence_restore(f->job, memory);
    assert_int_equal(f->job->silent, 0);
}

static bool done(const void *arg, const struct live_job *job, uint32_t role)
{
    (void)job;
    (void)role;
    return ((const struct fix *)arg)->done;
}

static void who_was_left_is_not_waited_for_when_the_others_are_done(void **state)
{
    struct fix *f = *state;
    const struct silence_peers others = { f, done };
    live_set_state(f->job, &f->job->tasks[1], TASK_SUCCEEDED);
    f->job->tasks[1].attempt_state = ATTEMPT_SUCCEEDED;
    silence_begin(f->job, "n1", 5000, 0);
    f->job->tasks[0].left = true;
    assert_int_equal(silence_verdict(f->job, f->arena, others).outcome, OUTCOME_NONE);
    f->done = true;
    assert_int_not_equal(silence_verdict(f->job, f->arena, others).outcome, OUTCOME_NONE);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_began_when_it_was_heard_last),
        T(it_outlives_a_commit_that_fails),
        T(who_was_left_is_not_waited_for_when_the_others_are_done),
    };
    return cmocka_run_group_tests_name("live/silence", tests, NULL, NULL);
}
