/* v1 text -> canonical job: every field arrives where doc/dialect-openpai.md says, defaults too.
 * What is refused has its place, and the canonical tree says all of it. */
#include "dialect/openpai/v1.h"

#include "dialect/openpai/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char full[] =
    "{\n"
    "  // a comment\n"
    "  \"jobName\": \"digits\", \"image\": \"img/pytorch\",\n"
    "  \"authFile\": \"$PAI_DEFAULT_FS_URI/auth/$PAI_USERNAME\",\n"
    "  \"dataDir\": \"$PAI_DEFAULT_FS_URI/$PAI_USER_NAME/data\",\n"
    "  \"outputDir\": \"$PAI_DEFAULT_FS_URI/out/$PAI_JOB_NAME\",\n"
    "  \"codeDir\": \"./code\", /* relative */\n"
    "  \"virtualCluster\": \"vision\",\n"
    "  \"taskRoles\": [\n"
    "    {\"name\": \"ps\", \"taskNumber\": 2, \"cpuNumber\": 2, \"memoryMB\": 8192,\n"
    "     \"portList\": [{\"label\": \"web\", \"beginAt\": 8080, \"portNumber\": 2},\n"
    "                  {\"label\": \"ssh\", \"beginAt\": 0, \"portNumber\": 1}],\n"
    "     \"command\": \"python ps.py\", \"minFailedTaskCount\": null},\n"
    "    {\"name\": \"worker\", \"taskNumber\": 3, \"cpuNumber\": 4, \"memoryMB\": 16384, \"shmMB\": 128,\n"
    "     \"gpuNumber\": 2, \"command\": \"python worker.py\", \"minFailedTaskCount\": 2,\n"
    "     \"minSucceededTaskCount\": 3},\n"
    "  ],\n"
    "  \"gpuType\": \"K80, P100\", \"retryCount\": 3,\n"
    "  \"jobEnvs\": {\"batch\": 32, \"rate\": 0.10, \"model\": \"resnet\", \"isDebug\": true, \"o\": {\"a\": [1]}},\n"
    "  \"extras\": {\"tag\": {\"x\": 1}}\n"
    "}\n";

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

static struct job_spec *read_full(struct arena *arena)
{
    struct report report;
    struct job_spec *job = sample_read(arena, full, &report);
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    return job;
}

static void test_job_fields(void **state)
{
    const struct job_spec *job = read_full(*state);
    assert_string_equal(job->name, "digits");
    assert_string_equal(job->queue, "vision");
    assert_string_equal(job->output, "file:///fs/out/digits");
    assert_string_equal(job->inputs.code.dir, "./code");
    assert_int_equal(job->inputs.code.limit, 200000000);
    assert_string_equal(job->inputs.registry_auth, "file:///fs/auth/ada");
    assert_int_equal(job->inputs.n_data, 0); /* dataDir is exported, never mounted */
    assert_int_equal(job->conventions.n, 1);
    assert_string_equal(job->conventions.at[0], "openpai-v1");
    assert_true(job->health.debug_hold);
    const struct text_node *ours = text_get(job->extra, "openpai");
    assert_string_equal(text_get(ours, "dataDir")->str, "file:///fs/ada/data");
    assert_int_equal(text_get(text_get(text_get(ours, "extras"), "tag"), "x")->integer, 1);
}

static void test_role_fields(void **state)
{
    const struct job_spec *job = read_full(*state);
    assert_int_equal(job->n_roles, 2);
    const struct role *ps = &job->roles[0], *worker = &job->roles[1];
    assert_string_equal(ps->name, "ps");
    assert_int_equal(ps->replicas, 2);
    assert_int_equal(ps->min, 2);
    assert_string_equal(ps->run, "python ps.py");
    assert_string_equal(ps->image, "img/pytorch");
    assert_int_equal(ps->resources.cpu_milli, 2000);
    assert_int_equal(ps->resources.memory, 8192ull << 20);
    assert_int_equal(ps->resources.shm, 64ull << 20);
    assert_int_equal(ps->resources.gpu_milli, 0);
    assert_int_equal(ps->resources.gpu_types.n, 0); /* asks for no GPU: any node */
    assert_int_equal(ps->done.failed.kind, COUNT_NEVER);
    assert_int_equal(ps->done.succeeded.kind, COUNT_ALWAYS);
    assert_int_equal(worker->resources.shm, 128ull << 20);
    assert_int_equal(worker->resources.gpu_milli, 2000);
    assert_int_equal(worker->resources.gpu_types.n, 2);
    assert_string_equal(worker->resources.gpu_types.at[0], "K80");
    assert_string_equal(worker->resources.gpu_types.at[1], "P100");
    assert_int_equal(worker->done.failed.kind, COUNT_NUMBER);
    assert_int_equal(worker->done.failed.n, 2);
    assert_int_equal(worker->done.succeeded.kind, COUNT_NUMBER);
    assert_int_equal(worker->done.succeeded.n, 3);
}

static void test_ports(void **state)
{
    const struct job_spec *job = read_full(*state);
    const struct role *ps = &job->roles[0], *worker = &job->roles[1];
    assert_int_equal(ps->n_ports, 3);
    assert_string_equal(ps->ports[0].label, "web");
    assert_int_equal(ps->ports[0].first, 8080);
    assert_int_equal(ps->ports[0].count, 2);
    assert_string_equal(ps->ports[1].label, "ssh");
    assert_string_equal(ps->ports[2].label, "http");
    assert_int_equal(worker->n_ports, 2);
    assert_string_equal(worker->ports[0].label, "http");
    assert_string_equal(worker->ports[1].label, "ssh");
    assert_int_equal(worker->ports[1].count, 1);
    assert_int_equal(worker->ports[1].first, 0);
}

static void test_env(void **state)
{
    const struct job_spec *job = read_full(*state);
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct pairs *env = &job->roles[i].env;
        assert_int_equal(env->n, 5);
        assert_string_equal(env->at[0].name, "batch"); /* in order */
        assert_string_equal(pairs_get(env, "batch"), "32");
        assert_string_equal(pairs_get(env, "rate"), "0.10"); /* as written */
        assert_string_equal(pairs_get(env, "model"), "resnet");
        assert_string_equal(pairs_get(env, "isDebug"), "true");
        assert_non_null(strchr(pairs_get(env, "o"), '['));
    }
}

#define SMALL(more)                                                                                \
    "{\"jobName\": \"j\", \"image\": \"i\"" more                                                   \
    ", \"taskRoles\": [{\"name\": \"m\", \"command\": \"true\"}]}"

static void test_retry(void **state)
{
    const struct count always = { .kind = COUNT_ALWAYS }, never = { .kind = COUNT_NEVER };
    const struct count two = { .kind = COUNT_NUMBER, .n = 2 };
    const struct {
        const char *text;
        struct count unknown, user, success;
        bool for_ever;
    } rows[] = {
        { .text = SMALL(""), .unknown = never, .user = never, .success = never },
        { .text = SMALL(", \"retryCount\": 0"), .unknown = never, .user = never, .success = never },
        { .text = SMALL(", \"retryCount\": 2"), .unknown = two, .user = never, .success = never },
        { .text = SMALL(", \"retryCount\": -1"),
          .unknown = always,
          .user = never,
          .success = never,
          .for_ever = true },
        { .text = SMALL(", \"retryCount\": -2"),
          .unknown = always,
          .user = always,
          .success = always,
          .for_ever = true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report report;
        const struct job_spec *job = sample_read(*state, rows[i].text, &report);
        assert_non_null(job);
        const struct retry *retry = &job->retry;
        assert_int_equal(retry->scope, RETRY_SCOPE_JOB);
        assert_int_equal(retry->conflict.kind, COUNT_ALWAYS);
        assert_int_equal(retry->platform.kind, rows[i].for_ever ? COUNT_ALWAYS : COUNT_NUMBER);
        assert_false(retry->platform_counted);
        assert_int_equal(retry->unknown.kind, rows[i].unknown.kind);
        assert_int_equal(retry->unknown.n, rows[i].unknown.n);
        assert_int_equal(retry->user.kind, rows[i].user.kind);
        assert_int_equal(retry->success.kind, rows[i].success.kind);
    }
}

static void test_defaults(void **state)
{
    struct report report;
    const struct job_spec *job =
        sample_read(*state, SMALL(", \"codeDir\": \"\", \"outputDir\": \"\""), &report);
    assert_non_null(job);
    assert_string_equal(job->output, "file:///fs/Output/ada/j");
    assert_null(job->inputs.code.dir);
    assert_int_equal(job->inputs.code.limit, 0);
    assert_null(job->inputs.registry_auth);
    assert_null(job->extra);
    assert_false(job->health.debug_hold);
    assert_int_equal(job->roles[0].done.failed.kind, COUNT_NUMBER);
    assert_int_equal(job->roles[0].done.failed.n, 1);
    const struct job_spec *fresh = job_new(*state);
    assert_true(!job->queue == !fresh->queue); /* the server's default */
}

static void test_output_root_with_slash(void **state)
{
    struct report report;
    const struct site site = { .owner = "ada", .fs_uri = "file:///fs/" };
    report_init(&report, *state);
    const struct text_node *root = sample_tree(*state, SMALL(""), &report);
    const struct job_spec *job = v1_read(*state, root, &site, &report);
    assert_non_null(job);
    assert_string_equal(job->output, "file:///fs/Output/ada/j");
}

static void test_gpu_type_without_gpus(void **state)
{
    struct report report;
    const struct job_spec *job = sample_read(*state, SMALL(", \"gpuType\": \"K80\""), &report);
    assert_non_null(job);
    assert_int_equal(job->roles[0].resources.gpu_types.n, 0);
    assert_string_equal(text_get(text_get(job->extra, "openpai"), "gpuType")->str, "K80");
}

static void test_refused(void **state)
{
    struct report report;
    assert_null(sample_read(*state, SMALL(", \"retryCount\": -3"), &report));
    assert_false(report_ok(&report));
}

static void test_substitution(void **state)
{
    static const struct {
        const char *text, *result;
    } rows[] = {
        { .text = "$PAI_DEFAULT_FS_URI/a", .result = "file:///fs/a" },
        { .text = "$PAI_DEFAULT_FS_URIx$PAI_DEFAULT_FS_URI",
          .result = "file:///fsx$PAI_DEFAULT_FS_URI" },
        { .text = "$PAI_JOB_NAME/$PAI_JOB_NAME-$PAI_JOB_NAMEs", .result = "j/j-$PAI_JOB_NAMEs" },
        { .text = "$PAI_USER_NAME.$PAI_USERNAME", .result = "ada.ada" },
        { .text = "$PAI_USERNAME_x $PAI_USER_NAME2", .result = "$PAI_USERNAME_x $PAI_USER_NAME2" },
        { .text = "${PAI_JOB_NAME} $HOME $", .result = "${PAI_JOB_NAME} $HOME $" },
        { .text = "", .result = "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(dialect_substitute(*state, rows[i].text, "j", &sample_site),
                            rows[i].result);
    assert_string_equal(dialect_substitute(*state, "$PAI_USER_NAME $PAI_JOB_NAME", "j", NULL),
                        "$PAI_USER_NAME j");
}

/* What a server keeps is the canonical tree: it must say all of it. */
static void test_survives_encoding(void **state)
{
    const struct job_spec *job = read_full(*state);
    struct report report;
    report_init(&report, *state);
    const struct text_node *tree = job_encode(*state, job);
    const struct job_spec *again = job_decode(*state, tree, &report);
    if (!again)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    assert_true(text_equal(tree, job_encode(*state, again)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_fields),
        cmocka_unit_test(test_role_fields),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_output_root_with_slash),
        cmocka_unit_test(test_gpu_type_without_gpus),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_substitution),
        cmocka_unit_test(test_survives_encoding),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
