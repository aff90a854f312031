/* Answers over a core with a fake engine: a timeline in pages, searches by rights, what a command
 * tells of its job, jobs as pods where no format has any, what explanations ask, and logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/redact.h"
#include "answer/jobs.h"
#include "answer/pods.h"
#include "answer/question.h"
#include "answer/search.h"
#include "answer/tasks.h"
#include "answer/timeline.h"
#include "base/mem.h"
#include "ctl/contents.h"
#include "ctl/results.h"
#include "ctl/test/world.h"

#include <stdio.h>
#include <string.h>

struct fix {
    struct world world;
    struct arena *arena;
    struct ctl *ctl;
    enum job_state told; /* by the last command, with its reason */
    char why[80];
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->arena = arena_create();
    f->ctl = f->world.ctl;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    world_fini(&f->world);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static uint64_t submit(struct fix *f, const char *owner, const char *name, const char *more)
{
    char text[300];
    snprintf(text, sizeof text, "{\"name\":\"%s\"%s,\"roles\":{\"w\":{\"run\":\"x\"}}}", name,
             more);
    uint64_t id = world_submit_as(
        &f->world, &(struct submission){ .owner = owner, .text = text, .len = strlen(text) });
    assert_int_not_equal(id, 0);
    return id;
}

/* Read an event at a time it is the same as in the job's view, without what every task tells. */
static void test_timeline(void **state)
{
    struct fix *f = *state;
    const uint64_t id = submit(f, "ada", "j", "");
    world_run(&f->world);
    const struct job_ask ask = { .job = id, .owner = "ada", .parts = JOB_TIMELINE };
    struct job_view view;
    assert_int_equal(answer_job_view(f->ctl, f->arena, &ask, &view, NULL), 0);
    struct timeline line = { .job = id, .reader = "ada" };
    struct event_list page;
    size_t n = 0;
    int more = 1;
    for (size_t looks = 0; more && looks < 100; looks++) {
        more = timeline_read(f->ctl, f->arena, &line, 1, &page);
        for (size_t i = 0; i < page.n; i++, n++) {
            assert_true(n < view.timeline.n);
            assert_int_equal(page.at[i].seq, view.timeline.at[n].seq);
            assert_string_not_equal(page.at[i].type, "task.started");
        }
    }
    assert_int_equal(more, 0);
    assert_int_equal(n, view.timeline.n);
    assert_int_equal(line.told, n);
    assert_true(world_count(&f->world, id, "task.started") > 0);
}

static void test_search(void **state)
{
    struct fix *f = *state;
    const uint64_t hers = submit(f, "ada", "train", ",\"suspend\":true");
    const uint64_t his = submit(f, "bob", "train", ",\"suspend\":true");
    const struct job_query query = { .name_has = "train", .limit = 10 };
    const struct identity bob = { .name = "bob", .role = ROLE_USER };
    const struct identity root = { .name = "root", .role = ROLE_ADMIN };
    struct search_page page;
    struct err err;
    assert_int_equal(answer_search(f->ctl, f->arena, &bob, &query, &page, &err), 0);
    assert_int_equal(page.total, 1);
    assert_int_equal(page.ids[0], his);
    assert_int_equal(answer_search(f->ctl, f->arena, &root, &query, &page, &err), 0);
    assert_int_equal(page.total, 2);
    assert_true(page.ids[0] == hers || page.ids[1] == hers);
}

static void keep(void *arg, const struct ctl_answer *answer)
{
    struct fix *f = arg;
    assert_null(answer->err);
    const struct job_view view = job_view_of(answer->made.job);
    assert_string_equal(view.name, "j");
    assert_string_equal(view.owner, "ada");
    assert_int_equal(view.id, answer->job);
    assert_int_equal(view.tasks, 1);
    assert_int_equal(view.away.n, 0);
    f->told = view.state;
    snprintf(f->why, sizeof f->why, "%s", view.reason);
}

/* As its row has it then. */
static void test_commanded(void **state)
{
    struct fix *f = *state;
    const uint64_t id = submit(f, "ada", "j", "");
    struct job_view view;
    ctl_command(f->ctl, "ada", id, CTL_SUSPEND, keep, f);
    ctl_turn(f->ctl);
    assert_int_equal(answer_job_view(f->ctl, f->arena,
                                     &(struct job_ask){ .job = id, .owner = "ada" }, &view, NULL),
                     0);
    assert_int_equal(f->told, view.state);
    assert_string_equal(f->why, view.reason);
    world_run(&f->world);
    ctl_command(f->ctl, "ada", id, CTL_STOP, keep, f);
    ctl_turn(f->ctl);
    assert_int_equal(f->told, JOB_STOPPED);
}

static void test_no_pods(void **state)
{
    struct fix *f = *state;
    submit(f, "ada", "j", "");
    struct pod_list pods;
    struct err err;
    assert_int_equal(answer_pods_view(f->ctl, f->arena, &(struct pod_ask){ 0 }, &pods, &err), 0);
    assert_int_equal(pods.n, 0);
    const struct pod_ask one = { .name = "j-w-0" };
    assert_int_equal(answer_pods_view(f->ctl, f->arena, &one, &pods, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* What is known of a job that waits, and of one that has ended. */
static void test_question(void **state)
{
    struct fix *f = *state;
    const uint64_t ended = submit(f, "ada", "first", "");
    world_run(&f->world);
    const uint64_t waits = submit(f, "ada", "second", ",\"suspend\":true");
    struct asked_job job;
    struct err err;
    const struct reader ada = reader_of(ctl_contents(f->ctl).accounts, f->arena, "ada");
    assert_null(question_row(f->ctl, ended));
    assert_int_equal(question_queue(f->ctl, ended), UINT32_MAX);
    assert_string_equal(question_row(f->ctl, waits)->name, "second");
    assert_string_equal(question_spec(f->ctl, waits)->name, "second");
    assert_int_equal(question_member(f->ctl, waits), waits);
    assert_true(question_next_id(f->ctl) > waits);
    assert_int_equal(question_about(f->ctl, &ada, waits, &job, &err), 0);
    assert_true(job.waits && job.live && job.spec);
    assert_null(job.after.text);
    assert_int_equal(question_about(f->ctl, &ada, ended, &job, &err), 0);
    assert_null(job.live);
    assert_int_equal(job.row.state, JOB_SUCCEEDED);
    assert_int_equal(question_about(f->ctl, &ada, waits + 1, &job, &err), -1);
}

/* One attempt of one task; its directory names both. */
static void test_logs(void **state)
{
    struct fix *f = *state;
    const uint64_t id = submit(f, "ada", "j", "");
    struct attempt_log *logs;
    uint32_t tasks = 0;
    size_t n = 0;
    world_run(&f->world);
    assert_int_equal(answer_logs(f->ctl, f->arena, id, &logs, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(logs[0].role_name, "w");
    assert_int_equal(logs[0].attempt, 1);
    assert_true(logs[0].final);
    assert_non_null(strstr(logs[0].dir, f->world.runs));
    assert_int_equal(answer_members(f->ctl, id, &tasks), 0);
    assert_int_equal(tasks, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_timeline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_search, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commanded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_pods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_question, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_logs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
