/* Records in memory: what the core reads back is there, what only a user or a restart would read is
 * told and gone. */
#include "store/store.h"

#include "base/arena.h"
#include "store/deletion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct world {
    struct store *store;
    struct arena *arena;
    unsigned told;
    char last[32];
};

static void on_event(void *arg, const struct event_row *row)
{
    struct world *w = arg;
    w->told++;
    snprintf(w->last, sizeof w->last, "%s", row->type);
}

static int setup(void **state)
{
    static struct world w;
    struct err err;
    w = (struct world){ .arena = arena_create() };
    w.store = store_open_memory((struct store_tap){ .event = on_event, .arg = &w }, &err);
    assert_non_null(w.store);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    store_close(w->store);
    arena_destroy(w->arena);
    return 0;
}

static struct job_row row_of(struct world *w, uint64_t id, const char *name, const char *owner)
{
    return (struct job_row){ .id = id,
                             .number = store_next_number(w->store),
                             .name = name,
                             .owner = owner,
                             .queue = "default",
                             .dialect = "native",
                             .state = JOB_QUEUED,
                             .reason.text = "waits",
                             .tasks = 2,
                             .spec = "{\"name\":1}",
                             .live = "{}" };
}

static void test_a_job(void **state)
{
    struct world *w = *state;
    struct err err;
    struct job_row row = row_of(w, 77, "ddp", "ada"), back;
    uint64_t id = 0;
    assert_int_equal(store_put_job(w->store, &row, &err), 0);
    assert_true(store_dirty(w->store));
    assert_int_equal(store_commit(w->store, &err), 0);
    assert_false(store_dirty(w->store));
    assert_int_equal(store_get_job(w->store, w->arena, 77, &back, &err), 1);
    assert_string_equal(back.spec, row.spec);
    assert_string_equal(back.reason.text, "waits");
    assert_int_equal(store_get_job(w->store, w->arena, 78, &back, &err), 0);
    assert_int_equal(store_find_number(w->store, 1, &id), 1);
    assert_int_equal(id, 77);
    assert_int_equal(store_find_number(w->store, 2, &id), 0);
    row.state = JOB_RUNNING;
    row.reason.text = "2 of 2 tasks";
    row.reason.named = (struct named_job){ .number = 3, .called = "job 3", .at = 0, .len = 1 };
    row.generation = 1;
    assert_int_equal(store_update_job(w->store, &row, &err), 0);
    assert_int_equal(store_get_job(w->store, w->arena, 77, &back, &err), 1);
    assert_int_equal(back.state, JOB_RUNNING);
    assert_int_equal(back.generation, 1);
    assert_string_equal(back.reason.text, "2 of 2 tasks");
    assert_string_equal(back.reason.named.called, "job 3");
    row.state = JOB_SUCCEEDED;
    store_update_job(w->store, &row, &err);
    assert_int_equal(store_get_job(w->store, w->arena, 77, &back, &err), 1);
    assert_int_equal(back.state, JOB_SUCCEEDED);
    assert_null(back.spec);
    assert_int_equal(store_last_job_id(w->store), 77);
}

static void test_names(void **state)
{
    struct world *w = *state;
    struct err err;
    uint64_t id = 0;
    struct job_row rows[] = { row_of(w, 1, "x", "ada"), row_of(w, 2, "x", "bob"),
                              row_of(w, 3, "y", "ada") };
    for (size_t i = 0; i < 3; i++)
        store_put_job(w->store, &rows[i], &err);
    assert_int_equal(store_find_name(w->store, "x", NULL, &id), 1);
    assert_int_equal(id, 2);
    assert_int_equal(store_find_name(w->store, "x", "ada", &id), 1);
    assert_int_equal(id, 1);
    assert_int_equal(store_find_name(w->store, "x", "eve", &id), 0);
    assert_int_equal(store_find_name(w->store, "z", NULL, &id), 0);
}

static void test_the_rest_goes_nowhere(void **state)
{
    struct world *w = *state;
    struct err err;
    struct event_row event = { .job = 1, .at_ms = 5, .type = "submitted" }, *events;
    struct task_row *tasks;
    uint64_t *expired;
    size_t n = 9;
    assert_false(store_keeps_details(w->store));
    assert_int_equal(store_add_event(w->store, &event, &err), 0);
    assert_int_equal(event.seq, 1);
    assert_int_equal(w->told, 1);
    assert_string_equal(w->last, "submitted");
    assert_int_equal(store_put_task(w->store, &(struct task_row){ .job = 1 }, &err), 0);
    assert_int_equal(store_put_agent(w->store, &(struct agent_row){ .job = 1 }, &err), 0);
    assert_int_equal(store_delete_agent(w->store, 1, 1, "n1", &err), 0);
    assert_int_equal(store_set_keep(w->store, 1, 10, &err), 0);
    assert_int_equal(store_commit(w->store, &err), 0);
    assert_int_equal(store_last_event(w->store), 1);
    assert_int_equal(store_tasks(w->store, w->arena, 1, &tasks, &n, &err), 0);
    assert_int_equal(n, 0);
    n = 9;
    const struct event_range range = { .limit = 10 };
    assert_int_equal(store_events(w->store, w->arena, &range, &events, &n, &err), 0);
    assert_int_equal(n, 0);
    n = 9;
    assert_int_equal(store_expire(w->store, w->arena, 1000, &expired, &n, &err), 0);
    assert_int_equal(n, 0);
}

/* Objects are kept: nodes' drain flags, the catalogue. */
static void test_objects(void **state)
{
    struct world *w = *state;
    struct err err;
    struct object_row *rows, object = { .kind = "node", .name = "n1", .spec = "{}" };
    size_t n = 0;
    assert_int_equal(store_put_object(w->store, &object, &err), 0);
    assert_int_equal(store_commit(w->store, &err), 0);
    assert_int_equal(
        store_objects(w->store, w->arena, &(struct object_row){ .kind = "node" }, &rows, &n, &err),
        0);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "n1");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = { T(test_a_job), T(test_names), T(test_the_rest_goes_nowhere),
                                        T(test_objects) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
