/* Arrays and jobs that wait for others: all members or none, so many at a time, restarts in
 * between, ends that decide for those behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/jobs.h"
#include "base/file.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "store/db.h"
#include "store/deletion.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ROLES "\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static void in_slices_of_two(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->slice = 2;
}

static int setup_in_slices(void **state)
{
    static struct world w;
    world_init_with(&w, (struct world_hooks){ .before = in_slices_of_two }, NULL);
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

/* A job of that name, with more members of its tree. */
static uint64_t submit(struct world *w, const char *name, const char *more)
{
    char text[400];
    snprintf(text, sizeof text, "{\"name\":\"%s\",%s%s" ROLES, name, more, *more ? "," : "");
    return world_submit(w, text);
}

static unsigned in_state(struct world *w, uint64_t array, enum job_state wanted)
{
    struct arena *arena = arena_create();
    struct err err;
    struct job_view view;
    assert_int_equal(answer_job_view(w->ctl, arena,
                                     &(struct job_ask){ .job = array, .owner = "ada" }, &view,
                                     &err),
                     0);
    unsigned count = view.member_states ? view.member_states[wanted] : 0;
    arena_destroy(arena);
    return count;
}

static uint64_t listed(struct world *w, uint64_t array, uint32_t members)
{
    struct job_filter filter = { .limit = 1000, .array = array, .members = members };
    struct arena *arena = arena_create();
    struct err err;
    struct job_list list;
    assert_int_equal(answer_list_view(w->ctl, arena, &filter, &list, &err), 0);
    arena_destroy(arena);
    return list.n;
}

static void one_submission_many_jobs(void **state)
{
    struct world *w = *state;
    uint64_t array = submit(w, "a", "\"array\":\"1-9:2\""), id;
    assert_true(array != 0);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_SUCCEEDED);
    assert_string_equal(world_reason(w, array), "5 succeeded");
    assert_string_equal(world_events(w, array), "submitted started succeeded");
    assert_int_equal(listed(w, array, 5), 5);
    assert_int_equal(listed(w, 0, 0), 1); /* one line in the list of jobs */
    assert_int_equal(ctl_find(w->ctl, "1[3]", &id, NULL), 0);
    assert_true(id == array + 2);
    assert_int_equal(ctl_find(w->ctl, "a[9]", &id, NULL), 0);
    assert_int_equal(world_state(w, id), JOB_SUCCEEDED);
    struct err err;
    assert_int_equal(ctl_find(w->ctl, "1[2]", &id, &err), -1);
    assert_non_null(strstr(err.hint, "1-9:2"));
    assert_int_equal(ctl_find(w->ctl, "3[0]", &id, &err), -1); /* a member is no array */
    assert_int_equal(ctl_find(w->ctl, "a", &id, NULL), 0);
    assert_true(id == array);
}

static int third_fails(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)role;
    (void)index;
    (void)attempt;
    return job % 3 == 0;
}

static void the_worst_end_counts(void **state)
{
    struct world *w = *state;
    w->by_attempt = third_fails;
    uint64_t array = submit(w, "a", "\"array\":6,\"retry\":{\"unknown\":0}");
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_FAILED);
    assert_int_equal(in_state(w, array, JOB_FAILED), 2);
    assert_int_equal(world_count(w, array, "member.failed"), 2);
    assert_non_null(strstr(world_reason(w, array), "2 failed, 4 succeeded; first ["));
}

static void so_many_at_a_time(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":{\"count\":6,\"at_once\":2}");
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_RUNNING), 2);
    assert_int_equal(live_waiting(w->ctl->live),
                     0); /* nothing of it for the scheduler to look at */
    assert_int_equal(world_state(w, array + 3), JOB_QUEUED);
    world_crash(w);
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_RUNNING), 2);
    world_command(w, array + 1, CTL_SUSPEND); /* gives its slot to the next */
    world_run(w);
    assert_int_equal(world_state(w, array + 1), JOB_SUSPENDED);
    assert_int_equal(world_state(w, array + 3), JOB_RUNNING);
    world_command(w, array + 1, CTL_RESUME); /* and is the next itself */
    world_run(w);
    assert_int_equal(world_state(w, array + 1), JOB_QUEUED);
    world_command(w, array + 2, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, array + 1), JOB_RUNNING);
    assert_int_equal(world_state(w, array + 4), JOB_QUEUED);
    world_command(w, array + 4, CTL_STOP); /* out of its line */
    w->code_all = 0;
    for (int i = 0; i < 200 && world_step(w); i++)
        assert_true(world_used(w) <= 2000);
    assert_int_equal(world_state(w, array), JOB_STOPPED);
    assert_int_equal(in_state(w, array, JOB_SUCCEEDED), 4);
    assert_true(world_used(w) == 0);
}

static void commands_are_for_all_members(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":6");
    world_run(w);
    world_command(w, array, CTL_SUSPEND);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_SUSPENDED);
    assert_int_equal(in_state(w, array, JOB_SUSPENDED), 6);
    world_command(w, array, CTL_RESUME);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_RUNNING);
    world_command_as(w, "bob", array, CTL_STOP);
    assert_int_equal(w->code, ERR_NOT_FOUND);
    world_command(w, array, CTL_DELETE);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_command(w, array, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_STOPPED);
    world_command(w, array, CTL_STOP);
    assert_int_equal(w->code, ERR_CONFLICT);
    world_command(w, array + 2, CTL_DELETE);
    assert_int_equal(listed(w, array, 6), 5);
    world_command(w, array, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    assert_int_equal(listed(w, array, 6), 0);
    uint64_t id;
    assert_int_equal(ctl_find(w->ctl, "3", &id, NULL), -1);
}

static void a_member_that_lives_keeps_its_array(void **state)
{
    struct world *w = *state;
    w->by_attempt = third_fails;
    uint64_t array = submit(w, "a", "\"array\":\"0-3%1\",\"retry\":{\"unknown\":0}");
    world_step(w);
    for (int i = 0; i < 60 && in_state(w, array, JOB_SUCCEEDED) == 0; i++)
        world_step(w);
    world_command(w, array + 1, CTL_DELETE); /* ended or not: the array has not */
    assert_int_equal(w->code, ERR_CONFLICT);
    world_crash(w);
    world_run(w);
    assert_true(job_state_final(world_state(w, array)));
}

static void same_key_same_array(void **state)
{
    struct world *w = *state;
    static const char text[] = "{\"name\":\"a\",\"array\":3," ROLES;
    struct submission ask = {
        .owner = "ada", .text = text, .len = sizeof text - 1, .work_dir = "/tmp", .key = "k"
    };
    uint64_t first = world_submit_as(w, &ask);
    assert_true(first != 0);
    assert_true(world_submit_as(w, &ask) == first);
    world_run(w);
    world_crash(w);
    assert_true(world_submit_as(w, &ask) == first);
    struct submission again = { .owner = "ada", .like = first + 2 }; /* that member alone */
    uint64_t one = world_submit_as(w, &again);
    assert_true(one != 0 && one != first);
    world_run(w);
    assert_int_equal(in_state(w, one, JOB_SUCCEEDED), 1);
    uint64_t id;
    assert_int_equal(ctl_find(w->ctl, "5[1]", &id, NULL), 0);
    ask.key = NULL;
    ask.apply = true;
    w->code_all = FAKE_RUNS;
    uint64_t applied = world_submit_as(w, &ask);
    assert_true(world_submit_as(w, &ask) == applied);
}

static void all_members_or_none(void **state)
{
    struct world *w = *state;
    struct rlimit was, none;
    w->code_all = FAKE_RUNS;
    uint64_t before = submit(w, "before", "\"array\":\"0-2%1\"");
    world_run(w);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_true(submit(w, "a", "\"array\":500") == 0);
    assert_int_not_equal(w->code, ERR_NONE);
    world_command(w, before + 1, CTL_STOP); /* cannot be written either */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(listed(w, 0, 0), 1);
    assert_int_equal(live_count(w->ctl->live), 3);
    world_pass(w, 5000);
    world_run(w);
    assert_int_equal(in_state(w, before, JOB_RUNNING) + in_state(w, before, JOB_STOPPED), 1);
    w->code_all = 0;
    world_run(w);
    assert_true(job_state_final(world_state(w, before)));
    uint64_t array = submit(w, "a", "\"array\":5");
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_SUCCEEDED), 5);
}

static void after_an_array(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t first = submit(w, "a", "\"array\":2");
    uint64_t then = submit(w, "b", "\"after\":[\"a\"]");
    uint64_t each = submit(w, "c", "\"array\":2,\"after\":[{\"job\":1,\"match\":\"index\"}]");
    assert_true(first && then && each);
    world_run(w);
    assert_int_equal(live_waiting(w->ctl->live), 0);
    assert_string_equal(world_reason(w, then), "waits for array 1 (a) to end well: 2 running");
    assert_string_equal(world_reason(w, each + 1), "waits for 1[0] (a) to end well: it is running");
    world_crash(w);
    world_command(w, first + 1, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, each + 1), JOB_FAILED);
    assert_non_null(strstr(world_reason(w, each + 1), "1[0] (a) to end well, and it has stopped"));
    assert_int_equal(world_state(w, each + 2), JOB_QUEUED);
    w->code_all = 0;
    world_run(w);
    assert_int_equal(world_state(w, each + 2), JOB_SUCCEEDED);
    assert_int_equal(world_state(w, then), JOB_FAILED);
    assert_int_equal(world_state(w, each), JOB_FAILED);
}

static void after_what_cannot_be(void **state)
{
    static const struct {
        const char *more, *says;
    } rows[] = {
        { "\"after\":[9]", "after[0].job: no job 9" }, /* itself, and what comes later */
        { "\"after\":[\"b\"]", "no job \"b\"" },
        { "\"after\":[\"a[7]\"]", "no job \"a[7]\"" },
        { "\"after\":[1,{\"job\":1,\"ended\":\"badly\"}]", "cannot end well and badly" },
        { "\"after\":[{\"job\":1,\"match\":\"index\"}]", "this job is no array" },
        { "\"array\":3,\"after\":[{\"job\":1,\"match\":\"index\"}]",
          "the indices are 0-2, those of array 1 are 0-1" },
        { "\"array\":2,\"after\":[{\"job\":4,\"match\":\"index\"}]", "job 4 is no array" },
    };
    struct world *w = *state;
    assert_true(submit(w, "a", "\"array\":2") != 0);
    assert_true(submit(w, "one", "") != 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(submit(w, "b", rows[i].more) == 0);
        assert_int_equal(w->code, ERR_INPUT);
        if (!strstr(w->what, rows[i].says))
            fail_msg("%s: %s", rows[i].more, w->what);
    }
    world_run(w);
    uint64_t late = submit(w, "late", "\"after\":[{\"job\":1,\"ended\":\"badly\"}]");
    uint64_t fine = submit(w, "fine", "\"after\":[1,\"a[1]\"]");
    world_run(w);
    assert_int_equal(world_state(w, late), JOB_FAILED);
    assert_non_null(
        strstr(world_reason(w, late), "array 1 (a) to end badly, and it has succeeded"));
    assert_int_equal(world_state(w, fine), JOB_SUCCEEDED);
}

/* What has ended as wished may be forgotten while the others are waited for. */
static void after_what_is_gone(void **state)
{
    struct world *w = *state;
    uint64_t first = submit(w, "a", "");
    w->code_all = FAKE_RUNS;
    world_step(w);
    uint64_t second = submit(w, "b", "");
    uint64_t both = submit(w, "c", "\"after\":[1,2]");
    uint64_t gone = submit(w, "d", "\"suspend\":true,\"after\":[1]");
    world_run(w);
    if (!job_state_final(world_state(w, first)))
        world_command(w, first, CTL_STOP);
    world_run(w);
    enum job_state end = world_state(w, first);
    world_command(w, first, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    world_crash(w);
    world_run(w);
    world_command(w, gone, CTL_RESUME);
    w->code_all = 0;
    world_run(w);
    assert_int_equal(world_state(w, second), JOB_SUCCEEDED);
    assert_int_equal(world_state(w, both), end == JOB_SUCCEEDED ? JOB_SUCCEEDED : JOB_FAILED);
    assert_int_equal(world_state(w, gone), JOB_FAILED);
    assert_non_null(strstr(world_reason(w, gone), "no longer known"));
}

/* The array's row acknowledges all; no number of theirs is given to another job meanwhile. What a
 * crash cut off is written by the next server. */
static void members_in_slices(void **state)
{
    struct world *w = *state;
    uint64_t id;
    struct err err = { 0 };
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":9,\"suspend\":true");
    assert_true(array != 0);
    assert_int_equal(listed(w, array, 9), 2);
    assert_int_equal(in_state(w, array, JOB_SUSPENDED), 9);
    assert_int_equal(ctl_find(w->ctl, "1[8]", &id, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_int_equal(ctl_find(w->ctl, "10", &id, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    world_crash(w);
    assert_int_equal(listed(w, array, 9), 4);
    uint64_t other = submit(w, "b", "");
    assert_true(other > array + 9);
    assert_int_equal(ctl_find(w->ctl, "11", &id, &err), 0);
    assert_true(id == other);
    world_run(w);
    assert_int_equal(listed(w, array, 9), 9);
    assert_int_equal(in_state(w, array, JOB_SUSPENDED), 9);
    assert_int_equal(ctl_find(w->ctl, "1[8]", &id, &err), 0);
    assert_string_equal(world_events(w, id), "held");
    assert_string_equal(world_events(w, array), "held");
}

/* A command is for all members, those too whose rows follow; what a crash cut off is gone on with.
 */
static void commands_in_slices(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":9");
    world_command(w, array, CTL_SUSPEND);
    world_crash(w);
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_SUSPENDED), 9);
    assert_int_equal(world_used(w), 0);
    world_command(w, array, CTL_RESUME);
    world_step(w);
    assert_true(in_state(w, array, JOB_SUSPENDED) > 0);
    world_command(w, array, CTL_RESUME); /* it is on its way */
    world_crash(w);
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_SUSPENDED), 0);
    assert_int_equal(in_state(w, array, JOB_RUNNING), 8);
    world_command(w, array, CTL_STOP);
    world_command(w, array, CTL_RESUME); /* what is on its way to its end stays so */
    world_crash(w);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_STOPPED);
    assert_int_equal(in_state(w, array, JOB_STOPPED), 9);
    assert_string_equal(world_events(w, array + 9), "submitted paused resumed stopped");
}

/* Rows that the deletion of jobs left, up to a thousand. */
static uint32_t left_of_deleted(struct world *w)
{
    struct deleted_rest rest = { .arena = arena_create(), .rows = 1000 };
    assert_int_equal(store_delete_rest(w->store, &rest, NULL), 0);
    store_rollback(w->store);
    arena_destroy(rest.arena);
    return 1000 - rest.rows;
}

static void assert_gone(struct world *w, uint64_t array, uint32_t members)
{
    uint64_t id;
    char word[16];
    for (uint32_t i = 0; i <= members; i++) {
        snprintf(word, sizeof word, "%u", 1 + i);
        assert_int_equal(ctl_find(w->ctl, word, &id, NULL), -1);
        world_command(w, array + i, CTL_STOP);
        assert_int_equal(w->code, ERR_NOT_FOUND);
    }
    assert_int_equal(ctl_find(w->ctl, "a", &id, NULL), -1);
    assert_int_equal(listed(w, array, members), 0);
}

static bool has_runs(const struct world *w, uint32_t number)
{
    char dir[128];
    snprintf(dir, sizeof dir, "%s/%u", w->runs, number);
    return file_is_dir(dir);
}

/* What is deleted is gone at once; its rows and directories go in slices. A commit that fails and
 * servers that die leave nothing of it behind, and none of its numbers is given out again. */
static void deletion_in_slices(void **state)
{
    struct world *w = *state;
    struct rlimit was, none;
    uint64_t array = submit(w, "a", "\"array\":9");
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_SUCCEEDED), 9);
    assert_true(has_runs(w, 10));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_command(w, array, CTL_DELETE);
    assert_int_not_equal(w->code, ERR_NONE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(listed(w, array, 9), 9);
    world_pass(w, 5000);
    world_run(w);
    world_command(w, array, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    assert_gone(w, array, 9);
    assert_int_equal(left_of_deleted(w) > 100, true);
    world_crash(w);
    assert_gone(w, array, 9);
    world_step(w);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_step(w);
    assert_true(ctl_storage_full(w->ctl));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(left_of_deleted(w) > 0 && has_runs(w, 10));
    world_pass(w, 5000);
    world_crash(w);
    uint64_t other = submit(w, "b", "");
    assert_true(other > array + 9);
    world_pass(w, 5000);
    world_run(w);
    assert_gone(w, array, 9);
    assert_int_equal(left_of_deleted(w), 0);
    assert_int_equal(store_last_of(w->store, array + 9), 0);
    for (uint32_t number = 1; number <= 10; number++)
        assert_false(has_runs(w, number));
    assert_true(has_runs(w, 11));
    assert_int_equal(world_state(w, other), JOB_SUCCEEDED);
}

/* A job's places are many events, where ports that it prefers are taken: those of a slice come with
 * its rows. */
static void moved_ports_are_said_in_slices(void **state)
{
    struct world *w = *state;
    uint64_t job = world_submit(
        w,
        "{\"name\":\"p\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":6,\"resources\":{\"cpu\":1},"
        "\"ports\":{\"http\":{\"first\":20000,\"prefer\":true}}}}}");
    while (world_count(w, job, "allocated") == 0)
        assert_true(world_step(w));
    assert_true(world_count(w, job, "task.port") < 5);
    world_run(w);
    assert_int_equal(world_count(w, job, "task.port"), 5); /* one of the host has it */
    assert_int_equal(world_state(w, job), JOB_SUCCEEDED);
}

/* Most of a slice was written: the plan that is due gets a tick of its own, the slices the next. */
static void a_plan_waits_for_a_tick_of_its_own(void **state)
{
    struct world *w = *state;
    uint64_t plans = w->ctl->counters.plans;
    assert_int_equal(w->ctl->slices.rows, 2);
    w->ctl->slices.rows = 1;
    uint64_t job = submit(w, "a", "");
    assert_int_equal(w->ctl->counters.plans, plans);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    assert_int_equal(w->wake, w->now);
    ctl_tick(w->ctl);
    assert_int_equal(w->ctl->counters.plans, plans + 1);
    assert_int_equal(w->wake, w->now);
    ctl_tick(w->ctl);
    assert_int_equal(w->ctl->slices.rows, 2);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_SUCCEEDED);
}

static int give_up(void *arg)
{
    (void)arg;
    return 1;
}

/* A disk that cannot be read for a while: what is left is removed without another deletion. */
static void deletion_goes_on_after_a_failed_read(void **state)
{
    struct world *w = *state;
    uint64_t array = submit(w, "a", "\"array\":9");
    world_run(w);
    world_command(w, array, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    assert_true(left_of_deleted(w) > 100);
    sqlite3_progress_handler(w->store->db, 1, give_up, NULL);
    ctl_tick(w->ctl);
    sqlite3_progress_handler(w->store->db, 0, NULL, NULL);
    assert_int_equal(w->ctl->counters.commits_failed, 0);
    assert_true(left_of_deleted(w) > 100);
    world_pass(w, 60000);
    world_run(w);
    assert_int_equal(left_of_deleted(w), 0);
}

/* None of an array that is on its way to be stopped is given the room of those before it. */
static void none_starts_of_what_is_stopped(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":\"0-19%8\"");
    world_run(w);
    assert_int_equal(in_state(w, array, JOB_RUNNING), 8);
    world_command(w, array, CTL_STOP);
    world_command(w, array + 1, CTL_STOP_NOW);
    world_run(w);
    assert_int_equal(world_state(w, array), JOB_STOPPED);
    for (uint32_t i = 9; i <= 20; i++)
        assert_string_equal(world_events(w, array + i), "submitted stopped");
}

/* The later one of two opposite wishes counts for all. */
static void the_last_command_counts(void **state)
{
    struct world *w = *state;
    uint64_t array = submit(w, "a", "\"array\":9,\"suspend\":true");
    world_run(w);
    world_command(w, array, CTL_RESUME);
    world_command(w, array, CTL_SUSPEND);
    world_run(w);
    assert_int_equal(world_state(w, array) == JOB_SUSPENDED || world_state(w, array) == JOB_RUNNING,
                     1);
    assert_int_equal(in_state(w, array, JOB_QUEUED), 0);
    assert_true(in_state(w, array, JOB_SUSPENDED) >= 7);
}

static void after_a_member_to_come(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    uint64_t array = submit(w, "a", "\"array\":5");
    uint64_t by_name = submit(w, "b", "\"after\":[\"a[4]\"]");
    uint64_t by_number = submit(w, "c", "\"after\":[6]");
    uint64_t each = submit(w, "d", "\"array\":5,\"after\":[{\"job\":1,\"match\":\"index\"}]");
    assert_true(by_name && by_number && each);
    world_run(w);
    assert_string_equal(world_reason(w, by_name), "waits for 1[4] (a) to end well: it is running");
    assert_string_equal(world_reason(w, each + 5), world_reason(w, by_number));
    world_command(w, array + 5, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, by_name), JOB_FAILED);
    assert_int_equal(world_state(w, by_number), JOB_FAILED);
    assert_int_equal(world_state(w, each + 5), JOB_FAILED);
    assert_int_equal(world_state(w, each + 1), JOB_QUEUED);
}

int main(void)
{
#define T(name)  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T2(name) cmocka_unit_test_setup_teardown(name, setup_in_slices, teardown)
    const struct CMUnitTest tests[] = {
        T(one_submission_many_jobs),
        T(the_worst_end_counts),
        T(so_many_at_a_time),
        T(commands_are_for_all_members),
        T(a_member_that_lives_keeps_its_array),
        T(same_key_same_array),
        T(all_members_or_none),
        T(after_an_array),
        T(after_what_cannot_be),
        T(after_what_is_gone),
        T2(members_in_slices),
        T2(commands_in_slices),
        T2(deletion_in_slices),
        T2(deletion_goes_on_after_a_failed_read),
        T2(moved_ports_are_said_in_slices),
        T2(a_plan_waits_for_a_tick_of_its_own),
        T2(none_starts_of_what_is_stopped),
        T2(the_last_command_counts),
        T2(after_a_member_to_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
