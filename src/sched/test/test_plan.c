/* One pass on small clusters: order, gangs, bundles, more tasks for running jobs, what is held
 * back, how deep it looks. The snapshot is never changed. */
#include "sched/plan.h"

#include "base/mem.h"
#include "sched/test/world.h"
#include "sched/wait_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct node_spec nodes[] = {
    { .name = "n1", .address = "127.0.1.1", .host = "box", .cpu_milli = 4000, .gpus = 2 },
    { .name = "n2", .address = "127.0.1.2", .host = "box", .cpu_milli = 4000 },
};

static struct job_spec *cpu_job(struct world *w, uint32_t cpus)
{
    struct role role = { .name = "w", .replicas = 1, .resources = { .cpu_milli = cpus * 1000 } };
    return world_job(w->arena, &role, 1);
}

/* What is promised is for other tests. */
static struct plan unpromised(struct plan p)
{
    while (p.n && p.at[p.n - 1].kind == PLAN_RESERVE)
        p.n--;
    return p;
}

static struct plan plan_of(struct world *w, const struct sched_job *jobs, size_t n)
{
    struct sched_snapshot s = { .cluster = w->cluster, .jobs = jobs, .n_jobs = n };
    return unpromised(sched_plan(&s, 1000, w->arena));
}

static void test_order(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[] = {
        { .id = 1, .spec = cpu_job(&w, 3) }, { .id = 2, .spec = cpu_job(&w, 8) },
        { .id = 3, .spec = cpu_job(&w, 3) }, { .id = 4, .spec = cpu_job(&w, 2) },
        { .id = 5, .spec = cpu_job(&w, 1) }, { .id = 6, .spec = cpu_job(&w, 1) },
    };
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    static const struct {
        uint64_t job;
        enum plan_kind kind;
        uint32_t ahead;
    } expect[] = {
        { 1, PLAN_ADMIT, 0 }, { 3, PLAN_ADMIT, 0 },
        { 5, PLAN_ADMIT, 0 }, /* a blocked job reserves nothing */
        { 6, PLAN_ADMIT, 0 }, { 2, PLAN_WAIT, 0 },
        { 4, PLAN_WAIT, 1 },
    };
    assert_int_equal(p.n, ARRAY_LEN(expect));
    for (size_t i = 0; i < p.n; i++) {
        assert_int_equal(p.at[i].job, expect[i].job);
        assert_int_equal(p.at[i].kind, expect[i].kind);
        assert_int_equal(p.at[i].reason.ahead, expect[i].ahead);
    }
    assert_string_equal(p.at[0].tasks[0].address, "127.0.1.2");
    assert_int_equal(p.at[0].tasks[0].attempt, 1);
    const struct wait_reason *r = &p.at[4].reason;
    assert_int_equal(r->why, WAIT_RESOURCE);
    assert_string_equal(r->resource, "cpu");
    assert_string_equal(r->role, "w");
    assert_string_equal(r->node, "n1");
    assert_int_equal(r->need, 8000);
    assert_int_equal(r->total, 8000);
    assert_int_equal(r->best, 4000);
    assert_int_equal(r->short_by, 4000);
    world_destroy(&w);
}

static void test_plan_changes_nothing(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[] = { { .id = 1, .spec = cpu_job(&w, 3) } };
    for (int i = 0; i < 3; i++) {
        struct plan p = plan_of(&w, jobs, 1);
        assert_int_equal(p.at[0].kind, PLAN_ADMIT);
        assert_string_equal(p.at[0].tasks[0].node, "n2");
        assert_int_equal(cluster_node(w.cluster, 1).cpu_used, 0);
    }
    world_destroy(&w);
}

/* Nodes of allocations: n1 lasts another hour, n2 ends. */
static void test_time_that_is_left(void **state)
{
    static const struct node_spec ending[] = {
        { .name = "n1", .address = "127.0.1.1", .cpu_milli = 4000, .lasts_ms = 3600000 },
        { .name = "n2", .address = "127.0.1.2", .cpu_milli = 8000, .lasts_ms = NODE_ENDS },
        { .name = "n3", .address = "127.0.1.3", .cpu_milli = 1000 },
    };
    (void)state;
    struct world w = world_create(ending, ARRAY_LEN(ending));
    struct sched_job jobs[] = { { .id = 1, .spec = cpu_job(&w, 2) },
                                { .id = 2, .spec = cpu_job(&w, 2) },
                                { .id = 3, .spec = cpu_job(&w, 1) },
                                { .id = 4, .spec = cpu_job(&w, 2) } };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct job_spec *spec = (struct job_spec *)(uintptr_t)jobs[i].spec;
        spec->limits.run_time_ms.has = i > 0;
        spec->limits.run_time_ms.value = i == 1 ? 3600000 : 3600001;
    }
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.n, 4);
    assert_int_equal(p.at[0].job, 1); /* without a limit it ends with the node */
    assert_string_equal(p.at[0].tasks[0].node, "n1");
    assert_int_equal(p.at[1].job, 2);
    assert_string_equal(p.at[1].tasks[0].node, "n1");
    assert_int_equal(p.at[2].job, 3);
    assert_string_equal(p.at[2].tasks[0].node, "n3"); /* which has no end */
    assert_int_equal(p.at[3].kind, PLAN_WAIT);
    struct plan_entry alone = sched_try(w.cluster, &jobs[3], 1000, w.arena);
    assert_int_equal(alone.kind, PLAN_WAIT);
    assert_string_equal(alone.reason.resource, "time");
    assert_string_equal(alone.reason.node, "n1");
    assert_non_null(
        strstr(wait_text(w.arena, &alone.reason), "is longer than any node it could use has left"));
    struct wait_reason why;
    assert_int_equal(sched_possible(w.cluster, jobs[3].spec, w.arena, &why), 0);
    world_destroy(&w);
}

static void test_held_back(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[] = {
        { .id = 1, .spec = cpu_job(&w, 1), .not_before_ms = 1001 },
        { .id = 2, .spec = cpu_job(&w, 1), .blocked_after = true },
        { .id = 3, .spec = cpu_job(&w, 1), .not_before_ms = 1000 },
        { .id = 4, .spec = cpu_job(&w, 9) },
    };
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.at[0].job, 3);
    assert_int_equal(p.at[1].job, 4);
    assert_int_equal(p.at[1].reason.ahead, 0); /* those held back stand in nobody's way */
    assert_int_equal(p.at[2].reason.why, WAIT_TIME);
    assert_int_equal(p.at[2].reason.until_ms, 1001);
    assert_int_equal(p.at[3].reason.why, WAIT_AFTER);
    for (size_t i = 1; i < 4; i++)
        assert_true(p.at[i].reason.says && p.at[i].reason.resource && p.at[i].reason.node);
    world_destroy(&w);
}

static void test_depth(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[6];
    for (uint32_t i = 0; i < 5; i++)
        jobs[i] = (struct sched_job){ .id = i + 1, .spec = cpu_job(&w, 5 + i) };
    jobs[5] = (struct sched_job){ .id = 6, .spec = cpu_job(&w, 1) };
    struct sched_snapshot s = { .cluster = w.cluster, .jobs = jobs, .n_jobs = 6, .depth = 3 };
    struct plan p = unpromised(sched_plan(&s, 1000, w.arena));
    static const uint32_t ahead[] = { 0, 1, 2, 3, 4, 5 };
    assert_int_equal(p.n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(p.at[i].job, i + 1);
        assert_int_equal(p.at[i].kind, PLAN_WAIT);
        assert_int_equal(p.at[i].reason.why, i < 3 ? WAIT_RESOURCE : WAIT_AHEAD);
        assert_int_equal(p.at[i].reason.ahead, ahead[i]);
    }
    s.depth = 0; /* the default is deeper */
    p = unpromised(sched_plan(&s, 1000, w.arena));
    assert_int_equal(p.at[0].job, 6);
    world_destroy(&w);
}

/* Jobs that differ in what placing looks at are never taken for the same. */
static void test_shapes(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[] = {
        { .id = 1, .spec = cpu_job(&w, 9) }, { .id = 2, .spec = cpu_job(&w, 9) },
        { .id = 3, .spec = cpu_job(&w, 4) }, { .id = 4, .spec = cpu_job(&w, 4) },
        { .id = 5, .spec = cpu_job(&w, 4) },
    };
    ((struct job_spec *)jobs[4].spec)->roles[0].resources.cpu_milli = 0;
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.at[0].job, 3);
    assert_int_equal(p.at[1].job, 4);
    assert_int_equal(p.at[2].job, 5);
    assert_ptr_equal(p.at[3].reason.resource, p.at[4].reason.resource);
    world_destroy(&w);
}

static void test_blocked_port(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct port_request any = { .label = "http", .count = 1 },
                        web = { .label = "web", .count = 1, .first = 8080 };
    struct role role = { .name = "w", .replicas = 1, .ports = &any, .n_ports = 1 };
    struct job_spec *job = world_job(w.arena, &role, 1);
    struct sched_job waiting = { .id = 1, .spec = job };
    cluster_block_port(w.cluster, 0, 15000, 2000);
    cluster_block_port(w.cluster, 1, 8080, 2000);
    struct plan_entry e = sched_try(w.cluster, &waiting, 1999, w.arena);
    assert_int_equal(e.tasks[0].ports[0].numbers[0], 15001);
    e = sched_try(w.cluster, &waiting, 2000, w.arena);
    assert_int_equal(e.tasks[0].ports[0].numbers[0], 15000);
    job->roles[0].ports = &web;
    e = sched_try(w.cluster, &waiting, 1999, w.arena);
    assert_int_equal(e.kind, PLAN_WAIT);
    assert_int_equal(e.reason.why, WAIT_PORTS);
    assert_string_equal(e.reason.resource, "port 8080");
    e = sched_try(w.cluster, &waiting, 2000, w.arena);
    assert_int_equal(e.kind, PLAN_ADMIT);
    world_destroy(&w);
}

/* ---- tasks of running jobs ---- */

static struct plan plan_more(struct world *w, const struct sched_more *more,
                             const struct sched_job *job)
{
    struct sched_snapshot s = {
        .cluster = w->cluster, .more = more, .n_more = 1, .jobs = job, .n_jobs = job != NULL
    };
    return unpromised(sched_plan(&s, 1000, w->arena));
}

static void test_more_comes_first(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct role role = { .name = "w", .replicas = 4, .resources = { .gpu_milli = 1000 } };
    struct task_ref tasks[] = { { .role = 0, .index = 3 }, { .role = 0, .index = 1 } };
    struct sched_more more = {
        .id = 7, .spec = world_job(w.arena, &role, 1), .tasks = tasks, .n = 2
    };
    role.replicas = 1;
    struct sched_job job = { .id = 8, .spec = world_job(w.arena, &role, 1) };
    struct plan p = plan_more(&w, &more, &job);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.at[0].kind, PLAN_MORE);
    assert_int_equal(p.at[0].job, 7);
    assert_int_equal(p.at[0].n_tasks, 2);
    assert_string_equal(world_show(w.arena, more.spec, &p.at[0]), "w/3@n1[0] w/1@n1[1]");
    assert_int_equal(p.at[0].tasks[0].attempt, 0);
    assert_int_equal(p.at[1].job, 8);
    assert_int_equal(p.at[1].kind, PLAN_WAIT);
    assert_true(world_take(w.cluster, job.spec, &(struct plan_entry){ 0 }));
    struct plan_entry one = world_try(&w, job.spec);
    assert_true(world_take(w.cluster, job.spec, &one));
    p = plan_more(&w, &more, NULL); /* two do not fit beside it: none is placed */
    assert_int_equal(p.n, 1);
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[0].reason),
                        "gpu: 1 short, 1 of 2 w tasks fit; n1 comes closest with 0 of 1 free");
    world_destroy(&w);
}

static void test_more_knows_its_peers(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct role roles[] = { { .name = "w", .replicas = 2, .resources = { .cpu_milli = 1000 } },
                            { .name = "ps", .replicas = 2, .resources = { .cpu_milli = 1000 } } };
    struct job_spec *job = world_job(w.arena, roles, 2);
    struct colocate set = { .roles = WORDS("w", "ps") };
    struct task_place held[] = { { .role = 0, .index = 0, .node = "n2" },
                                 { .role = 1, .index = 1, .node = "n1" } };
    struct task_ref task = { .role = 0, .index = 1 };
    struct sched_more more = {
        .id = 7, .spec = job, .tasks = &task, .n = 1, .held = held, .n_held = 2
    };
    assert_string_equal(plan_more(&w, &more, NULL).at[0].tasks[0].node,
                        "n2"); /* fullest: no gpu there */
    job->placing.apart = (struct words)WORDS("w");
    assert_string_equal(plan_more(&w, &more, NULL).at[0].tasks[0].node, "n1");
    job->placing.apart.n = 0;
    job->placing.spread = (struct words)WORDS("w");
    assert_string_equal(plan_more(&w, &more, NULL).at[0].tasks[0].node, "n1");
    job->placing.spread.n = 0;
    job->placing.together = &set;
    job->placing.n_together = 1;
    assert_string_equal(plan_more(&w, &more, NULL).at[0].tasks[0].node, "n1"); /* where ps/1 is */
    cluster_set_up(w.cluster, 0, false);
    assert_int_equal(plan_more(&w, &more, NULL).at[0].kind, PLAN_WAIT);
    world_destroy(&w);
}

/* Four tasks of one device each, of which `least` start together. */
static struct job_spec *gpu_gang(struct world *w, uint32_t least, struct gang *gang)
{
    static const char *roles[] = { "w" };
    struct role role = { .name = "w", .replicas = 4, .min = 1, .resources = { .gpu_milli = 1000 } };
    struct job_spec *job = world_job(w->arena, &role, 1);
    *gang = (struct gang){ .name = "g", .min = least, .roles = { .at = roles, .n = 1 } };
    job->gangs = gang;
    job->n_gangs = 1;
    return job;
}

static void test_gang_of_one_role(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct gang gang;
    struct sched_job four = { .id = 1, .spec = gpu_gang(&w, 4, &gang) };
    struct plan p = plan_of(&w, &four, 1);
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[0].reason),
                        "gpu: 2 short, 2 of 4 w tasks fit; n1 comes closest with 0 of 1 free");
    struct unfits u = sched_unfit(w.cluster, &(struct sched_more){ .spec = four.spec }, w.arena);
    assert_int_equal(u.nodes, 2);
    assert_int_equal(u.index, 2);
    assert_int_equal(u.n, 1);
    assert_int_equal(u.at[0].kind, UNFIT_RESOURCE);
    assert_string_equal(u.at[0].name, "gpu");
    assert_int_equal(u.at[0].nodes, 2);
    gang.min = 2;
    p = plan_of(&w, &four, 1);
    assert_int_equal(p.at[0].kind, PLAN_ADMIT);
    assert_int_equal(p.at[0].n_tasks, 2);
    world_destroy(&w);
}

/* What a job goes on without comes one by one; what it cannot go on without comes together. */
static void test_more_trickles(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct gang gang;
    struct job_spec *job = gpu_gang(&w, 2, &gang);
    static const struct task_ref refs[] = { { .index = 1 }, { .index = 2 }, { .index = 3 } };
    struct sched_more more = { .id = 1, .spec = job, .tasks = refs, .n = ARRAY_LEN(refs) };
    struct sched_snapshot s = { .cluster = w.cluster, .more = &more, .n_more = 1 };
    struct plan p = unpromised(sched_plan(&s, 1000, w.arena));
    assert_int_equal(p.n, 1);
    assert_int_equal(p.at[0].kind, PLAN_MORE);
    assert_int_equal(p.at[0].n_tasks, 2);
    assert_int_equal(p.at[0].tasks[0].index, 1);
    assert_int_equal(p.at[0].reason.why, WAIT_RESOURCE);
    struct unfits u = sched_unfit(w.cluster, &more, w.arena);
    assert_int_equal(u.index, 3);
    job->n_gangs = 0;
    job->roles[0].min = 4;
    p = unpromised(sched_plan(&s, 1000, w.arena));
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    world_destroy(&w);
}

/* Jobs of one bundle take their places together, at the turn of the first, or not at all. */
static void test_bundles(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct sched_job jobs[] = {
        { .id = 1, .spec = cpu_job(&w, 4), .bundle = 1, .bundle_size = 2 },
        { .id = 2, .spec = cpu_job(&w, 3) },
        { .id = 3, .spec = cpu_job(&w, 4), .bundle = 1, .bundle_size = 2 },
    };
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.n, 3);
    assert_int_equal(p.at[0].job, 1);
    assert_int_equal(p.at[1].job, 3);
    assert_int_equal(p.at[1].kind, PLAN_ADMIT);
    assert_int_equal(p.at[2].kind, PLAN_WAIT);
    ((struct job_spec *)jobs[2].spec)->roles[0].resources.cpu_milli = 9000;
    p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.n, 3);
    assert_int_equal(p.at[0].job, 2); /* what they did not take is there for others */
    assert_int_equal(p.at[1].kind, PLAN_WAIT);
    assert_int_equal(p.at[2].kind, PLAN_WAIT);
    jobs[0].bundle_size = 3; /* one is past the depth */
    p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.at[1].reason.why, WAIT_AHEAD);
    world_destroy(&w);
}

static void test_unfit_nodes(void **state)
{
    (void)state;
    struct world w = world_create(nodes, ARRAY_LEN(nodes));
    struct role role = { .name = "w",
                         .replicas = 1,
                         .resources = { .cpu_milli = 9000, .gpu_milli = 3000 } };
    struct job_spec *job = world_job(w.arena, &role, 1);
    cluster_set_drained(w.cluster, 1, true);
    struct unfits u = sched_unfit(w.cluster, &(struct sched_more){ .spec = job }, w.arena);
    assert_int_equal(u.n, 3); /* n1 lacks both, n2 is drained */
    assert_int_equal(u.at[2].kind, UNFIT_DRAINED);
    cluster_set_up(w.cluster, 1, false);
    pairs_set(&job->placing.labels, w.arena, "zone", "a");
    u = sched_unfit(w.cluster, &(struct sched_more){ .spec = job }, w.arena);
    assert_int_equal(u.n, 2);
    assert_int_equal(u.at[0].kind, UNFIT_NODE);
    assert_int_equal(u.at[1].kind, UNFIT_DOWN);
    world_destroy(&w);
}

static void test_nodes_of_an_engine(void **state)
{
    (void)state;
    struct node_spec both[] = { nodes[0], nodes[1] };
    both[1].machine = true;
    struct world w = world_create(both, ARRAY_LEN(both));
    struct job_spec *here = cpu_job(&w, 1), *there = cpu_job(&w, 1), *far = cpu_job(&w, 1);
    here->placing.engine = "local";
    there->placing.engine = "machines";
    far->placing.engine = "elsewhere";
    assert_int_not_equal(job_shape(here), job_shape(there));
    struct sched_job jobs[] = { { .id = 1, .spec = here },
                                { .id = 2, .spec = there },
                                { .id = 3, .spec = far } };
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.at[0].kind, PLAN_ADMIT);
    assert_string_equal(p.at[0].tasks[0].node, both[0].name);
    assert_int_equal(p.at[1].kind, PLAN_ADMIT);
    assert_string_equal(p.at[1].tasks[0].node, both[1].name);
    assert_int_equal(p.at[2].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[2].reason), "no node is of the engine elsewhere");
    world_destroy(&w);
}

/* Of jobs that ask for the same, the one that an allocation belongs to is placed there, alone. */
static void test_nodes_of_an_own_allocation(void **state)
{
    (void)state;
    struct node_spec all[] = { nodes[0], nodes[1] };
    all[0].for_job = 2;
    struct world w = world_create(all, ARRAY_LEN(all));
    struct job_spec *any = cpu_job(&w, 1), *own = cpu_job(&w, 1), *other = cpu_job(&w, 1);
    own->placing.own = 2;
    other->placing.own = 3;
    assert_int_not_equal(job_shape(any), job_shape(own));
    struct sched_job jobs[] = { { .id = 1, .spec = any },
                                { .id = 2, .spec = own },
                                { .id = 3, .spec = other } };
    struct plan p = plan_of(&w, jobs, ARRAY_LEN(jobs));
    assert_int_equal(p.at[0].kind, PLAN_ADMIT);
    assert_string_equal(p.at[0].tasks[0].node, all[1].name);
    assert_int_equal(p.at[1].kind, PLAN_ADMIT);
    assert_string_equal(p.at[1].tasks[0].node, all[0].name);
    assert_int_equal(p.at[2].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[2].reason), "its own allocation has no node");
    world_destroy(&w);
    all[1].for_job = 2;
    w = world_create(all, ARRAY_LEN(all));
    jobs[0].spec = cpu_job(&w, 1);
    p = plan_of(&w, jobs, 1);
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[0].reason),
                        "all nodes are of allocations that other jobs have for themselves");
    world_destroy(&w);
}

static void test_empty(void **state)
{
    (void)state;
    struct world w = world_create(NULL, 0);
    assert_int_equal(plan_of(&w, NULL, 0).n, 0);
    struct sched_job job = { .id = 1, .spec = cpu_job(&w, 1) };
    struct plan p = plan_of(&w, &job, 1);
    assert_int_equal(p.at[0].kind, PLAN_WAIT);
    assert_string_equal(wait_text(w.arena, &p.at[0].reason), "cpu: 1 short; no node is up");
    world_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_plan_changes_nothing),
        cmocka_unit_test(test_time_that_is_left),
        cmocka_unit_test(test_held_back),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_blocked_port),
        cmocka_unit_test(test_more_comes_first),
        cmocka_unit_test(test_more_knows_its_peers),
        cmocka_unit_test(test_gang_of_one_role),
        cmocka_unit_test(test_more_trickles),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_unfit_nodes),
        cmocka_unit_test(test_nodes_of_an_engine),
        cmocka_unit_test(test_nodes_of_an_own_allocation),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
