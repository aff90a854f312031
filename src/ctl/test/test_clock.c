/* The wall clock is set while jobs wait and run: only dates change, and
 * events keep both clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "ctl/test/world.h"
#include "store/store.h"

#include <string.h>

#define DAY_MS  86400000
#define HOUR_MS 3600000
#define START   1700000000000

static int64_t ahead_ms; /* of the wall clock */

static uint64_t wall(void *arg)
{
    const struct world *w = arg;
    return w->now + (uint64_t)ahead_ms;
}

static uint64_t mono(void *arg)
{
    const struct world *w = arg;
    return (w->now - START + HOUR_MS) * 1000; /* for so long the machine runs */
}

static void set_clocks(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->now = wall;
    config->mono = mono;
    config->base_ms = START - HOUR_MS;
    config->has_base = true;
}

static int setup(void **state)
{
    static struct world w;
    ahead_ms = 0;
    world_init_with(&w, (struct world_hooks){ .before = set_clocks }, NULL);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

#define LIMITED                                                                                    \
    "{\"name\":\"l\",\"limits\":{\"run_time\":\"10s\"},\"roles\":{\"w\":{\"run\":\"x\","           \
    "\"resources\":{\"cpu\":4}}}}"
static struct event_row *events_of(struct world *w, struct arena *arena, size_t *n)
{
    struct event_row *rows;
    struct err err;
    const struct event_range all = { .limit = 1000 };
    assert_int_equal(store_events(w->store, arena, &all, &rows, n, &err), 0);
    return rows;
}

static void limits_go_on(struct world *w, int64_t set_ms)
{
    w->code_all = FAKE_RUNS;
    uint64_t job = world_submit(w, LIMITED);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_pass(w, 4000);
    ahead_ms += set_ms;
    world_pass(w, 4000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_crash(w);
    world_pass(w, 1000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_pass(w, 1000);
    assert_string_equal(world_reason(w, job), "ran longer than its limit of 10s");
    world_pass(w, 60000);
    uint64_t again = world_submit(w, LIMITED); /* begun at another date than it is decided by */
    world_run(w);
    world_crash(w);
    world_pass(w, 9000);
    assert_int_equal(world_state(w, again), JOB_RUNNING);
    world_pass(w, 1000);
    assert_string_equal(world_reason(w, again), "ran longer than its limit of 10s");
}

static void a_clock_that_is_set_changes_no_limit(void **state)
{
    struct world *w = *state;
    limits_go_on(w, -DAY_MS);
    limits_go_on(w, 2 * DAY_MS);
}

static void events_keep_both_clocks(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    size_t n, said = 0;
    world_submit(w, LIMITED);
    world_run(w);
    ahead_ms = -DAY_MS;
    world_pass(w, 60000);
    world_submit(w, LIMITED);
    world_run(w);
    const struct event_row *rows = events_of(w, arena, &n);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i].steady_ms >= rows[i - 1].steady_ms);
        said += strcmp(rows[i].type, "clock.set") == 0;
        assert_true(rows[i].steady_ms == rows[i].at_ms + (said ? DAY_MS : 0));
        if (strcmp(rows[i].type, "clock.set") == 0)
            assert_non_null(strstr(rows[i].body, "set back by 1d"));
    }
    assert_int_equal(said, 1);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_changes_no_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(events_keep_both_clocks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
