/* Explanations from the core's own records: what they say, that asking changes nothing, and that
 * what they suggest holds. */
#include "ctl/core.h"
#include "ctl/explain_view.h"
#include "ctl/test/world.h"

#include "base/mem.h"

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
    struct ctl_explain question = { .arena = a.arena, .owner = "ada", .job = job };
    if (change)
        question.changes = (struct words){ .at = &change, .n = 1 };
    if (ctl_explain_view(w->ctl, &question, &a.view, &err))
        fail_msg("%s", err.what);
    return a;
}

static const struct way_view *way_of(const struct asked *a, enum way_kind kind)
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
    uint64_t events = w->ctl->last_event;
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
    const struct way_view *way = way_of(&a, WAY_REPLICAS);
    assert_non_null(way);
    assert_string_equal(way->set, "replicas=1");
    assert_int_equal(way->sets.n, 1);
    assert_string_equal(way->sets.at[0], "roles.w.replicas=1");
    assert_int_equal(way->gpu_milli, 2000);
    assert_int_equal(way->places.n, 1);
    assert_int_equal(w->ctl->last_event, events); /* nothing was written */
    arena_destroy(a.arena);
}

static void test_replaced(void **state)
{
    struct world *w = *state;
    const char *set = "roles.w.replicas=1";
    submit(w, "a", 3, "");
    uint64_t job = submit(w, "b", 2, "");
    struct ctl_submit again = {
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
    assert_string_equal(way_of(&a, WAY_RUN_TIME)->set, "run_time=10m");
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

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, make_world, drop_world)
int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_why_and_when),
        IN_WORLD(test_replaced),
        IN_WORLD(test_one_change),
    };
    return cmocka_run_group_tests_name("ctl/explain", tests, NULL, NULL);
}
