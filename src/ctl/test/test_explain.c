/* Explanations from the core's own records: what they say, that asking changes nothing, and that
 * what they suggest holds. */
#include "ctl/core.h"
#include "ctl/test/world.h"
#include "ctl/view_tables.h"
#include "ctl/views.h"

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
    struct text_node *tree;
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
    a.tree = view_put(a.arena, NULL, NULL, VIEW_EXPLAIN, &a.view);
    return a;
}

static const char *text_of(const struct text_node *map, const char *key)
{
    const struct text_node *one = text_get(map, key);
    return one && one->str ? one->str : "";
}

static int64_t number_of(const struct text_node *map, const char *key)
{
    const struct text_node *one = text_get(map, key);
    return one ? one->integer : -1;
}

static const struct text_node *way_of(const struct asked *a, const char *kind)
{
    const struct text_node *ways = text_get(a->tree, "ways");
    for (const struct text_node *w = ways ? ways->first : NULL; w; w = w->next)
        if (strcmp(text_of(w, "kind"), kind) == 0)
            return w;
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
    assert_string_equal(text_of(a.tree, "why"), "resource");
    assert_int_equal(number_of(a.tree, "short_by"), 2000);
    assert_int_equal(number_of(a.tree, "expected_ms"), number_of(a.tree, "not_later_ms"));
    assert_int_equal(number_of(text_get(a.tree, "ends")->first, "number"), 1);
    assert_int_equal(text_get(a.tree, "checks")->count, 4);
    const struct text_node *way = way_of(&a, "replicas");
    assert_non_null(way);
    assert_string_equal(text_of(way, "what"), "replicas=1");
    assert_string_equal(text_of(way, "how"),
                        "muster submit --like 2 --replace --set roles.w.replicas=1");
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
    assert_string_equal(text_of(a.tree, "why"), "reserved");
    assert_int_equal(number_of(text_get(a.tree, "blocker"), "number"), 2);
    assert_string_equal(text_of(way_of(&a, "run_time"), "what"), "run_time=10m");
    arena_destroy(a.arena);
    a = ask(w, small, "priority=9");
    assert_true(text_get(a.tree, "would_start")->boolean);
    assert_int_equal(text_get(a.tree, "delays")->count, 1);
    arena_destroy(a.arena);
    a = ask(w, small, "run_time=5m");
    assert_true(text_get(a.tree, "would_start")->boolean);
    assert_null(text_get(a.tree, "delays"));
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
