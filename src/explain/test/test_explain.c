/* Explanations from the core's own records: what they say, that asking changes nothing, and that
 * what they suggest holds; where a drain would move tasks. */
#include "ctl/test/world.h"

#include "base/mem.h"
#include "explain/drain.h"
#include "explain/start_estimate.h"
#include "explain/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct node_spec nodes[] = {
    { .name = "n1", .address = "127.0.1.1", .host = "a", .cpu_milli = 8000, .gpus = 4 },
    { .name = "n2", .address = "127.0.1.2", .host = "b", .cpu_milli = 8000, .gpus = 4 },
};

struct asked {
    struct explain_view view;
    struct arena *arena;
};

static int make_world(void **state)
{
    struct world *w = mem_new(sizeof *w);
    world_init(w);
    w->nodes = nodes;
    w->n_nodes = ARRAY_LEN(nodes);
    w->code_all = FAKE_RUNS;
    world_crash(w);
    *state = w;
    return 0;
}

static int drop_world(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

static uint64_t submit(struct world *w, const char *name, uint32_t tasks, const char *rest)
{
    char text[400];
    snprintf(text, sizeof text,
             "{\"name\":\"%s\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":%u,\"resources\":"
             "{\"gpu\":2}}}%s}",
             name, tasks, rest);
    uint64_t id = world_submit(w, text);
    assert_true(id != 0);
    world_run(w);
    return id;
}

static struct asked ask(struct world *w, uint64_t job, const char *change)
{
    struct asked a = { .arena = arena_create() };
    struct err err;
    struct explain_ask question = { .arena = a.arena, .owner = "ada", .job = job };
    if (change)
        question.changes = (struct words){ .at = &change, .n = 1 };
    if (explain_job(w->ctl, &question, &a.view, &err))
        fail_msg("%s", err.what);
    return a;
}

static const struct change_view *way_of(const struct asked *a, enum change_kind kind)
{
    for (size_t i = 0; i < a->view.ways.n; i++)
        if (a->view.ways.at[i].kind == kind)
            return &a->view.ways.at[i];
    return NULL;
}

/* Six of eight gpus run for ten minutes; the next job wants four. */
static void test_why_and_when(void **state)
{
    struct world *w = *state;
    submit(w, "a", 3, ",\"limits\":{\"run_time\":\"10m\"}");
    uint64_t job = submit(w, "b", 2, "");
    uint64_t events = ctl_last_event(w->ctl);
    struct asked a = ask(w, job, NULL);
    assert_string_equal(a.view.why, "resource");
    assert_int_equal(a.view.short_by, 2000);
    assert_true(a.view.expected_ms && a.view.expected_ms == a.view.not_later_ms);
    assert_true(a.view.estimates && a.view.estimates->by_limit_ms == a.view.expected_ms);
    assert_int_equal(a.view.ends.n, 1);
    assert_int_equal(a.view.ends.at[0].job.number, 1);
    assert_int_equal(a.view.unfit->unfits.nodes, 2);
    assert_string_equal(a.view.unfit->role, "w");
    assert_int_equal(a.view.quota.n, 2);
    assert_int_equal(a.view.quota.at[0].used.gpu_milli, 6000);
    assert_true(a.view.checks && !a.view.checks->blocked);
    assert_false(a.view.checks->limits[CHECK_QUEUE].exceeded);
    const struct change_view *way = way_of(&a, CHANGE_REPLICAS);
    assert_non_null(way);
    assert_string_equal(way->set, "replicas=1");
    assert_int_equal(way->sets.n, 1);
    assert_string_equal(way->sets.at[0], "roles.w.replicas=1");
    assert_int_equal(way->gpu_milli, 2000);
    assert_int_equal(way->places.n, 1);
    assert_int_equal(ctl_last_event(w->ctl), events); /* nothing was written */
    arena_destroy(a.arena);
}

static void test_replaced(void **state)
{
    struct world *w = *state;
    const char *set = "roles.w.replicas=1";
    submit(w, "a", 3, "");
    uint64_t job = submit(w, "b", 2, "");
    struct submission again = {
        .owner = "ada", .like = job, .replace = true, .sets = { .at = &set, .n = 1 }
    };
    uint64_t other = world_submit_as(w, &again);
    world_run(w);
    assert_int_equal(world_state(w, other), JOB_RUNNING);
    assert_int_equal(world_state(w, job), JOB_STOPPED);
    assert_string_equal(world_reason(w, job), "replaced by job 3 (b)");
    assert_int_equal(world_submit_as(w, &again), 0);
    assert_int_equal(w->code, ERR_CONFLICT);
}

static void test_one_change(void **state)
{
    struct world *w = *state;
    submit(w, "a", 3, ",\"limits\":{\"run_time\":\"10m\"}");
    uint64_t big = submit(w, "big", 4, ""), small = submit(w, "small", 1, "");
    struct asked a = ask(w, small, NULL);
    assert_string_equal(a.view.why, "reserved");
    assert_int_equal(a.view.blocker->number, 2);
    assert_string_equal(way_of(&a, CHANGE_RUN_TIME)->set, "run_time=10m");
    arena_destroy(a.arena);
    a = ask(w, small, "priority=9");
    assert_true(a.view.would_start && a.view.in_its_place);
    assert_int_equal(a.view.delays.n, 1);
    arena_destroy(a.arena);
    a = ask(w, small, "run_time=5m");
    assert_true(a.view.would_start);
    assert_int_equal(a.view.delays.n, 0);
    arena_destroy(a.arena);
    assert_int_equal(world_state(w, small), JOB_QUEUED);
    assert_int_equal(world_state(w, big), JOB_QUEUED);
}

/* Who has no turn: what it waits for is all there is to say. */
static void test_aside(void **state)
{
    struct world *w = *state;
    uint64_t first = submit(w, "a", 3, "");
    uint64_t after = submit(w, "b", 1, ",\"after\":[\"a\"]");
    struct asked a = ask(w, after, NULL);
    assert_string_equal(a.view.why, "after");
    assert_non_null(strstr(a.view.reason, "job 1 (a)"));
    assert_int_equal(a.view.ways.n, 0);
    arena_destroy(a.arena);
    a = ask(w, after, "priority=9"); /* changed it would wait for the same */
    assert_true(a.view.in_its_place && !a.view.would_start);
    assert_string_equal(a.view.why, "after");
    assert_non_null(strstr(a.view.reason, "job 1 (a)"));
    arena_destroy(a.arena);
    a = ask(w, after, "after=[]");
    assert_true(a.view.would_start && !a.view.why);
    arena_destroy(a.arena);
    uint64_t array = submit(w, "c", 1, ",\"array\":{\"count\":3,\"at_once\":1}");
    a = ask(w, array, NULL); /* its first member runs, the next one speaks for it */
    assert_true(a.view.array && a.view.has_index && a.view.job == array + 2);
    assert_string_equal(a.view.why, "array");
    assert_string_equal(a.view.reason, "its array runs 1 at a time");
    arena_destroy(a.arena);
    world_command(w, after, CTL_SUSPEND);
    a = ask(w, after, NULL);
    assert_int_equal(a.view.state, JOB_SUSPENDED);
    assert_false(way_of(&a, CHANGE_RESUME)->at_once); /* there is no room */
    arena_destroy(a.arena);
    a = ask(w, first, NULL);
    assert_true(a.view.state == JOB_RUNNING && !a.view.why && !a.view.ways.n);
    arena_destroy(a.arena);
    struct arena *arena = arena_create();
    struct explain_view none;
    struct err err;
    const struct explain_ask question = { .arena = arena, .owner = "ada", .job = 7 };
    assert_int_equal(explain_job(w->ctl, &question, &none, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    const char *change = "replicas=1";
    const struct explain_ask changed = {
        .arena = arena, .owner = "ada", .job = first, .changes = { .at = &change, .n = 1 }
    };
    assert_int_equal(explain_job(w->ctl, &changed, &none, &err), -1);
    assert_string_equal(err.what, "job 1 does not wait: it is running");
    arena_destroy(arena);
}

/* What is told in numbers is what happens then. */
static void test_start_estimate(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct start_estimate told;
    uint64_t first = submit(w, "a", 3, ",\"limits\":{\"run_time\":\"10m\"}");
    uint64_t big = submit(w, "big", 4, ",\"limits\":{\"run_time\":\"5m\"}");
    uint64_t last = submit(w, "last", 4, "");
    assert_false(explain_start(w->ctl, arena, first, &told)); /* it runs */
    assert_true(explain_start(w->ctl, arena, big, &told));
    uint64_t at_ms = told.limit_ms;
    assert_true(told.ahead_known && told.n_ahead == 0 && at_ms > ctl_now(w->ctl));
    assert_true(explain_start(w->ctl, arena, last, &told));
    assert_int_equal(told.n_ahead, 1);
    assert_true(told.ahead[0] == big);
    assert_true(told.limit_ms >= at_ms + 300000);
    world_pass(w, at_ms - ctl_now(w->ctl));
    world_run(w);
    assert_int_equal(world_state(w, big), JOB_RUNNING);
    arena_destroy(arena);
}

/* Someone that may not read the jobs in the way is told no names. */
static void test_strangers_are_not_named(void **state)
{
    struct world *w = *state;
    struct submission other = { .owner = "bob",
                                .text = "{\"name\":\"secret\",\"roles\":{\"w\":{\"run\":\"x\","
                                        "\"replicas\":3,\"resources\":{\"gpu\":2}}},"
                                        "\"limits\":{\"run_time\":\"10m\"}}" };
    other.len = strlen(other.text);
    assert_true(world_submit_as(w, &other) != 0);
    world_run(w);
    uint64_t job = submit(w, "b", 2, "");
    struct asked a = ask(w, job, NULL);
    struct explain_view mine;
    struct err err;
    const struct explain_ask question = { .arena = a.arena, .owner = "eve", .job = job };
    assert_int_equal(explain_job(w->ctl, &question, &mine, &err), 0);
    assert_int_equal(mine.ends.n, 1);
    assert_int_equal(mine.ends.at[0].job.number, 0);
    assert_null(strstr(mine.ends.at[0].job.name, "secret"));
    arena_destroy(a.arena);
}

static void test_drain(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct drain_view view;
    struct err err;
    submit(w, "a", 1, "");
    submit(w, "b", 1, ""); /* these two share a node */
    submit(w, "c", 1, "");
    uint64_t events = ctl_last_event(w->ctl), used = world_used(w);
    assert_int_equal(explain_drain(w->ctl, arena, "n1", &view, &err), 0);
    assert_int_equal(view.n, 2);
    assert_string_equal(view.at[0].task, "w/0");
    assert_string_equal(view.at[0].to, "n2");
    assert_null(view.at[1].to); /* two devices are free there */
    assert_non_null(strstr(view.at[1].why, "gpu: 2 short"));
    assert_false(view.drained);
    assert_int_equal(world_used(w), used); /* it was a copy */
    assert_int_equal(ctl_last_event(w->ctl), events);
    assert_int_equal(explain_drain(w->ctl, arena, "n9", &view, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    arena_destroy(arena);
}

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, make_world, drop_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_why_and_when),   IN_WORLD(test_replaced),
        IN_WORLD(test_one_change),     IN_WORLD(test_aside),
        IN_WORLD(test_start_estimate), IN_WORLD(test_strangers_are_not_named),
        IN_WORLD(test_drain),
    };
    return cmocka_run_group_tests_name("explain/explain", tests, NULL, NULL);
}
