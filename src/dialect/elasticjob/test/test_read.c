/* ElasticJob text -> canonical job: programs, resources, environment, volumes, numbers of tasks,
 * and what is refused. */
#include "dialect/elasticjob/test/sample.h"

#include "dialect/elasticjob/extra.h"

static const struct role *worker_of(struct arena *arena, const char *container)
{
    const struct sample s = { .container = container };
    return &sample_job(arena, &s)->roles[0];
}

static void test_commands(void **state)
{
    const struct role *role =
        worker_of(*state, "\"command\": [\"/bin/bash\", \"-c\", \"echo $(hostname) $X\"]");
    assert_string_equal(role->run, "echo $(hostname) $X");
    role = worker_of(*state, "\"command\": [\"python\"], \"args\": [\"a b\", \"\"]");
    assert_null(role->run);
    assert_int_equal(role->argv.n, 3);
    assert_string_equal(role->argv.at[1], "a b");
    assert_string_equal(role->argv.at[2], "");
    role = worker_of(*state, "\"command\": [\"sh\", \"-c\", \"x $(NODE_NUM) 'q'\"]");
    assert_string_equal(role->run, "exec sh -c 'x '\"${NODE_NUM}\"' '\\''q'\\'''");
    role = worker_of(*state, "\"command\": [\"bash\", \"-c\", \"echo $$\"]");
    assert_string_equal(role->run, "exec bash -c 'echo $'");
    role = worker_of(*state, "\"command\": [\"x\"], \"workingDir\": \"/a b\"");
    assert_string_equal(role->run, "cd '/a b' || exit 1\nexec x");
}

static void test_resources(void **state)
{
    const struct role *role = worker_of(
        *state, "\"command\": [\"x\"], \"resources\": {\"requests\": {\"cpu\": \"1500m\", "
                "\"memory\": 1e3}, \"limits\": {\"cpu\": 9, \"ephemeral-storage\": \"1Gi\", "
                "\"nvidia.com/gpu\": 2, \"example.com/a\": 3}}");
    const struct resources *r = &role->resources;
    assert_int_equal(r->cpu_milli, 1500); /* the request, not the limit */
    assert_int_equal(r->memory, 1000);
    assert_int_equal(r->disk, 1ull << 30);
    assert_int_equal(r->gpu_milli, 2000);
    assert_int_equal(r->custom.n, 1);
    assert_string_equal(r->custom.at[0].name, "example.com/a");
    assert_int_equal(r->custom.at[0].milli, 3000);
    role = worker_of(*state, "\"command\": [\"x\"], \"resources\": {\"limits\": "
                             "{\"cpu\": 2, \"koordinator.sh/gpu\": 50}}");
    assert_int_equal(role->resources.cpu_milli, 2000);
    assert_int_equal(role->resources.gpu_milli, 500);
}

static void test_environment(void **state)
{
    const struct role *role = worker_of(
        *state, "\"command\": [\"x\"], \"env\": [{\"name\": \"A\", \"value\": true}, {\"name\": "
                "\"B\"}, {\"name\": \"C\", \"valueFrom\": {\"fieldRef\": {\"fieldPath\": "
                "\"metadata.labels['elasticjob.dlrover/replica-index']\"}}}, {\"name\": "
                "\"NODE_NUM\", \"value\": \"9\"}]");
    assert_string_equal(pairs_get(&role->env, "A"), "true");
    assert_string_equal(pairs_get(&role->env, "B"), "");
    assert_string_equal(pairs_get(&role->env, "C"), "$(NODE_ID)");
    assert_null(pairs_get(&role->env, "NODE_NUM"));
}

static void test_volumes(void **state)
{
    const struct sample s = {
        .pod =
            "\"volumes\": [{\"name\": \"h\", \"hostPath\": {\"path\": \"/mnt\"}}, {\"name\": \"c\", "
            "\"persistentVolumeClaim\": {\"claimName\": \"nas\"}}, {\"name\": \"m\", \"emptyDir\": "
            "{\"medium\": \"Memory\", \"sizeLimit\": \"2Gi\"}}],",
        .container = "\"command\": [\"x\"], \"volumeMounts\": [{\"name\": \"h\", \"mountPath\": "
                     "\"/d\", \"subPath\": \"s\", \"readOnly\": true}, {\"name\": \"c\", "
                     "\"mountPath\": \"/n\"}, {\"name\": \"m\", \"mountPath\": \"/dev/shm\"}]",
    };
    const struct job_spec *job = sample_job(*state, &s);
    assert_int_equal(job->inputs.n_data, 2);
    assert_string_equal(job->inputs.data[0].from, "/mnt/s");
    assert_string_equal(job->inputs.data[0].at, "/d");
    assert_true(job->inputs.data[0].read_only);
    assert_string_equal(job->inputs.data[1].from, "pvc://lab/nas");
    assert_int_equal(job->roles[0].resources.shm, 2ull << 30);
}

static void test_strategies(void **state)
{
    static const struct {
        const char *written, *read;
        size_t said;
    } rows[] = {
        { "AllreduceStrategy", "AllreduceStrategy", 0 },
        { "AllReduceStrategy", "AllreduceStrategy", 1 },
        { "ring-allreduce", "AllreduceStrategy", 1 },
        { "", "ParameterServerStrategy", 0 },
        { "parameter_server", "ParameterServerStrategy", 1 },
        { "CustomStrategy", "CustomStrategy", 1 },
        { "Local", "Local", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct sample s = { .strategy = rows[i].written };
        struct report report;
        const struct job_spec *job = sample_read(*state, sample_text(*state, &s), &report);
        assert_non_null(job);
        assert_string_equal(ej_extra_text(job, "strategy"), rows[i].read);
        assert_int_equal(report.n, rows[i].said);
    }
}

static void test_restart_count(void **state)
{
    static const struct {
        const char *worker;
        uint32_t retries;
    } rows[] = { { "", 3 }, { "\"restartCount\": 0,", 0 }, { "\"restartCount\": 9,", 5 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct sample s = { .worker = rows[i].worker };
        const struct retry *retry = &sample_job(*state, &s)->retry;
        assert_int_equal(retry->unknown.kind, rows[i].retries ? COUNT_NUMBER : COUNT_NEVER);
        assert_int_equal(retry->unknown.n, rows[i].retries);
    }
}

static void test_suspend(void **state)
{
    const struct sample held = { .spec = "\"suspend\": true," };
    const struct sample other = { .spec = "\"suspended\": true," };
    const struct sample both = { .spec = "\"suspend\": false, \"suspended\": true," };
    assert_true(sample_job(*state, &held)->suspend);
    assert_true(sample_job(*state, &other)->suspend);
    assert_false(sample_job(*state, &both)->suspend);
}

static void test_refused(void **state)
{
    static const struct {
        struct sample s;
        const char *said;
    } rows[] = {
        { { .container = "\"image\": \"x\"" }, "has no command" },
        { { .container =
                "\"command\": [\"x\"], \"resources\": {\"limits\": {\"memory\": \"4GiB\"}}" },
          "no quantity" },
        { { .container = "\"command\": [\"x\"], \"resources\": {\"limits\": {\"cpu\": \"-1\"}}" },
          "the least is 0" },
        { { .container = "\"command\": [\"x\"], \"resources\": {\"limits\": {\"gpu\": 1}}" },
          "is no resource" },
        { { .worker = "\"replicass\": 3," }, "unknown field" },
        { { .worker = "\"priority\": \"1.5\"," }, "priority is" },
        { { .strategy = "Allreduce" }, "no strategy" },
        { { .pod = "\"affinity\": {\"nodeAffinity\": {\"requiredDuringScheduling\": 1}}," },
          "not read here" },
        { { .pod = "\"initContainers\": []," }, "not possible" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report report;
        const char *text = sample_text(*state, &rows[i].s);
        assert_null(sample_read(*state, text, &report));
        const struct problem *p = sample_problem(&report, rows[i].said);
        if (!p || p->severity != SEVERITY_ERROR || p->place.line == 0)
            fail_msg("%s: %s", rows[i].said, report.n ? report.at[0].what : "nothing");
    }
}

static void test_documents(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        { "apiVersion: " EJ_API "\nkind: ScalePlan\nmetadata: {name: p}\n", "retired" },
        { "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: " EJ_API
          "\nkind: ElasticJob\n",
          "kind is Service (\"s\")" },
        { "apiVersion: " EJ_API "\nkind: ElasticJob\nmetadata:\nname: x\nspec:\nreplicaSpecs:\n",
          "indentation" },
        { "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n"
          "spec: {minMember: 1}\n",
          "no ElasticJob" },
        { "apiVersion: elastic.iml.github.io/v1\nkind: ElasticJob\n", "apiVersion is" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report report;
        assert_null(sample_read(*state, rows[i].text, &report));
        if (!sample_problem(&report, rows[i].said))
            fail_msg("%s: %s", rows[i].said, report.n ? report.at[0].what : "nothing");
    }
}

static void test_completion(void **state)
{
    const struct sample s = { .strategy = "ParameterServerStrategy",
                              .spec = "\"optimizeMode\": \"manual\"," };
    const struct job_spec *job = sample_job(*state, &s);
    assert_int_equal(job->roles[0].done.failed.n, 1); /* the chief */
    assert_int_equal(job->roles[1].done.failed.kind, COUNT_NEVER);
    assert_int_equal(job->roles[1].done.succeeded.kind, COUNT_NEVER);
    const struct sample all = { .worker = "\"criticalNodes\": \"all\"," };
    assert_int_equal(sample_job(*state, &all)->roles[0].done.failed.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAMPLE_TEST(test_commands),   SAMPLE_TEST(test_resources),  SAMPLE_TEST(test_environment),
        SAMPLE_TEST(test_volumes),    SAMPLE_TEST(test_strategies), SAMPLE_TEST(test_restart_count),
        SAMPLE_TEST(test_suspend),    SAMPLE_TEST(test_refused),    SAMPLE_TEST(test_documents),
        SAMPLE_TEST(test_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
