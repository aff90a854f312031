/* Nodes that a job leaves: after how many failures in a row, only where there is an elsewhere, and
 * at most so often as it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "live/avoid.h"
#include "text/json.h"

#include "base/mem.h"

#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"j\",\"retry\":{\"per_node\":2,\"platform\":1},"                                   \
    "\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"

struct fix {
    struct arena *arena;
    struct live *live;
    struct live_job *job;
    struct cluster *cluster;
};

static void put_node(struct fix *f, const char *name)
{
    const struct node_spec node = { .name = name,
                                    .address = "127.0.0.2",
                                    .host = name,
                                    .cpu_milli = 4000,
                                    .memory = 16ull << 30,
                                    .disk = 1ull << 40,
                                    .gpu_type = "" };
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
}

static int set_up(void **state)
{
    const struct job_row row = {
        .id = 7, .generation = 1, .tasks = 1, .state = JOB_RUNNING, .name = "j", .owner = "me"
    };
    struct fix *f = mem_new(sizeof *f);
    struct report report;
    f->arena = arena_create();
    f->live = live_create();
    f->cluster = cluster_create(20000, 20999, 20000);
    put_node(f, "n1");
    f->job = live_add(f->live, &row);
    report_init(&report, f->arena);
    f->job->spec =
        job_decode(f->job->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    assert_non_null(f->job->spec);
    live_make_tasks(f->job);
    f->job->tasks[0].place.node = "n1";
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    live_destroy(f->live);
    cluster_destroy(f->cluster);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static enum avoidance fails_on(struct fix *f, const char *node)
{
    f->job->tasks[0].place.node = node;
    return avoid_count(f->cluster, f->job, 0);
}

static void the_only_node_is_not_left(void **state)
{
    struct fix *f = *state;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fails_on(f, "n1"), AVOID_NOTHING);
}

static void one_is_left_after_failures_in_a_row(void **state)
{
    struct fix *f = *state;
    put_node(f, "n2");
    put_node(f, "n3");
    assert_int_equal(fails_on(f, "n1"), AVOID_NOTHING);
    assert_int_equal(fails_on(f, "n2"), AVOID_NOTHING);
    assert_int_equal(fails_on(f, "n1"), AVOID_NOTHING); /* not in a row */
    assert_int_equal(fails_on(f, "n1"), AVOID_NODE);
    assert_true(avoid_node(f->job, "n1") && !avoid_node(f->job, "n2"));
    assert_true(words_have(&f->job->spec->placing.avoid, "n1"));
    assert_int_equal(fails_on(f, "n2"), AVOID_NOTHING);
    assert_int_equal(fails_on(f, "n2"), AVOID_NO_MORE); /* it may leave one */
    assert_int_equal(f->job->notes.avoid.n, 1);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = { T(the_only_node_is_not_left),
                                        T(one_is_left_after_failures_in_a_row) };
    return cmocka_run_group_tests_name("live/avoid", tests, NULL, NULL);
}
