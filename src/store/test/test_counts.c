/* How many jobs there are by state follows what is written, over commits that fail, deletions whose
 * rows go later, and another server; nobody counts all jobs to say it. */
#include "store/test/filled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/dice.h"
#include "store/db.h"
#include "store/deletion.h"
#include "store/find.h"

#define TURNS   400
#define MEMBERS 4u

/* As they are, counted anew. */
static void assert_counted(struct store *st)
{
    struct job_counts kept, found = { 0 };
    sqlite3_stmt *s = NULL;
    assert_int_equal(store_counts(st, &kept, NULL), 0);
    assert_int_equal(
        sqlite3_prepare_v2(st->db,
                           "SELECT state, count(*) FROM job j WHERE members = 0 AND (array = 0 OR"
                           " EXISTS (SELECT 1 FROM job a WHERE a.id = j.array)) GROUP BY state",
                           -1, &s, NULL),
        SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        found.by_state[job_state_parse((const char *)sqlite3_column_text(s, 0))] =
            (uint64_t)sqlite3_column_int64(s, 1);
    sqlite3_finalize(s);
    for (int i = 0; i < JOB_STATE_N; i++)
        assert_int_equal(kept.by_state[i], found.by_state[i]);
}

static struct job_row next_job(struct store *st)
{
    return (struct job_row){ .id = store_last_job_id(st) + 1,
                             .number = store_next_number(st),
                             .owner = "ada",
                             .name = "job",
                             .dialect = "muster",
                             .state = JOB_QUEUED,
                             .spec = "{}",
                             .site = "{}" };
}

/* The last of its members is not written yet. */
static void put_array(struct store *st)
{
    struct job_row array = next_job(st), one = array;
    array.members = MEMBERS;
    assert_int_equal(store_put_job(st, &array, NULL), 0);
    for (uint32_t i = 1; i < MEMBERS; i++) {
        one.id = array.id + i;
        one.number = array.number + i;
        one.state = i % 2 ? JOB_SUCCEEDED : JOB_QUEUED;
        one.array = array.id;
        one.index = i - 1;
        assert_int_equal(store_put_job(st, &one, NULL), 0);
    }
}

/* One that is there, or not. */
static bool find_any(struct store *st, struct arena *arena, struct dice *dice, struct job_row *job)
{
    uint64_t id = 1 + dice_below(dice, (uint32_t)store_last_job_id(st) + 2);
    return store_get_job(st, arena, id, job, NULL) == 1;
}

static void write_any(struct store *st, struct arena *arena, struct dice *dice)
{
    struct deleted_rest rest = { .arena = arena, .rows = 9 };
    struct job_row job = { .id = 0 };
    switch (dice_below(dice, 5)) {
    case 0:
        job = next_job(st);
        assert_int_equal(store_put_job(st, &job, NULL), 0);
        break;
    case 1: put_array(st); break;
    case 2:
        if (!find_any(st, arena, dice, &job))
            break;
        job.state = (enum job_state)(1 + dice_below(dice, JOB_STATE_N - 1));
        assert_int_equal(store_update_job(st, &job, NULL), 0);
        break;
    case 3:
        if (find_any(st, arena, dice, &job) && !job.array)
            assert_int_equal(store_delete_job(st, job.id, NULL), 0);
        break;
    default: assert_int_equal(store_delete_rest(st, &rest, NULL), 0);
    }
}

static void follow_what_is_written(void **state)
{
    struct filled *f = *state;
    struct dice dice = { .state = 19 };
    for (int turn = 0; turn < TURNS; turn++) {
        struct arena *arena = arena_create();
        for (uint32_t n = dice_below(&dice, 4); n > 0; n--)
            write_any(f->st, arena, &dice);
        assert_counted(f->st);
        if (dice_below(&dice, 4) == 0)
            store_rollback(f->st);
        else
            assert_int_equal(store_commit(f->st, NULL), 0);
        assert_counted(f->st);
        if (turn == TURNS / 2) {
            store_close(f->st);
            f->st = store_open(f->path, &f->err);
            assert_non_null(f->st);
            assert_counted(f->st);
        }
        arena_destroy(arena);
    }
    sqlite3_stmt *all = f->st->stmts[STMT_COUNTS];
    assert_int_equal(sqlite3_stmt_status(all, SQLITE_STMTSTATUS_RUN, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(follow_what_is_written, filled_set_up, filled_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
