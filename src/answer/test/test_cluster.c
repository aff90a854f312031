/* The cluster as an answer over a core with a fake engine: figures, nodes, devices that are free,
 * and machines that jobs wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "answer/cluster_views.h"
#include "answer/free_devices.h"
#include "answer/machine_wait.h"
#include "base/mem.h"
#include "ctl/contents.h"
#include "ctl/node_work.h"
#include "ctl/test/world.h"
#include "inventory/known_machines.h"
#include "job/node_spec.h"

static const char suspended[] =
    "{\"name\":\"j\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}";

struct fix {
    struct world world;
    struct arena *arena;
    struct ctl *ctl;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->arena = arena_create();
    f->ctl = f->world.ctl;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    world_fini(&f->world);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void test_figures(void **state)
{
    struct fix *f = *state;
    assert_int_not_equal(world_submit(&f->world, suspended), 0);
    const struct stats_view stats = answer_stats_view(f->ctl);
    const struct nodes_view nodes = answer_nodes_view(f->ctl, f->arena);
    const struct contents core = ctl_contents(f->ctl);
    const struct free_node *free = free_nodes(&core, f->arena);
    uint64_t cpu = 0, idle = 0;
    assert_int_equal(stats.live, 1);
    assert_int_equal(stats.jobs[JOB_SUSPENDED], 1);
    assert_int_equal(stats.submitted, 1);
    assert_false(stats.storage_full);
    assert_int_equal(nodes.nodes.n, f->world.n_nodes);
    for (size_t i = 0; i < nodes.nodes.n; i++) {
        assert_int_equal(nodes.nodes.at[i].state, NODE_UP);
        assert_int_equal(nodes.nodes.at[i].gpu_free.n, f->world.nodes[i].gpus);
        assert_int_equal(free[i].idle, f->world.nodes[i].gpus);
        cpu += nodes.nodes.at[i].cpu_milli;
        idle += free[i].idle;
    }
    assert_int_equal(stats.cpu_milli, cpu);
    assert_int_equal(nodes.free.cpu_milli, cpu);
    assert_int_equal(nodes.free.idle, idle);
}

static void ignore(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    assert_null(answer->err);
}

static void say(struct fix *f, enum engine_fact_kind kind, const char *name)
{
    const struct node_spec spec = { .name = name,
                                    .address = "10.0.0.2",
                                    .host = name,
                                    .cpu_milli = 1000,
                                    .memory = 1u << 30,
                                    .gpu_type = "" };
    const struct engine_fact fact = { .kind = kind,
                                      .node = name,
                                      .spec = kind == FACT_NODE_UP ? &spec : NULL,
                                      .reason = "its host is silent" };
    f->world.fake.base.sink.fact(f->world.fake.base.sink.arg, &fact);
    world_run(&f->world);
}

/* Machines with nothing of a job are not waited for. With none of several heard, the server itself
 * may be cut off. */
static void test_machines(void **state)
{
    struct fix *f = *state;
    static const char *const names[] = { "m1", "m2" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct machine machine = { .name = names[i], .address = "", .by = "root" };
        ctl_machine_put(f->ctl, &machine, ignore, NULL);
        say(f, FACT_NODE_UP, names[i]);
        say(f, FACT_NODE_DOWN, names[i]);
    }
    struct machine_wait wait = answer_machines_waited(f->ctl, f->arena, 1);
    assert_int_equal(wait.names.n, 0);
    assert_true(wait.cut_off);
    say(f, FACT_NODE_UP, "m1");
    wait = answer_machines_waited(f->ctl, f->arena, 1);
    assert_int_equal(wait.names.n, 0);
    assert_false(wait.cut_off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_figures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_machines, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
