/* Nodes that come, change, fall silent and leave while the core runs, over restarts of the server:
 * what runs on a silent one waits for it, and what left is offered nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/cluster_views.h"
#include "ctl/node_work.h"
#include "engine/engine.h"
#include "sched/cluster.h"

#include <string.h>

#define BIG "{\"name\":\"big\",\"roles\":{\"w\":{\"run\":\"b\",\"resources\":{\"cpu\":40}}}}"

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(w->fake.doubled, 0);
    world_fini(w);
    return 0;
}

static void say(struct world *w, const struct engine_fact *fact)
{
    w->fake.base.sink.fact(w->fake.base.sink.arg, fact);
    world_run(w);
}

static void comes(struct world *w, uint64_t cpus)
{
    struct arena *arena = arena_create();
    struct node_spec spec = { .name = "gpu2",
                              .address = "10.0.0.2",
                              .host = "gpu2",
                              .cpu_milli = cpus * 1000,
                              .memory = 64ull << 30,
                              .gpu_type = "" };
    pairs_set(&spec.labels, arena, "zone", "a");
    say(w, &(struct engine_fact){ .kind = FACT_NODE_UP, .node = "gpu2", .spec = &spec });
    arena_destroy(arena);
}

static void turns(struct world *w, enum engine_fact_kind kind, const char *why)
{
    say(w, &(struct engine_fact){ .kind = kind, .node = "gpu2", .reason = why });
}

/* NULL: it is not listed. */
static const struct node_answer *listed(struct world *w, struct arena *arena)
{
    struct nodes_view view = answer_nodes_view(w->ctl, arena);
    for (size_t i = 0; i < view.nodes.n; i++)
        if (strcmp(view.nodes.at[i].name, "gpu2") == 0)
            return &view.nodes.at[i];
    return NULL;
}

/* A job that no node has room for is placed when a machine with room comes. */
static void a_machine_is_used(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    comes(w, 8);
    comes(w, 64);
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    struct arena *arena = arena_create();
    const struct node_answer *node = listed(w, arena);
    assert_non_null(node);
    assert_int_equal(node->cpu_milli, 64000);
    assert_int_equal(node->cpu_used_milli, 40000);
    assert_string_equal(node->address, "10.0.0.2");
    assert_string_equal(node->engine, "machines");
    assert_string_equal(pairs_get(&node->labels, "zone"), "a");
    assert_string_equal(answer_nodes_view(w->ctl, arena).nodes.at[0].engine, "local");
    arena_destroy(arena);
}

static void what_runs_there_waits_for_it(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    w->code_all = FAKE_RUNS;
    comes(w, 64);
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    turns(w, FACT_NODE_DOWN, "the machine cannot be reached: it fell silent");
    world_pass(w, 3600000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 1);
    const struct node_answer *node = listed(w, arena);
    assert_int_equal(node->state, NODE_DOWN);
    assert_string_equal(node->why, "the machine cannot be reached: it fell silent");
    assert_true(node->since_ms > 0);
    uint64_t since = node->since_ms;
    turns(w, FACT_NODE_DOWN, "again");
    assert_int_equal(listed(w, arena)->since_ms, since);
    turns(w, FACT_NODE_UP, "");
    assert_int_equal(listed(w, arena)->state, NODE_UP);
    assert_null(listed(w, arena)->why);
    arena_destroy(arena);
}

/* Nothing new is placed on a silent one. */
static void a_silent_one_is_offered_nothing(void **state)
{
    struct world *w = *state;
    w->code_all = FAKE_RUNS;
    comes(w, 64);
    turns(w, FACT_NODE_DOWN, "silent");
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    turns(w, FACT_NODE_UP, "");
    world_run(w); /* its agent has come */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
}

static void a_new_server_knows_it(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    w->code_all = FAKE_RUNS;
    comes(w, 64);
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    turns(w, FACT_NODE_DOWN, "silent");
    uint64_t since = listed(w, arena)->since_ms;
    world_crash(w);
    world_run(w);
    const struct node_answer *node = listed(w, arena);
    assert_non_null(node);
    assert_int_equal(node->state, NODE_DOWN);
    assert_int_equal(node->since_ms, since);
    assert_string_equal(node->why, "silent");
    assert_int_equal(node->cpu_used_milli, 40000);
    assert_string_equal(pairs_get(&node->labels, "zone"), "a");
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    arena_destroy(arena);
}

/* A node of an allocation that is to come: it is told as one that came and is down, in one turn, so
 * a job waits for it and is not placed there. */
static void one_that_is_to_come_is_waited_for(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct node_spec spec = { .name = "gpu2",
                              .address = "",
                              .host = "gpu2",
                              .cpu_milli = 64000,
                              .memory = 64ull << 30,
                              .disk = 1ull << 40,
                              .gpu_type = "",
                              .engine = "slurm",
                              .lasts_ms = 7200000 };
    const struct engine_sink *sink = &w->fake.base.sink;
    w->code_all = FAKE_RUNS;
    sink->fact(sink->arg,
               &(struct engine_fact){ .kind = FACT_NODE_UP, .node = "gpu2", .spec = &spec });
    turns(w, FACT_NODE_DOWN, "it waits in Slurm (Resources)");
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_QUEUED);
    world_crash(w);
    world_run(w);
    const struct node_answer *node = listed(w, arena);
    assert_non_null(node);
    assert_string_equal(node->engine, "slurm");
    assert_int_equal(node->lasts_ms, 7200000);
    assert_int_equal(node->state, NODE_DOWN);
    assert_string_equal(node->why, "it waits in Slurm (Resources)");
    turns(w, FACT_NODE_UP, "");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    arena_destroy(arena);
}

static void what_left_is_gone_until_it_comes_again(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    w->code_all = FAKE_RUNS;
    comes(w, 64);
    size_t before = answer_nodes_view(w->ctl, arena).nodes.n;
    turns(w, FACT_NODE_GONE, "removed");
    assert_null(listed(w, arena));
    assert_int_equal(answer_nodes_view(w->ctl, arena).nodes.n, before - 1);
    uint64_t job = world_submit(w, BIG);
    world_run(w);
    assert_int_not_equal(job ? world_state(w, job) : JOB_FAILED, JOB_RUNNING);
    world_crash(w);
    assert_null(listed(w, arena));
    comes(w, 64);
    assert_int_equal(listed(w, arena)->state, NODE_UP);
    arena_destroy(arena);
}

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    assert_null(answer->err);
}

/* As where the power fails between the commit that drains it and the one that says it is there. */
static void a_drained_one_that_is_new_is_drained(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    const struct object_row row = { .kind = "machine", .project = "", .name = "gpu2" };
    comes(w, 64);
    ctl_node_command(w->ctl, "gpu2", true, on_answer, NULL);
    world_run(w);
    store_delete_object(w->store, &row, NULL);
    world_submit(w, BIG); /* which commits that too */
    world_crash(w);
    assert_null(listed(w, arena));
    comes(w, 64);
    assert_int_equal(listed(w, arena)->state, NODE_DRAINED);
    world_crash(w);
    assert_int_equal(listed(w, arena)->state, NODE_DRAINED);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_is_used, setup, teardown),
        cmocka_unit_test_setup_teardown(what_runs_there_waits_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_silent_one_is_offered_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_to_come_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_server_knows_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_left_is_gone_until_it_comes_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_drained_one_that_is_new_is_drained, setup, teardown),
    };
    return cmocka_run_group_tests_name("ctl/nodes", tests, NULL, NULL);
}
