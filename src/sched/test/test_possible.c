/* Could the job ever run on this cluster? Rows of nodes and jobs with the reason; what is taken,
 * lost or drained now does not count. */
#include "sched/plan.h"

#include "base/mem.h"
#include "sched/test/world.h"
#include "sched/wait_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *what;
    struct node_spec nodes[4];
    struct role roles[3];
    struct placing placing;
    const char *expect; /* NULL: possible */
};

static const struct row rows[] = {
    { .what = "as the refusal screen has it",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "worker", .replicas = 2, .resources = { .gpu_milli = 4000 } } },
      .expect = "worker asks 4 gpu a task, the largest node has 0" },
    { .what = "together more than the cluster",
      .nodes = { { .name = "n1", .gpus = 8 }, { .name = "n2", .gpus = 8 } },
      .roles = { { .name = "a", .replicas = 3, .resources = { .gpu_milli = 4000 } },
                 { .name = "b", .replicas = 4, .resources = { .gpu_milli = 4000 } } },
      .expect = "2 roles need 28 gpu together, the cluster has 16" },
    { .what = "one role more than the cluster",
      .nodes = { { .name = "n1", .gpus = 8 }, { .name = "n2", .gpus = 8 } },
      .roles = { { .name = "a", .replicas = 6, .resources = { .gpu_milli = 4000 } } },
      .expect = "a needs 24 gpu, the cluster has 16" },
    { .what = "enough in all, not in one piece each",
      .nodes = { { .name = "n1", .gpus = 3 }, { .name = "n2", .gpus = 3 } },
      .roles = { { .name = "a", .replicas = 3, .resources = { .gpu_milli = 2000 } } },
      .expect = "a asks 2 gpu a task, the cluster has room for 2 of 3" },
    { .what = "memory",
      .nodes = { { .name = "n1", .memory = GI }, { .name = "n2", .memory = 16 * GI } },
      .roles = { { .name = "a", .replicas = 1, .resources = { .memory = 64 * GI } } },
      .expect = "a asks 64Gi memory a task, the largest node has 16Gi" },
    { .what = "share",
      .nodes = { { .name = "n1", .gpus = 1 } },
      .roles = { { .name = "a", .replicas = 3, .resources = { .gpu_milli = 400 } } },
      .expect = "a needs 1.2 gpu, the cluster has 1" },
    { .what = "ports",
      .nodes = { { .name = "n1", .host = "h" }, { .name = "n2", .host = "h" } },
      .roles = { { .name = "a",
                   .replicas = 2,
                   .n_ports = 1,
                   .ports =
                       (struct port_request[]){ { .label = "web", .count = 1, .first = 8080 } } } },
      .expect = "a wants port 8080 on 2 hosts, the cluster has 1" },
    { .what = "more ports than there are",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a",
                   .replicas = 1,
                   .n_ports = 1,
                   .ports = (struct port_request[]){ { .label = "x", .count = 5000 } } } },
      .expect = "a asks 5000 ports a task, the largest node has 1000" },
    { .what = "a port past the last",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a",
                   .replicas = 1,
                   .n_ports = 1,
                   .ports =
                       (struct port_request[]){ { .label = "x", .count = 2, .first = 65535 } } } },
      .expect = "a wants ports 65535-65536 on 1 hosts, the cluster has 0" },
    { .what = "apart",
      .nodes = { { .name = "n1" }, { .name = "n2" } },
      .roles = { { .name = "a", .replicas = 3 } },
      .placing = { .apart = WORDS("a") },
      .expect = "a needs 3 nodes for itself, the cluster has 2" },
    { .what = "label",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a", .replicas = 1 } },
      .placing = { .labels = PAIR("zone", "a") },
      .expect = "no node has the label zone=a" },
    { .what = "two things, never on one node",
      .nodes = { { .name = "n1", .gpus = 1, .cpu_milli = 1000 },
                 { .name = "n2", .cpu_milli = 9000 } },
      .roles = { { .name = "a",
                   .replicas = 1,
                   .resources = { .gpu_milli = 1000, .cpu_milli = 2000 } } },
      .expect = "a asks 2 cpu a task, the cluster has room for 0 of 1 with all else it asks; "
                "n1 comes closest with 1" },
    { .what = "roles that fit only each by itself",
      .nodes = { { .name = "n1", .cpu_milli = 5000 }, { .name = "n2", .cpu_milli = 5000 } },
      .roles = { { .name = "a", .replicas = 1, .resources = { .cpu_milli = 4000 } },
                 { .name = "b", .replicas = 2, .resources = { .cpu_milli = 3000 } } },
      .expect = "b beside the other tasks: cpu: 1 short; n2 comes closest with 2 of 3 free" },
    { .what = "no node",
      .roles = { { .name = "a", .replicas = 1 } },
      .expect = "the cluster has no node" },
    { .what = "unsaid amounts",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a", .replicas = 100 } } },
    { .what = "the least is enough",
      .nodes = { { .name = "n1", .gpus = 2 } },
      .roles = { { .name = "a", .replicas = 8, .min = 2, .resources = { .gpu_milli = 1000 } } } },
    { .what = "no more gpu than there is",
      .nodes = { { .name = "n1", .gpus = 8 }, { .name = "n2", .gpus = 8 } },
      .roles = { { .name = "a", .replicas = 4, .resources = { .gpu_milli = 4000 } } } },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w = world_create(rows[i].nodes, ARRAY_LEN(rows[i].nodes));
        struct job_spec *job = world_job(w.arena, rows[i].roles, ARRAY_LEN(rows[i].roles));
        job->placing = rows[i].placing;
        struct wait_reason reason = { 0 };
        int possible = sched_possible(w.cluster, job, w.arena, &reason);
        const char *got = possible < 0 ? wait_text(w.arena, &reason) : NULL;
        if ((possible < 0) != (rows[i].expect != NULL) || (got && strcmp(got, rows[i].expect) != 0))
            fail_msg("%s:\n  got      %s\n  expected %s", rows[i].what, got, rows[i].expect);
        world_destroy(&w);
    }
}

/* What is taken, lost or drained is capacity all the same. */
static void test_taken_lost_drained(void **state)
{
    (void)state;
    static const struct node_spec nodes[] = { { .name = "n1", .gpus = 2 },
                                              { .name = "n2", .gpus = 2 },
                                              { .name = "n3", .gpus = 2 } };
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct role role = { .name = "a", .replicas = 3, .resources = { .gpu_milli = 2000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    struct plan_entry e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    assert_true(world_take(w.cluster, job, &e));
    cluster_set_up(w.cluster, 0, false);
    cluster_set_drained(w.cluster, 1, true);
    struct wait_reason reason;
    assert_int_equal(sched_possible(w.cluster, job, w.arena, &reason), 0);
    assert_int_equal(world_try(&w, job).kind, PLAN_WAIT);
    world_give(w.cluster, job, &e);
    e = world_try(&w, job);
    assert_int_equal(e.reason.why, WAIT_NODES_DOWN);
    assert_string_equal(wait_text(w.arena, &e.reason),
                        "gpu: 4 short, 1 of 3 a tasks fit; n3 comes closest with 0 of 2 "
                        "free; would fit if 2 lost or drained nodes were back (n1 ...)");
    world_destroy(&w);
}

static void test_example(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct port_request ports[] = { { .label = "http", .count = 1 },
                                    { .label = "web", .count = 2, .first = 8080 } };
    struct role roles[] = {
        { .name = "m",
          .replicas = 1,
          .resources = { .gpu_milli = 2000 },
          .ports = ports,
          .n_ports = 2 },
        { .name = "w",
          .replicas = 3,
          .resources = { .gpu_milli = 400, .gpu_types = WORDS("any") },
          .ports = ports,
          .n_ports = 2 },
        { .name = "p", .replicas = 1, .resources = { .gpu_milli = 1000 } },
    };
    struct job_spec *job = world_job(a, roles, 3);
    job->placing.labels = (struct pairs)PAIR("zone", "mars");
    struct plan_entry e = sched_example(job, a);
    assert_string_equal(world_show(a, job, &e),
                        "m/0@node[0,1]:15000:8080,8081 w/0@node[2]:15001:8080,8081 "
                        "w/1@node[2]:15002:8080,8081 w/2@node[3]:15003:8080,8081 p/0@node[4]");
    assert_string_equal(e.tasks[0].address, "127.0.0.1");
    assert_int_equal(e.tasks[1].gpu_share_milli, 400);
    assert_string_equal(e.tasks[1].ports[1].label, "web");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_taken_lost_drained),
        cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
