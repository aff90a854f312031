/* Racks in zones: what must be in one domain is, what would rather be is where it can, and reasons
 * name the domain that comes closest. */
#include "sched/topology.h"

#include "base/mem.h"
#include "sched/test/world.h"
#include "sched/wait_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const zone_rack[] = { "zone", "rack" };
#define LEVELS (&(struct words){ .at = (const char **)(uintptr_t)zone_rack, .n = 2 })

struct row {
    const char *what;
    const char *nodes; /* "a/r1:4 a/r1:4 b/r3:8": zone, rack and gpus of n0, n1 ...; - no label */
    struct role roles[3];
    const char *within;
    bool required;
    const char *lost;
    uint32_t taken[8]; /* gpus in use on n0, n1 ... */
    struct placing placing;
    const char *expect;
};

#define GPUS(n) .resources = { .gpu_milli = (n)*1000 }

static const struct row rows[] = {
    { .what = "one node, when it holds all",
      .nodes = "a/r1:4 a/r1:4 a/r2:8",
      .roles = { { .name = "w", .replicas = 2, GPUS(3) } },
      .expect = "w/0@n2[0,1,2] w/1@n2[3,4,5]" },
    { .what = "the rack that has least to spare",
      .nodes = "a/r1:4 a/r1:4 a/r1:4 a/r2:4 a/r2:4 b/r3:4 b/r3:4 b/r3:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .expect = "w/0@n3[0,1,2,3] w/1@n4[0,1,2,3]" },
    { .what = "of racks with as much to spare the one with least gpu free",
      .nodes = "a/r1:4 a/r1:4 a/r2:4 a/r2:4",
      .taken = { 0, 0, 1, 1 },
      .roles = { { .name = "w", .replicas = 2, GPUS(3) } },
      .expect = "w/0@n2[1,2,3] w/1@n3[1,2,3]" },
    { .what = "one zone when no rack holds it, and its racks whole",
      .nodes = "a/r1:4 a/r2:4 b/r3:4 b/r3:4 b/r4:4",
      .roles = { { .name = "w", .replicas = 3, GPUS(4) } },
      .expect = "w/0@n2[0,1,2,3] w/1@n3[0,1,2,3] w/2@n4[0,1,2,3]" },
    { .what = "few zones when none holds it: the largest, the rest most tightly",
      .nodes = "a/r1:4 b/r2:4 b/r2:4 c/r3:4 c/r3:4 c/r4:4",
      .roles = { { .name = "w", .replicas = 4, GPUS(4) } },
      .expect = "w/0@n3[0,1,2,3] w/1@n4[0,1,2,3] w/2@n5[0,1,2,3] w/3@n0[0,1,2,3]" },
    { .what = "nodes without labels are taken last, and taken",
      .nodes = "-/-:4 a/r1:4 a/-:4",
      .roles = { { .name = "w", .replicas = 3, GPUS(4) } },
      .expect = "w/0@n1[0,1,2,3] w/1@n2[0,1,2,3] w/2@n0[0,1,2,3]" },
    { .what = "a single task goes where it always went",
      .nodes = "a/r1:4 a/r1:4 b/r2:2",
      .roles = { { .name = "w", .replicas = 1, GPUS(2) } },
      .expect = "w/0@n2[0,1]" },
    { .what = "two roles in one rack",
      .nodes = "a/r1:4 a/r2:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 1, GPUS(4) }, { .name = "x", .replicas = 1, GPUS(2) } },
      .expect = "w/0@n1[0,1,2,3] x/0@n2[0,1]" },
    { .what = "required and there",
      .nodes = "a/r1:4 a/r2:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "w/0@n1[0,1,2,3] w/1@n2[0,1,2,3]" },
    { .what = "required and too little: nothing is taken",
      .nodes = "a/r1:4 a/r1:4 a/r2:4 a/r2:4 a/r2:4 b/r3:4",
      .roles = { { .name = "w", .replicas = 4, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "16 gpu in one rack; rack r2 comes closest with 12 free" },
    { .what = "preferred and too little",
      .nodes = "a/r1:4 a/r2:4 b/r3:4",
      .roles = { { .name = "w", .replicas = 3, GPUS(4) } },
      .within = "rack",
      .expect = "w/0@n0[0,1,2,3] w/1@n1[0,1,2,3] w/2@n2[0,1,2,3]" },
    { .what = "required zone, tightest rack in it",
      .nodes = "a/r1:4 a/r2:4 b/r3:4 b/r3:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .within = "zone",
      .required = true,
      .expect = "w/0@n2[0,1,2,3] w/1@n3[0,1,2,3]" },
    { .what = "enough in the rack, in pieces",
      .nodes = "a/r1:6 a/r1:6 b/r2:8",
      .roles = { { .name = "w", .replicas = 3, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "12 gpu in one rack; rack r1 comes closest with 12 free, in pieces: 2 of 3 w tasks "
                "fit" },
    { .what = "each role has its rack, both have none",
      .nodes = "a/r1:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 1, GPUS(4) }, { .name = "x", .replicas = 1, GPUS(2) } },
      .within = "rack",
      .required = true,
      .expect = "no rack has room for all tasks together" },
    { .what = "one node required",
      .nodes = "a/r1:4 a/r1:8 a/r1:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(3) } },
      .within = "node",
      .required = true,
      .expect = "w/0@n1[0,1,2] w/1@n1[3,4,5]" },
    { .what = "one node required, and none has it",
      .nodes = "a/r1:4 a/r1:5 a/r1:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(3) } },
      .within = "node",
      .required = true,
      .expect = "6 gpu in one node; node n0 comes closest with 4 free" },
    { .what = "short everywhere is no matter of topology",
      .nodes = "a/r1:4 a/r1:4",
      .roles = { { .name = "w", .replicas = 3, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "gpu: 4 short, 2 of 3 w tasks fit; n0 comes closest with 0 of 4 free" },
    { .what = "no such level",
      .nodes = "a/r1:4 a/r1:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .within = "row",
      .required = true,
      .expect = "the cluster has no topology level row" },
    { .what = "a lost node of the rack",
      .nodes = "a/r1:4 a/r1:4 b/r2:4",
      .lost = "n1",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "8 gpu in one rack; rack r1 comes closest with 4 free; would fit if n1 were back "
                "(lost)" },
    { .what = "fewer tasks than all, in one rack",
      .nodes = "a/r1:4 a/r2:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 4, .min = 2, GPUS(4) } },
      .within = "rack",
      .required = true,
      .expect = "w/0@n1[0,1,2,3] w/1@n2[0,1,2,3]" },
    { .what = "named nodes in one rack",
      .nodes = "a/r1:4 a/r1:4 a/r2:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
      .within = "rack",
      .required = true,
      .placing = { .nodes = WORDS("n0", "n2", "n3") },
      .expect = "w/0@n2[0,1,2,3] w/1@n3[0,1,2,3]" },
    { .what = "apart within a rack",
      .nodes = "a/r1:8 a/r2:2 a/r2:2",
      .roles = { { .name = "w", .replicas = 2, GPUS(1) } },
      .within = "rack",
      .required = true,
      .placing = { .apart = WORDS("w") },
      .expect = "w/0@n1[0] w/1@n2[0]" },
    { .what = "a label of a level still counts",
      .nodes = "a/r1:4 a/r2:4",
      .roles = { { .name = "w", .replicas = 1, GPUS(1) } },
      .placing = { .labels = PAIR("rack", "r2") },
      .expect = "w/0@n1[0]" },
};

static struct world world_of(const char *nodes)
{
    struct world w = world_create(NULL, 0);
    unsigned i = 0;
    while (*nodes) { /* "zone/rack:gpus" and a blank; '-' is no label */
        size_t zone = strcspn(nodes, "/"), rack = strcspn(nodes + zone + 1, ":");
        char *end;
        struct node_spec s = { .name = arena_printf(w.arena, "n%u", i++) };
        if (*nodes != '-')
            pairs_set(&s.labels, w.arena, "zone", arena_strndup(w.arena, nodes, zone));
        if (nodes[zone + 1] != '-')
            pairs_set(&s.labels, w.arena, "rack", arena_strndup(w.arena, nodes + zone + 1, rack));
        s.gpus = (uint32_t)strtoul(nodes + zone + rack + 2, &end, 10);
        cluster_put(w.cluster, &s);
        nodes = end + strspn(end, " ");
    }
    return w;
}

static void take_before(struct world *w, const struct row *row)
{
    static uint32_t devices[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    for (uint32_t i = 0; i < ARRAY_LEN(row->taken); i++) {
        if (!row->taken[i])
            continue;
        struct role role = { .name = "t", .replicas = 1, GPUS(row->taken[i]) };
        struct task_place p = { .node = arena_printf(w->arena, "n%u", i),
                                .gpus = devices,
                                .n_gpus = row->taken[i] };
        assert_true(cluster_take(w->cluster, world_job(w->arena, &role, 1), &p));
    }
}

static struct job_spec *job_of(struct world *w, const struct row *row)
{
    struct job_spec *job = world_job(w->arena, row->roles, ARRAY_LEN(row->roles));
    job->placing = row->placing;
    job->placing.within = row->within;
    job->placing.within_required = row->required;
    return job;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct world w = world_of(row->nodes);
        struct err err = { 0 };
        assert_int_equal(cluster_set_levels(w.cluster, LEVELS, &err), 0);
        take_before(&w, row);
        if (row->lost)
            cluster_set_up(w.cluster, cluster_find(w.cluster, row->lost), false);
        struct job_spec *job = job_of(&w, row);
        struct plan_entry e = world_try(&w, job);
        const char *got = world_show(w.arena, job, &e);
        if (strcmp(got, row->expect) != 0)
            fail_msg("%s:\n  got      %s\n  expected %s", row->what, got, row->expect);
        if (e.kind == PLAN_ADMIT)
            assert_true(world_take(w.cluster, job, &e));
        world_destroy(&w);
    }
}

static void test_reason(void **state)
{
    (void)state;
    const struct row row = { .roles = { { .name = "w", .replicas = 4, GPUS(4) } },
                             .within = "rack",
                             .required = true };
    struct world w = world_of("a/r1:4 a/r2:4 a/r2:4 a/r2:4 b/r3:4");
    struct wait_reason r = { .why = WAIT_NONE };
    assert_int_equal(cluster_set_levels(w.cluster, LEVELS, NULL), 0);
    struct job_spec *job = job_of(&w, &row);
    struct plan_entry e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_WAIT);
    assert_int_equal(e.reason.why, WAIT_TOPOLOGY);
    assert_string_equal(e.reason.resource, "gpu");
    assert_string_equal(e.reason.level, "rack");
    assert_string_equal(e.reason.domain, "r2");
    assert_string_equal(e.reason.role, "w");
    assert_int_equal(e.reason.need, 16000);
    assert_int_equal(e.reason.best, 12000);
    assert_int_equal(e.reason.short_by, 4000);
    assert_int_equal(sched_possible(w.cluster, job, w.arena, &r), -1);
    assert_int_equal(r.why, WAIT_TOPOLOGY);
    assert_string_equal(wait_text(w.arena, &r),
                        "16 gpu in one rack; rack r2 is the largest with 12");
    job->placing.within_required = false;
    assert_int_equal(sched_possible(w.cluster, job, w.arena, &r), 0);
    assert_true(cluster_has_level(w.cluster, "rack") && cluster_has_level(w.cluster, "node"));
    assert_false(cluster_has_level(w.cluster, "row"));
    world_destroy(&w);
}

static int set_levels(struct cluster *c, const char *a, const char *b, struct err *err)
{
    const char *at[] = { a, b };
    return cluster_set_levels(c, &(struct words){ .at = at, .n = 2 }, err);
}

static void test_levels(void **state)
{
    (void)state;
    struct world w = world_of("a/r1:4 a/r2:4 b/r1:4");
    struct err err = { 0 };
    assert_int_equal(set_levels(w.cluster, "zone", "rack", &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_string_equal(err.what, "rack r1 is in zone a (node n0) and in zone b (node n2)");
    assert_false(cluster_has_level(w.cluster, "rack"));
    assert_int_equal(set_levels(w.cluster, "zone", "node", &err), -1);
    assert_int_equal(set_levels(w.cluster, "zone", "zone", &err), -1);
    assert_string_equal(err.what, "topology level \"zone\" is named twice");
    world_destroy(&w);
    w = world_of("a/r1:4 a/r2:4 b/r3:4");
    assert_int_equal(set_levels(w.cluster, "zone", "rack", &err), 0);
    struct cluster *copy = cluster_clone(w.cluster);
    struct node_spec late = { .name = "n9", .gpus = 4 };
    pairs_set(&late.labels, w.arena, "zone", "b");
    pairs_set(&late.labels, w.arena, "rack", "r2");
    cluster_put(w.cluster, &late);
    assert_int_equal(set_levels(w.cluster, "zone", "rack", &err), -1);
    assert_string_equal(err.what, "rack r2 is in zone a (node n1) and in zone b (node n9)");
    assert_int_equal(set_levels(copy, "zone", "rack", &err), 0);
    cluster_destroy(copy);
    world_destroy(&w);
}

/* A task of a running job comes back to the rack of the others, or waits. */
static void test_more(void **state)
{
    (void)state;
    const struct row row = { .roles = { { .name = "w", .replicas = 2, GPUS(4) } },
                             .within = "rack",
                             .required = true };
    struct world w = world_of("a/r1:4 a/r2:4 a/r2:4 a/r2:4 a/r1:2");
    assert_int_equal(cluster_set_levels(w.cluster, LEVELS, NULL), 0);
    struct job_spec *job = job_of(&w, &row);
    struct plan_entry e = world_try(&w, job);
    assert_string_equal(world_show(w.arena, job, &e), "w/0@n1[0,1,2,3] w/1@n2[0,1,2,3]");
    assert_true(cluster_take(w.cluster, job, &e.tasks[1]));
    struct task_ref ref = { .role = 0, .index = 0 };
    struct sched_more more = {
        .id = 1, .spec = job, .tasks = &ref, .n = 1, .held = &e.tasks[1], .n_held = 1
    };
    struct sched_snapshot s = { .cluster = w.cluster, .more = &more, .n_more = 1 };
    struct plan p = sched_plan(&s, 1000, w.arena);
    assert_int_equal(p.at[0].kind, PLAN_MORE);
    assert_string_equal(p.at[0].tasks[0].node, "n1");
    cluster_set_up(w.cluster, 1, false);
    cluster_set_up(w.cluster, 3, false);
    p = sched_plan(&s, 1000, w.arena);
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[0].reason),
                        "4 gpu in one rack; rack r2 comes closest with 0 free");
    job->placing.within_required = false;
    p = sched_plan(&s, 1000, w.arena);
    assert_int_equal(p.at[0].kind, PLAN_MORE);
    assert_string_equal(p.at[0].tasks[0].node, "n0");
    world_destroy(&w);
}

/* 1,024 tasks over racks of 32 nodes in zones of 16 racks: two zones, and no rack half used. */
static void test_large(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    for (uint32_t i = 0; i < 2048; i++) {
        struct node_spec s = { .name = arena_printf(w.arena, "n%u", i), .gpus = 2 };
        pairs_set(&s.labels, w.arena, "zone", arena_printf(w.arena, "z%u", i / 512));
        pairs_set(&s.labels, w.arena, "rack", arena_printf(w.arena, "r%u", i / 32));
        cluster_put(w.cluster, &s);
    }
    assert_int_equal(cluster_set_levels(w.cluster, LEVELS, NULL), 0);
    struct role one = { .name = "o", .replicas = 1, GPUS(1) };
    struct role wide = { .name = "w", .replicas = 1024, GPUS(2) };
    struct job_spec *small = world_job(w.arena, &one, 1), *job = world_job(w.arena, &wide, 1);
    struct plan_entry e = world_try(&w, small); /* n0 is in use: zone 0 is no longer whole */
    assert_true(world_take(w.cluster, small, &e));
    e = world_try(&w, job);
    assert_int_equal(e.kind, PLAN_ADMIT);
    uint32_t racks[64] = { 0 };
    for (uint32_t i = 0; i < e.n_tasks; i++)
        racks[cluster_find(w.cluster, e.tasks[i].node) / 32]++;
    for (uint32_t r = 0; r < 64; r++)
        assert_int_equal(racks[r], r >= 16 && r < 48 ? 32 : 0);
    world_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows), cmocka_unit_test(test_reason), cmocka_unit_test(test_levels),
        cmocka_unit_test(test_more), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
