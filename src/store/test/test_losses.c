/* Jobs that the records lost: those of which something is left, numbers of which nothing is, and
 * how many they are when they are more than are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/losses.h"

#include "base/mem.h"

#include <sqlite3.h>

/* What losses_look asks of: rows of jobs, and of what belongs to them. */
static const char tables[] =
    "CREATE TABLE job (id INTEGER PRIMARY KEY, number INTEGER, name TEXT, owner TEXT);"
    "CREATE TABLE body (job INTEGER PRIMARY KEY, spec TEXT);"
    "CREATE TABLE idem (job INTEGER, owner TEXT);"
    "CREATE TABLE event (job INTEGER);"
    "CREATE INDEX job_by_name ON job (name, id); CREATE INDEX job_by_owner ON job (owner, id)";

struct fix {
    sqlite3 *to, *damaged;
    struct arena *arena;
};

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    sqlite3_open(":memory:", &f->to);
    sqlite3_open(":memory:", &f->damaged);
    run(f->to, tables);
    run(f->damaged, tables);
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    sqlite3_close(f->to);
    sqlite3_close(f->damaged);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

#define EACH(n) "WITH RECURSIVE i (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < " n ") "

static void each_source_adds_what_it_knows(void **state)
{
    struct fix *f = *state;
    struct missing_jobs jobs;
    run(f->damaged, "INSERT INTO job VALUES (10, 1, 'here', 'ada'), (30, 3, 'lost', 'bob')");
    run(f->to, "INSERT INTO job VALUES (10, 1, 'here', 'ada');"
               "INSERT INTO body VALUES (50, '{\"name\":\"half\"}');"
               "INSERT INTO idem VALUES (50, 'eve'); INSERT INTO event VALUES (60), (0)");
    losses_look(f->to, f->damaged);
    losses_list(f->to, f->arena, 3, 5, &jobs);
    assert_int_equal(jobs.n, 5);
    assert_int_equal(jobs.more, 0);
    assert_int_equal(jobs.at[0].number, 3);
    assert_string_equal(jobs.at[0].name, "lost");
    assert_string_equal(jobs.at[0].owner, "bob");
    assert_int_equal(jobs.at[1].number, 4);
    assert_int_equal(jobs.at[2].number, 5);
    assert_true(jobs.at[3].id == 50 && jobs.at[3].number == 0);
    assert_string_equal(jobs.at[3].name, "half");
    assert_string_equal(jobs.at[3].owner, "eve");
    assert_int_equal(jobs.at[4].id, 60);
}

/* A number that is listed, or would be if there were room, is not counted once more. */
static void more_than_are_listed_are_counted_once(void **state)
{
    struct fix *f = *state;
    struct missing_jobs jobs;
    run(f->damaged, EACH("12000") "INSERT INTO job SELECT i * 10, i, 'j', 'ada' FROM i");
    losses_look(f->to, f->damaged);
    losses_list(f->to, f->arena, 0, 12000, &jobs);
    assert_int_equal(jobs.n, LOSSES_MOST);
    assert_int_equal(jobs.more, 12000 - LOSSES_MOST);
    losses_list(f->to, f->arena, 0, 12007, &jobs); /* nothing is left of seven */
    assert_int_equal(jobs.n + jobs.more, 12007);
    assert_int_equal(jobs.at[0].number, 1);
    losses_list(f->to, f->arena, 12000, 12000, &jobs);
    assert_int_equal(jobs.n + jobs.more, 12000);
}

static void numbers_of_which_nothing_is_left_count(void **state)
{
    struct fix *f = *state;
    struct missing_jobs jobs;
    losses_look(f->to, NULL);
    losses_list(f->to, f->arena, 7, 7 + LOSSES_MOST + 3, &jobs);
    assert_int_equal(jobs.n, LOSSES_MOST);
    assert_int_equal(jobs.more, 3);
    assert_int_equal(jobs.at[0].number, 8);
    losses_list(f->to, f->arena, 7, 7, &jobs);
    assert_int_equal(jobs.n + jobs.more, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_source_adds_what_it_knows),
        TEST(more_than_are_listed_are_counted_once),
        TEST(numbers_of_which_nothing_is_left_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
