/* Canonical job -> v1: what v1 can say comes back the same, what it cannot is named. Round trips go
 * over jobs of the native format. */
#include "dialect/openpai/v1.h"

#include "dialect/openpai/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int setup(void **state)
{
    *state = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

static struct job_spec *native(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *root = sample_tree(arena, text, &report);
    struct job_spec *job = root ? job_decode(arena, root, &report) : NULL;
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    return job;
}

static bool warned(const struct report *report, const char *path)
{
    for (size_t i = 0; i < report->n; i++)
        if (strcmp(report->at[i].path, path) == 0)
            return true;
    return false;
}

/* text -> job -> v1 -> job: the two jobs are equal. */
static void round_trip(struct arena *arena, const char *text)
{
    struct report report;
    const struct job_spec *job = sample_read(arena, text, &report);
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    report_init(&report, arena);
    const struct text_node *tree = v1_write(arena, job, &report);
    assert_non_null(tree);
    if (report.n)
        fail_msg("%s", report.at[0].what);
    const struct job_spec *again = v1_read(arena, tree, &sample_site, &report);
    if (!again)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    assert_true(text_equal(job_encode(arena, job), job_encode(arena, again)));
}

static void test_round_trips(void **state)
{
    static const char *const texts[] = {
        "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": [{\"name\": \"m\", \"command\": \"true\"}]}",
        "{\"jobName\": \"j~1\", \"image\": \"i\", \"authFile\": \"file:///a\", \"dataDir\": \"/d\", "
        "\"outputDir\": \"/o\", \"codeDir\": \"./c\", \"virtualCluster\": \"vc\", \"gpuType\": \"A,B\", "
        "\"retryCount\": -1, \"jobEnvs\": {\"n\": 3, \"z\": \"03\", \"isDebug\": true}, "
        "\"extras\": {\"k\": [1, null]}, \"taskRoles\": ["
        "{\"name\": \"a\", \"taskNumber\": 2, \"cpuNumber\": 3, \"memoryMB\": 999, \"shmMB\": 9, "
        "\"gpuNumber\": 1, \"command\": \"x 'y'\", \"minFailedTaskCount\": 2, "
        "\"minSucceededTaskCount\": 1, \"portList\": [{\"label\": \"w\", \"beginAt\": 8000, "
        "\"portNumber\": 3}]},"
        "{\"name\": \"b.c\", \"command\": \"y\", \"minFailedTaskCount\": null}]}",
        "{\"jobName\": \"j\", \"image\": \"i\", \"retryCount\": -2, \"gpuType\": \"K80\", "
        "\"killAllOnCompletedTaskNumber\": 2, \"taskRoles\": [{\"name\": \"m\", \"command\": \"true\"}]}",
        "{\"jobName\": \"j\", \"image\": \"i\", \"retryCount\": 7, "
        "\"taskRoles\": [{\"name\": \"m\", \"command\": \"true\", \"portList\": [{\"label\": \"http\", "
        "\"portNumber\": 2}]}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        round_trip(*state, texts[i]);
}

static void test_what_cannot_be_said(void **state)
{
    const struct job_spec *job = native(
        *state,
        "{\"name\": \"n\", \"priority\": 7, \"limits\": {\"run_time\": \"1h\"}, "
        "\"roles\": {\"ps-0\": {\"run\": \"a\", \"env\": {\"X\": \"it's\"}, "
        "\"resources\": {\"cpu\": 0.5, \"memory\": \"1Gi\", \"disk\": \"1Gi\"}}, "
        "\"w\": {\"replicas\": {\"min\": 1, \"max\": 4}, \"argv\": [\"python\", \"a b.py\"], "
        "\"run_as\": \"bob\"}}, \"conventions\": [\"pytorch\"]}");
    struct report report;
    report_init(&report, *state);
    const struct text_node *tree = v1_write(*state, v1_shape(*state, job, &report), &report);
    static const char *const paths[] = {
        "priority",
        "limits",
        "roles.ps-0",
        "roles.ps_0.resources.cpu",
        "roles.w.run_as",
        "retry",
        "roles.ps_0.resources.disk",
        "image",
        "roles.w.replicas",
        "roles.ps_0.env.X",
        "roles.w.resources.memory",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (!warned(&report, paths[i]))
            fail_msg("no warning about %s", paths[i]);
    assert_int_equal(report.errors, 0);
    const struct text_node *roles = text_get(tree, "taskRoles");
    assert_string_equal(text_get(roles->first, "name")->str, "ps_0");
    assert_string_equal(text_get(roles->first, "command")->str, "export X='it'\\''s'; a");
    assert_int_equal(text_get(roles->first, "cpuNumber")->integer, 1);
    assert_string_equal(text_get(roles->last, "command")->str, "'python' 'a b.py'");
    assert_int_equal(text_get(roles->last, "taskNumber")->integer, 4);
    /* and what was written is a v1 configuration */
    report_init(&report, *state);
    assert_non_null(v1_read(*state, tree, &sample_site, &report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_what_cannot_be_said),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
