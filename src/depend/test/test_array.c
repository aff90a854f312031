/* Arrays over a real store, without a core: members that come slice by slice, slots, commands, the
 * array's own state, and what a failed commit and the next server make of all that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "depend/members.h"
#include "depend/wording.h"
#include "job/record.h"
#include "store/seal.h"

#include <stdio.h>
#include <string.h>

#define ARRAY   UINT64_C(1000) /* its id; members follow */
#define MEMBERS 5u
#define TEXT    "{\"name\":\"x\",\"array\":%s,\"roles\":{\"w\":{\"run\":\"x\"}}}"

struct fix {
    struct arena *arena;
    struct store *store;
    struct arrays *arrays;
    char dir[64];
    struct job_row jobs[MEMBERS]; /* a core's: those that entered */
    uint32_t entered;
    char said[400]; /* what arrays asked for since the last look */
};

/* ---- a core that keeps rows and nothing else ---- */

static void note(struct fix *f, const char *what, uint64_t id)
{
    size_t used = strlen(f->said);
    snprintf(f->said + used, sizeof f->said - used, "%s%s %llu", used ? ", " : "", what,
             (unsigned long long)(id - ARRAY));
}

static uint64_t now(const void *arg)
{
    (void)arg;
    return 5000;
}

static void record(void *arg, struct live_array *array, const struct array_event *event)
{
    struct fix *f = arg;
    size_t used = strlen(f->said);
    struct draft text;
    draft_array(&text, array, event);
    const struct sentence said = draft_said(&text);
    if (event->failed && !*array->row.reason.text)
        array->row.reason = sentence_copy(array->arena, &said);
    assert_int_equal(store_update_job(f->store, &array->row, NULL), 0);
    snprintf(f->said + used, sizeof f->said - used, "%s%s (%s)", used ? ", " : "", event->type,
             said.text);
}

static void move(struct fix *f, uint32_t position, enum job_state to)
{
    struct job_row *row = &f->jobs[position];
    enum job_state from = row->state;
    row->state = to;
    array_moved(f->arrays, row, from);
    if (to == JOB_QUEUED && !array_hold(f->arrays, row))
        note(f, "queued", row->id);
    row->live = NULL;
    assert_int_equal(store_update_job(f->store, row, NULL), 0);
}

static void join(void *arg, uint64_t id)
{
    note(arg, "joined", id);
}

static void enter(void *arg, struct live_array *array, struct job_row *row)
{
    struct fix *f = arg;
    const enum job_state first = row->state;
    assert_string_equal(array->notes.text, "in a copy");
    assert_string_equal(row->live, "{\"x\":1}");
    assert_int_equal(row->index, job_array_index(&array->spec->array, f->entered));
    f->jobs[f->entered] = *row;
    f->jobs[f->entered].state = JOB_NONE;
    move(f, f->entered++, first);
}

static void command(void *arg, uint64_t id, const char *by, enum array_command wanted)
{
    struct fix *f = arg;
    static const char *const words[] = { "stop", "stop now", "suspend", "resume" };
    struct job_row *row = &f->jobs[id - ARRAY - 1];
    assert_string_equal(by, "eva");
    note(f, words[wanted], id);
    if (!job_state_final(row->state))
        move(f, (uint32_t)(id - ARRAY - 1),
             wanted == ARRAY_SUSPEND  ? JOB_SUSPENDED
             : wanted == ARRAY_RESUME ? JOB_QUEUED
                                      : JOB_STOPPED);
}

static void ended(void *arg, uint64_t array)
{
    note(arg, "ended", array);
}

/* ---- a server ---- */

static void open_all(struct fix *f)
{
    AUTO_FREE char *db = file_join(f->dir, "db"), *key = file_join(f->dir, "identity.key");
    struct err err = { 0 };
    bool fits;
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    struct seal *seal = seal_open(key, store_has_sealed(f->store), &err);
    assert_non_null(seal);
    assert_int_equal(store_use_seal(f->store, seal, &fits, &err), 0);
    f->arrays = arrays_create(&(struct arrays_config){ .store = f->store,
                                                       .core = { .arg = f,
                                                                 .now = now,
                                                                 .date = now,
                                                                 .record = record,
                                                                 .join = join,
                                                                 .enter = enter,
                                                                 .command = command,
                                                                 .ended = ended } });
}

static void close_all(struct fix *f)
{
    arrays_destroy(f->arrays);
    store_close(f->store);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/arrays.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->arena = arena_create();
    open_all(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    close_all(f);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void commit(struct fix *f)
{
    struct err err = { 0 };
    assert_int_equal(store_commit(f->store, &err), 0);
    arrays_committed(f->arrays);
}

/* A row as a submission writes it, all members still to come. */
static struct live_array *submit(struct fix *f, const char *range)
{
    char text[200];
    const struct array_progress notes = { .left = MEMBERS,
                                          .live = "{\"x\":1}",
                                          .text = "in a copy" };
    snprintf(text, sizeof text, TEXT, range);
    struct job_row row = { .id = ARRAY,
                           .number = 40,
                           .owner = "eva",
                           .project = "",
                           .name = "x",
                           .queue = "default",
                           .dialect = "native",
                           .state = JOB_QUEUED,
                           .reason.text = "",
                           .tasks = MEMBERS,
                           .members = MEMBERS,
                           .spec = text,
                           .site = "{}",
                           .live = array_progress_print(f->arena, &notes) };
    assert_int_equal(store_put_job(f->store, &row, NULL), 0);
    struct live_array *array = array_open(f->arrays, &row);
    assert_non_null(array);
    assert_int_equal(array->counts[JOB_QUEUED], MEMBERS); /* as they will be */
    return array;
}

static void look(struct fix *f, const char *said)
{
    assert_string_equal(f->said, said);
    f->said[0] = '\0';
}

/* As many rows as a slice has; what is left of them. */
static uint32_t go_on(struct fix *f, uint32_t rows, bool again)
{
    struct members_work work = { .rows = &rows, .may_write = true };
    assert_int_equal(members_go_on(f->arrays, &work), again);
    return rows;
}

/* ---- tests ---- */

static void members_come_in_slices(void **state)
{
    struct fix *f = *state;
    struct job_row row;
    struct live_array *array = submit(f, "\"2-10:2\"");
    uint32_t rows = 4;
    struct members_work full = { .rows = &rows };
    assert_false(members_go_on(f->arrays, &full)); /* nothing while the disk takes no rows */
    assert_int_equal(rows, 4);
    assert_int_equal(go_on(f, 2, true), 0);
    look(f, "queued 1, queued 2");
    assert_int_equal(array_written(array), 2);
    assert_int_equal(members_find_coming(f->arrays, 42), 0);
    assert_int_equal(members_find_coming(f->arrays, 43), ARRAY + 3);
    assert_true(members_coming(f->arrays, ARRAY + 3, &row));
    assert_int_equal(row.index, 6);
    assert_int_equal(row.tasks, 1);
    assert_int_equal(array_number(&row), 40);
    assert_false(members_coming(f->arrays, ARRAY + 6, &row));
    assert_int_equal(go_on(f, 9, false), 6);
    look(f, "queued 3, queued 4, queued 5");
    assert_int_equal(arrays_unfinished(f->arrays), 0);
    commit(f);
}

/* A commit that fails: members and how far they are, as the row says. */
static void rows_decide(void **state)
{
    struct fix *f = *state;
    uint32_t counts[JOB_STATE_N];
    struct live_array *array = submit(f, "5");
    go_on(f, 2, true);
    commit(f);
    go_on(f, 2, true);
    move(f, 0, JOB_STARTING);
    arrays_settle(f->arrays);
    assert_int_equal(array->row.state, JOB_RUNNING);
    store_rollback(f->store);
    f->entered = 2;
    arrays_undone(f->arrays);
    assert_int_equal(array->row.state, JOB_QUEUED);
    assert_int_equal(array_written(array), 2);
    assert_int_equal(array->counts[JOB_QUEUED], MEMBERS);
    f->said[0] = '\0';
    go_on(f, 1, true);
    look(f, "queued 3");
    commit(f);

    struct job_row row;
    close_all(f);
    open_all(f);
    assert_int_equal(store_get_job(f->store, f->arena, ARRAY, &row, NULL), 1);
    array = array_open(f->arrays, &row);
    assert_int_equal(array_written(array), 3);
    go_on(f, 9, false);
    look(f, "queued 4, queued 5");
    array_counts(f->arrays, &row, counts);
    assert_int_equal(counts[JOB_QUEUED], MEMBERS);
}

/* One that was submitted in the round that failed is gone. */
static void never_submitted(void **state)
{
    struct fix *f = *state;
    struct live_array *array = submit(f, "5");
    array_touch(f->arrays, array);
    store_rollback(f->store);
    arrays_undone(f->arrays);
    assert_null(array_find(f->arrays, ARRAY));
    assert_int_equal(go_on(f, 9, false), 9);
    look(f, "");
}

static void slots(void **state)
{
    struct fix *f = *state;
    struct live_array *array = submit(f, "\"0-4%2\"");
    go_on(f, 9, false);
    look(f, ""); /* all wait for a slot */
    assert_int_equal(array_bound(f->arrays, &f->jobs[0]), 2);
    assert_false(arrays_settle(f->arrays));
    look(f, "joined 1, joined 2");
    assert_int_equal(array_bound(f->arrays, &f->jobs[0]), 0);
    assert_int_equal(array_bound(f->arrays, &f->jobs[2]), 2);
    move(f, 0, JOB_STARTING);
    move(f, 0, JOB_RUNNING);
    assert_true(arrays_settle(f->arrays));
    look(f, "started (1 running, 4 queued)");
    move(f, 1, JOB_SUSPENDED); /* its slot is another's */
    arrays_settle(f->arrays);
    look(f, "joined 3");
    move(f, 1, JOB_QUEUED); /* and is before those behind it */
    move(f, 0, JOB_QUEUED); /* restarted: it keeps its own */
    arrays_settle(f->arrays);
    look(f, "queued 1, resumed (5 queued)");
    array_left(f->arrays, &f->jobs[0]);
    assert_int_equal(array->slots, 1);
    f->jobs[0].state = JOB_RUNNING;
    array_joined(f->arrays, &f->jobs[0]);
    assert_int_equal(array->slots, 2);
}

/* Those behind are stopped first; a member that comes later is told at once. */
static void commands(void **state)
{
    struct fix *f = *state;
    struct live_array *array = submit(f, "5");
    go_on(f, 3, true);
    f->said[0] = '\0';
    uint32_t rows = 2;
    struct members_work work = { .rows = &rows, .may_write = true };
    members_command(f->arrays, array, "eva", ARRAY_SUSPEND, &work);
    look(f, "suspend 3, suspend 2");
    assert_true(array_holds(f->arrays, &f->jobs[0]));
    assert_false(work.released);
    rows = 3;
    assert_false(members_go_on(f->arrays, &work));
    look(f, "suspend 1, queued 4, suspend 4, queued 5, suspend 5");
    assert_true(work.released);
    assert_false(array_is_held(array));
    arrays_settle(f->arrays);
    look(f, "paused (5 suspended)");
    rows = 9;
    members_command(f->arrays, array, "eva", ARRAY_STOP, &work);
    look(f, "stop 5, stop 4, stop 3, stop 2, stop 1, stopped (5 stopped), ended 0");
    commit(f);
    assert_null(array_find(f->arrays, ARRAY));
}

/* The first failure is what is said at the end, with the job that it names. */
static void end(void **state)
{
    struct fix *f = *state;
    struct live_array *array = submit(f, "5");
    struct err err = { 0 };
    go_on(f, 9, false);
    f->said[0] = '\0';
    for (uint32_t i = 0; i < MEMBERS; i++)
        move(f, i, JOB_STARTING);
    f->jobs[1].reason.text = "exited with 1";
    f->jobs[2].reason.text = "exited with 2";
    move(f, 1, JOB_FAILED);
    move(f, 2, JOB_FAILED);
    move(f, 0, JOB_SUCCEEDED);
    move(f, 3, JOB_SUCCEEDED);
    move(f, 4, JOB_SUCCEEDED);
    assert_true(arrays_settle(f->arrays));
    look(f, "member.failed ([1] exited with 1), member.failed ([2] exited with 2), "
            "failed (2 failed, 3 succeeded; first [1] exited with 1), ended 0");
    assert_int_equal(array->row.ended_ms, 5000);
    assert_int_equal(array_refuse(&array->row, &err), -1);
    assert_string_equal(err.what, "40 is an array of 5 jobs");
    assert_int_equal(array_refuse(&f->jobs[0], &err), 0);
}

static void unreadable(void **state)
{
    struct fix *f = *state;
    struct live_array *array = submit(f, "5");
    struct job_row row = array->row, stranger = { .id = ARRAY + 77, .array = ARRAY };
    array_joined(f->arrays, &stranger); /* beyond its members: of none */
    assert_false(array_hold(f->arrays, &stranger));
    assert_ptr_equal(array_named(f->arrays, "x"), array);
    row.id = ARRAY + 500;
    assert_null(array_open(f->arrays, &row)); /* no record */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(members_come_in_slices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_decide, set_up, tear_down),
        cmocka_unit_test_setup_teardown(never_submitted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unreadable, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
