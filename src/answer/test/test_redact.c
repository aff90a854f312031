/* Other people's jobs in what is told of one: written for those who may read them, left out for
 * others, whatever the jobs are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "account/redact.h"
#include "account/rights.h"
#include "answer/jobs.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"
#include "depend/wording.h"

#include <stdio.h>
#include <string.h>

struct fix {
    struct world world;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->arena = arena_create();
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

static uint64_t submit(struct fix *f, const char *owner, const char *more)
{
    char text[200];
    snprintf(text, sizeof text, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\"}}%s}", more);
    uint64_t id = world_submit_as(
        &f->world, &(struct submission){ .owner = owner, .text = text, .len = strlen(text) });
    assert_int_not_equal(id, 0);
    return id;
}

static void ignore(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    assert_null(answer->err);
}

static struct job_row row_of(struct fix *f, uint64_t id)
{
    struct job_row row;
    assert_int_equal(core_row(f->world.ctl, f->arena, id, &row), 0);
    return row;
}

static void expect(struct fix *f, const char *reader, const struct sentence *said, const char *told)
{
    struct reader r = reader_of(f->world.ctl->accounts, f->arena, reader);
    assert_string_equal(reader_text(&r, said), told);
}

/* Told to its owner, an admin and the server, and hidden from somebody else. */
static void check(struct fix *f, const struct job_row *row, const char *called)
{
    struct draft draft;
    draft_init(&draft);
    draft_add(&draft, "waits for ");
    draft_job(&draft, row);
    draft_add(&draft, " to end");
    const struct sentence said = draft_said(&draft);
    const char *full = arena_printf(f->arena, "waits for %s to end", called);
    assert_string_equal(said.text, "waits for another user's job to end");
    expect(f, "bob", &said, said.text);
    expect(f, "alice", &said, full);
    expect(f, "root", &said, full);
    expect(f, NULL, &said, full);
}

static void test_told(void **state)
{
    struct fix *f = *state;
    struct job_row row = row_of(f, submit(f, "alice", ""));
    struct job_row array = row_of(f, submit(f, "alice", ",\"array\":2"));
    struct job_row member = row_of(f, array.id + 2);
    row.name = "a (b) c to end";
    check(f, &row, "job 1 (a (b) c to end)");
    check(f, &array, "array 2 (j)");
    check(f, &member, "2[1] (j)");
}

/* What nobody can look up any more, and a reader who is asked twice. */
static void test_gone(void **state)
{
    struct fix *f = *state;
    const struct sentence plain = { .text = "behind 3 jobs" }, none = { .text = NULL };
    struct draft draft;
    draft_init(&draft);
    draft_name(&draft, 99, "job 99 (once)");
    const struct sentence gone = draft_said(&draft);
    submit(f, "alice", "");
    expect(f, "bob", &plain, plain.text);
    expect(f, "bob", &gone, UNKNOWN_JOB);
    expect(f, "root", &gone, "job 99 (once)");
    struct reader bob = reader_of(f->world.ctl->accounts, f->arena, "bob");
    assert_null(reader_text(&bob, &none));
    assert_string_equal(reader_hides(&bob, 1), HIDDEN_JOB);
    submit(f, "bob", "");
    assert_null(reader_hides(&bob, 2));
    assert_string_equal(reader_hides(&bob, 1), HIDDEN_JOB);
}

/* The same where they are read: of the job that waits, and of its events. */
static void test_where_read(void **state)
{
    struct fix *f = *state;
    struct err err;
    uint64_t id = submit(f, "alice", ",\"suspend\":true");
    uint64_t waits = submit(f, "alice", ",\"after\":[{\"job\":1}],\"project\":\"p\"");
    struct user_change bob = { .by = f->world.ctl->admin, .name = "bob", .create = true };
    const char *project = "p";
    bob.set_projects = true;
    bob.projects = (struct words){ .at = &project, .n = 1 };
    assert_int_equal(row_of(f, id).number, 1);
    struct job_row row = row_of(f, waits);
    assert_false(user_may_read(f->world.ctl->accounts, "bob", &row));
    ctl_user_put(f->world.ctl, &bob, ignore, NULL);
    ctl_turn(f->world.ctl);
    assert_true(user_may_read(f->world.ctl->accounts, "bob", &row));
    struct job_ask ask = { .job = waits, .owner = "bob" };
    struct job_view job;
    assert_int_equal(answer_job_view(f->world.ctl, f->arena, &ask, &job, &err), 0);
    assert_string_equal(job.reason, "waits for another user's job to end well: it is suspended");
    ask.owner = "alice";
    assert_int_equal(answer_job_view(f->world.ctl, f->arena, &ask, &job, &err), 0);
    assert_string_equal(job.reason, "waits for job 1 (j) to end well: it is suspended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
