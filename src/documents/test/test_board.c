/* Boards over a store in memory: versions that count, what is too long, what a new server finds,
 * and that nothing is left of a board that was cleared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "documents/board.h"
#include "live/live.h"
#include "store/store.h"

#include "base/mem.h"

#include <string.h>

struct fix {
    struct arena *arena;
    struct store *store;
    struct live *live;
    struct live_job *job;
};

static int set_up(void **state)
{
    const struct job_row row = { .id = 7, .tasks = 1, .state = JOB_RUNNING, .name = "j" };
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    f->arena = arena_create();
    f->store = store_open_memory((struct store_tap){ .event = NULL }, &err);
    assert_non_null(f->store);
    f->live = live_create();
    f->job = live_add(f->live, &row);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    live_destroy(f->live);
    store_close(f->store);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

/* Its version; 0: refused. */
static uint64_t put(struct fix *f, const char *key, const char *value, size_t len)
{
    const struct board_request ask = { .job = 7, .key = key, .value = value, .len = len };
    struct err err;
    uint64_t version = 0;
    return board_set(f->store, f->job, &ask, &version, &err) ? 0 : version;
}

static struct board_entry get(struct fix *f, const char *key, uint64_t after)
{
    return board_find(f->store, f->arena,
                      &(struct board_request){ .job = 7, .key = key, .after = after });
}

static void versions_count(void **state)
{
    struct fix *f = *state;
    assert_int_equal(get(f, "a", 0).version, 0);
    assert_int_equal(put(f, "a", "1", 1), 1);
    assert_int_equal(put(f, "a", "2", 1), 2);
    assert_int_equal(put(f, "b", "x", 1), 1);
    assert_string_equal(get(f, "a", 1).value, "2");
    assert_int_equal(get(f, "a", 2).version, 0);
    assert_int_equal(f->job->on_board, 2);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct fix *f = *state;
    char key[300];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    assert_int_equal(put(f, "", "1", 1), 0);
    assert_int_equal(put(f, key, "1", 1), 0);
    assert_int_equal(put(f, "a", "1\0002", 3), 0);
    assert_int_equal(put(f, "a", "1", (64u << 10) + 1), 0);
    f->job->on_board = 2u * JOB_MAX_TASKS;
    assert_int_equal(put(f, "a", "1", 1), 0);
}

static void rows_are_found_and_cleared(void **state)
{
    struct fix *f = *state;
    struct board_list list;
    struct err err;
    put(f, "b", "2", 1);
    put(f, "a", "1", 1);
    f->job->on_board = 0; /* a new server */
    board_load(f->store, f->job);
    assert_int_equal(f->job->on_board, 2);
    assert_int_equal(board_list(f->store, f->arena, 7, &list, &err), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.at[0].key, "a");
    board_clear(f->store, f->job);
    assert_int_equal(f->job->on_board, 0);
    assert_int_equal(get(f, "a", 0).version, 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = { T(versions_count), T(what_does_not_fit_is_refused),
                                        T(rows_are_found_and_cleared) };
    return cmocka_run_group_tests_name("documents/board", tests, NULL, NULL);
}
