/* What is refused whatever the cluster has, what an engine can do away with, and what is said to
 * type of a job that is larger than the cluster: each of it makes the job fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "admit/admit.h"
#include "admit/declare.h"
#include "engine/engine.h"
#include "sched/cluster.h"

#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define GI (UINT64_C(1) << 30)

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_create();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

/* The job of one role that asks for so many cores. */
static struct job_spec *job_of(unsigned cpu)
{
    const char *text = arena_printf(arena,
                                    "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\","
                                    "\"resources\":{\"cpu\":%u}}}}",
                                    cpu);
    struct report report;
    report_init(&report, arena);
    struct job_spec *job =
        job_decode(arena, json_parse(arena, text, strlen(text), 0, &report), &report);
    assert_non_null(job);
    assert_true(report_ok(&report));
    return job;
}

static struct cluster *cluster_of(bool declared)
{
    struct cluster *cluster = cluster_create(20000, 20100, 20000);
    const struct node_spec node = { .name = declared ? "n1" : "vm",
                                    .host = "vm",
                                    .address = "127.0.0.1",
                                    .cpu_milli = 4000,
                                    .memory = 8 * GI,
                                    .gpu_type = "",
                                    .declared = declared };
    cluster_set_up(cluster, cluster_put(cluster, &node), true);
    return cluster;
}

static const struct problem *found(const struct report *report, const char *path)
{
    for (size_t i = 0; i < report->n; i++)
        if (strcmp(report->at[i].path, path) == 0)
            return &report->at[i];
    return NULL;
}

static void an_engine_can_do_away_with_a_refusal(void **state)
{
    struct job_spec *job = job_of(1);
    struct report report;
    (void)state;
    job->roles[0].open_stdin = true;
    job->inputs.code.git = "https://h/x.git";
    report_init(&report, arena);
    assert_int_equal(admit_features(0, RUNTIME_HOST, job, NULL, &report), -1);
    assert_int_equal(report.errors, 2);
    assert_non_null(found(&report, "inputs.code.git"));
    assert_non_null(found(&report, "roles.w.stdin"));
    report_init(&report, arena);
    assert_int_equal(admit_features(ENGINE_STDIN, RUNTIME_HOST, job, NULL, &report), -1);
    assert_int_equal(report.errors, 1);
    assert_null(found(&report, "roles.w.stdin"));
    report_init(&report, arena);
    assert_int_equal(admit_anywhere(job, NULL, &report), -1);
    assert_int_equal(report.n, 1);
}

/* It is a warning where tasks run on the host, and nothing where they run in it. */
static void an_image_is_used_or_not(void **state)
{
    struct job_spec *job = job_of(1);
    struct report report;
    (void)state;
    assert_false(admit_names_image(job));
    job->roles[0].image = "a/b:1";
    assert_true(admit_names_image(job));
    report_init(&report, arena);
    assert_int_equal(admit_features(0, RUNTIME_HOST, job, NULL, &report), 0);
    assert_non_null(found(&report, "roles.*.image"));
    report_init(&report, arena);
    assert_int_equal(admit_features(0, RUNTIME_BWRAP, job, NULL, &report), 0);
    assert_int_equal(report.n, 0);
    report_init(&report, arena);
    assert_int_equal(admit_image(NULL, RUNTIME_AUTO, false, job, &report), 0);
    job->roles[0].image = "a//b:1:2";
    assert_int_equal(admit_image(NULL, RUNTIME_AUTO, false, job, &report), -1);
    assert_non_null(found(&report, "roles.w.image"));
}

static void a_level_is_known_or_required(void **state)
{
    struct job_spec *job = job_of(1);
    struct cluster *cluster = cluster_of(false);
    struct report report;
    (void)state;
    report_init(&report, arena);
    assert_int_equal(admit_topology(cluster, job, &report), 0);
    job->placing.within = "rack";
    assert_int_equal(admit_topology(cluster, job, &report), 0);
    assert_int_equal(report.warnings, 1);
    job->placing.within_required = true;
    assert_int_equal(admit_topology(cluster, job, &report), -1);
    cluster_destroy(cluster);
}

static void nodes_are_asked_for_by_name(void **state)
{
    struct job_spec *job = job_of(1);
    (void)state;
    assert_false(admit_asks_nodes(ENGINE_ALLOCATES, job));
    job->placing.engine = ENGINE_ALLOCATOR;
    assert_true(admit_asks_nodes(ENGINE_ALLOCATES, job));
    assert_false(admit_asks_nodes(0, job));
}

static void too_large_says_what_would_fit(void **state)
{
    struct job_spec *job = job_of(6);
    struct cluster *cluster = cluster_of(false);
    struct wait_reason reason = { 0 };
    struct report report;
    (void)state;
    report_init(&report, arena);
    assert_int_equal(admit_size(cluster, job, &report), -1);
    assert_int_equal(report.errors, 1);
    assert_non_null(report.at[0].remedies);
    assert_int_equal(sched_possible(cluster, job, arena, &reason), -1);
    assert_string_equal(declare_smaller(arena, cluster, job, &reason), "roles.w.resources.cpu=4");
    /* The machine as detected gives way. */
    assert_string_equal(declare_nodes(arena, cluster, job), "1x6cpu,1Gi");
    report_init(&report, arena);
    admit_warn_size(cluster, job, &report);
    assert_int_equal(report.warnings, 1);
    job = job_of(4);
    report_init(&report, arena);
    assert_int_equal(admit_size(cluster, job, &report), 0);
    admit_warn_size(cluster, job, &report);
    assert_int_equal(report.n, 0);
    cluster_destroy(cluster);
}

static void declared_nodes_stay(void **state)
{
    struct job_spec *job = job_of(4);
    struct cluster *cluster = cluster_of(true);
    struct wait_reason reason = { 0 };
    (void)state;
    job->roles[0].replicas = job->roles[0].min = 3;
    assert_int_equal(sched_possible(cluster, job, arena, &reason), -1);
    assert_string_equal(declare_nodes(arena, cluster, job), "1x4cpu,8Gi;3x4cpu,1Gi");
    /* One has what it asks for: only fewer of them would fit. */
    assert_string_equal(declare_smaller(arena, cluster, job, &reason), "roles.w.replicas=1");
    cluster_destroy(cluster);
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_engine_can_do_away_with_a_refusal), TEST(an_image_is_used_or_not),
        TEST(a_level_is_known_or_required),         TEST(nodes_are_asked_for_by_name),
        TEST(too_large_says_what_would_fit),        TEST(declared_nodes_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
