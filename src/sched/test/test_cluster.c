/* The accounting of a cluster: taking and giving back, places that cannot be taken, clones that are
 * apart, nodes that are replaced or lost, devices that are closed. */
#include "sched/cluster.h"

#include "base/mem.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct node_spec two_nodes[] = {
    { .name = "n1",
      .address = "127.0.1.1",
      .host = "box",
      .cpu_milli = 4000,
      .memory = 8 * GI,
      .gpus = 2,
      .custom = { .at = (struct amount[]){ { "licence", 2000 } }, .n = 1 } },
    { .name = "n2", .host = "box", .cpu_milli = 4000, .memory = 8 * GI, .disk = GI, .gpus = 1 },
};

/* One role that asks for a bit of everything. */
static struct job_spec *greedy(struct arena *a)
{
    struct role role = {
        .name = "worker",
        .replicas = 1,
        .min = 1,
        .resources = { .cpu_milli = 1500,
                       .memory = 2 * GI,
                       .gpu_milli = 400,
                       .custom = { .at = ARENA_NEW(a, struct amount), .n = 1 } },
        .ports = ARENA_NEW(a, struct port_request),
        .n_ports = 1,
    };
    role.resources.custom.at[0] = (struct amount){ .name = "licence", .milli = 1000 };
    role.ports[0] = (struct port_request){ .label = "http", .count = 1 };
    return world_job(a, &role, 1);
}

struct placing_parts {
    uint32_t gpu, port;
    struct placed_port ports;
};

static struct task_place place_on(const char *node, struct placing_parts *parts, uint32_t gpu,
                                  uint32_t port)
{
    *parts = (struct placing_parts){ .gpu = gpu, .port = port };
    parts->ports = (struct placed_port){ .label = "http", .numbers = &parts->port, .count = 1 };
    return (struct task_place){ .node = node,
                                .gpus = &parts->gpu,
                                .n_gpus = 1,
                                .gpu_share_milli = 400,
                                .ports = &parts->ports,
                                .n_ports = 1 };
}

static void assert_used(const struct cluster *c, uint32_t node, uint64_t tasks)
{
    struct node_view v = cluster_node(c, node);
    assert_int_equal(v.tasks, tasks);
    assert_int_equal(v.cpu_used, tasks * 1500);
    assert_int_equal(v.memory_used, tasks * 2 * GI);
    assert_int_equal(v.gpu_used_milli, tasks * 400);
}

/* A closed device is given to nobody; who has it keeps it and can give it back. */
static void test_closed_device(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts[2];
    struct task_place a = place_on("n1", &parts[0], 0, 15000);
    struct task_place b = place_on("n1", &parts[1], 0, 15001);
    assert_true(cluster_take(w.cluster, job, &a));
    cluster_close_device(w.cluster, 0, 0, true);
    assert_true(cluster_device_is_closed(w.cluster, 0, 0));
    assert_int_equal(cluster_node(w.cluster, 0).gpu_used_milli, 1000);
    assert_int_equal(cluster_gpu_held(w.cluster, 0), 400);
    assert_false(cluster_take(w.cluster, job, &b));
    assert_true(cluster_take_again(w.cluster, job, &b));
    assert_true(cluster_device_is_closed(w.cluster, 0, 0));
    assert_int_equal(cluster_gpu_held(w.cluster, 0), 800);
    cluster_give(w.cluster, job, &b);
    cluster_close_device(w.cluster, 0, 0, false);
    assert_int_equal(cluster_node(w.cluster, 0).gpu_used_milli, 400);
    cluster_close_device(w.cluster, 0, 0, true);
    cluster_give(w.cluster, job, &a);
    assert_false(cluster_take(w.cluster, job, &b));
    cluster_close_device(w.cluster, 0, 0, true);
    assert_int_equal(cluster_node(w.cluster, 0).gpu_used_milli, 1000);
    cluster_close_device(w.cluster, 0, 0, false);
    assert_used(w.cluster, 0, 0);
    assert_true(cluster_take(w.cluster, job, &b));
    assert_used(w.cluster, 0, 1);
    cluster_close_device(w.cluster, 0, 99, true); /* no such device */
    world_destroy(&w);
}

/* A server that starts anew finds a node that has shrunk, or is none any more: what runs there is
 * counted as before, and given back. */
static void test_take_again_on_a_node_with_less(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts[3];
    struct task_place a = place_on("n1", &parts[0], 1, 15000);
    struct task_place b = place_on("n1", &parts[1], 1, 15001);
    struct task_place c = place_on("n1", &parts[2], 1, 15001);
    const struct node_spec gone = { .name = "n1", .host = "n1", .machine = true, .gone = true };
    cluster_put(w.cluster, &gone);
    assert_false(cluster_take(w.cluster, job, &a));
    assert_true(cluster_take_again(w.cluster, job, &a));
    assert_true(cluster_take_again(w.cluster, job, &b));
    assert_false(cluster_take_again(w.cluster, job, &c)); /* its port is b's */
    assert_used(w.cluster, 0, 2);
    assert_int_equal(cluster_node(w.cluster, 0).spec->cpu_milli, 0);
    assert_true(cluster_node(w.cluster, 0).spec->gone);
    cluster_put(w.cluster, &two_nodes[0]); /* it comes back, and they are still there */
    assert_used(w.cluster, 0, 2);
    cluster_give(w.cluster, job, &a);
    cluster_give(w.cluster, job, &b);
    assert_used(w.cluster, 0, 0);
    assert_true(cluster_take(w.cluster, job, &c));
    world_destroy(&w);
}

static void test_take_and_give(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts[4];
    struct task_place a = place_on("n1", &parts[0], 0, 15000);
    struct task_place b = place_on("n1", &parts[1], 0, 15001);
    struct task_place c = place_on("n1", &parts[2], 0, 15002);
    assert_true(cluster_take(w.cluster, job, &a));
    assert_true(cluster_take(w.cluster, job, &b));
    assert_false(cluster_take(w.cluster, job, &c)); /* 1200 milli on one device, 3 licences */
    c = place_on("n1", &parts[2], 1, 15002);
    assert_false(cluster_take(w.cluster, job, &c)); /* still 3 licences */
    assert_used(w.cluster, 0, 2);
    cluster_give(w.cluster, job, &a);
    assert_true(cluster_take(w.cluster, job, &c));
    cluster_give(w.cluster, job, &b);
    cluster_give(w.cluster, job, &c);
    assert_used(w.cluster, 0, 0);
    world_destroy(&w);
}

static void test_take_refuses(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts[2];
    struct task_place first = place_on("n1", &parts[0], 0, 8080);
    assert_true(cluster_take(w.cluster, job, &first));
    static const struct {
        const char *what, *node;
        uint32_t role, gpu, port;
    } cases[] = {
        { "unknown node", "n9", 0, 0, 1 },       { "no licence there", "n2", 0, 0, 1 },
        { "unknown role", "n1", 1, 0, 1 },       { "no such device", "n1", 0, 2, 1 },
        { "port held", "n1", 0, 1, 8080 },       { "port 0", "n1", 0, 1, 0 },
        { "port too large", "n1", 0, 1, 65536 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct task_place p = place_on(cases[i].node, &parts[1], cases[i].gpu, cases[i].port);
        p.role = cases[i].role;
        if (cluster_take(w.cluster, job, &p))
            fail_msg("%s was taken", cases[i].what);
        assert_used(w.cluster, 0, 1);
    }
    job->roles[0].resources.custom.n = 0;
    struct task_place p = place_on("n2", &parts[1], 0, 8080);
    assert_false(cluster_take(w.cluster, job, &p)); /* another node, the same physical host */
    p.n_gpus = 0;
    parts[1].port = 8081;
    assert_false(cluster_take(w.cluster, job, &p)); /* fewer devices than the role asks */
    world_destroy(&w);
}

static void test_take_on_lost_node_after_restart(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts;
    struct task_place p = place_on("n1", &parts, 0, 15000);
    cluster_set_up(w.cluster, 0, false);
    cluster_set_drained(w.cluster, 0, true);
    cluster_block_port(w.cluster, 0, 15000, 5000);
    assert_true(
        cluster_take(w.cluster, job, &p)); /* records are right, whatever the node's state */
    struct node_view v = cluster_node(w.cluster, 0);
    assert_true(!v.up && v.drained);
    world_destroy(&w);
}

static void test_clone_is_apart(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts;
    struct task_place p = place_on("n1", &parts, 0, 15000);
    struct cluster *copy = cluster_clone(w.cluster);
    assert_true(cluster_take(copy, job, &p));
    assert_used(copy, 0, 1);
    assert_used(w.cluster, 0, 0);
    assert_true(cluster_take(w.cluster, job, &p));
    struct node_spec more = { .name = "n3", .gpus = 4 };
    assert_int_equal(cluster_put(copy, &more), 2);
    assert_int_equal(cluster_count(copy), 3);
    assert_int_equal(cluster_count(w.cluster), 2);
    assert_int_equal(cluster_find(w.cluster, "n3"), UINT32_MAX);
    cluster_destroy(copy);
    assert_string_equal(cluster_node(w.cluster, 0).spec->address, "127.0.1.1");
    world_destroy(&w);
}

static void test_replaced_node_keeps_what_is_taken(void **state)
{
    (void)state;
    struct world w = world_create(two_nodes, ARRAY_LEN(two_nodes));
    struct job_spec *job = greedy(w.arena);
    struct placing_parts parts[3];
    struct task_place a = place_on("n1", &parts[0], 1, 15000);
    struct task_place b = place_on("n1", &parts[1], 3, 15001);
    struct task_place c = place_on("n1", &parts[2], 1, 15002);
    assert_true(cluster_take(w.cluster, job, &a));
    struct node_spec larger = two_nodes[0], smaller = two_nodes[0];
    struct amount custom[] = { { "fpga", 1000 }, { "licence", 9000 } };
    larger.gpus = 8;
    larger.custom = (struct amounts){ .at = custom, .n = 2 };
    assert_int_equal(cluster_put(w.cluster, &larger), 0);
    assert_used(w.cluster, 0, 1);
    assert_true(cluster_take(w.cluster, job, &b));
    smaller.gpus = 1;
    smaller.custom.n = 0;
    smaller.host = "elsewhere";
    assert_int_equal(cluster_put(w.cluster, &smaller), 0);
    assert_used(w.cluster, 0, 2);
    assert_false(cluster_take(w.cluster, job, &c)); /* device 1 and the licences are gone */
    cluster_give(w.cluster, job, &a);
    cluster_give(w.cluster, job, &b);
    assert_used(w.cluster, 0, 0);
    assert_int_equal(cluster_put(w.cluster, &larger), 0);
    assert_true(cluster_take(w.cluster, job, &c));
    world_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_device),
        cmocka_unit_test(test_take_again_on_a_node_with_less),
        cmocka_unit_test(test_take_and_give),
        cmocka_unit_test(test_take_refuses),
        cmocka_unit_test(test_take_on_lost_node_after_restart),
        cmocka_unit_test(test_clone_is_apart),
        cmocka_unit_test(test_replaced_node_keeps_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
