/* The environment of pods: names and numbers over a relaunch, both strategies, $(NAME). Every
 * variable is on the list that the page shows. */
#include "dialect/elasticjob/test/sample.h"

#include "dialect/elasticjob/env.h"

static const char *value(struct arena *arena, const struct job_spec *job,
                         const struct job_place *place, uint32_t flat, const char *name)
{
    struct pairs env = { .n = 0 };
    ej_env(arena, job, place, flat, &sample_site, &env);
    return pairs_get(&env, name);
}

static void test_ring(void **state)
{
    const struct sample s = { .worker = "" };
    const struct job_spec *job = sample_job(*state, &s);
    struct job_place *place = sample_place(*state, job);
    assert_string_equal(value(*state, job, place, 2, "POD_NAME"), "job-edljob-worker-2");
    assert_string_equal(value(*state, job, place, 2, "POD_IP"), "127.0.1.3");
    assert_string_equal(value(*state, job, place, 2, "NODE_NUM"), "4");
    assert_string_equal(value(*state, job, place, 2, "WORKER_RANK"), "2");
    assert_string_equal(value(*state, job, place, 2, "RANK"), "2");
    assert_string_equal(value(*state, job, place, 2, "WORLD_SIZE"), "4");
    assert_string_equal(value(*state, job, place, 0, "DLROVER_MASTER_ADDR"),
                        "elasticjob-job-dlrover-master:50001");
    assert_null(value(*state, job, place, 0, "TF_CONFIG"));
    place->tasks[1].attempt = 3; /* the number grows, the rank stays */
    assert_string_equal(value(*state, job, place, 1, "POD_NAME"), "job-edljob-worker-9");
    assert_string_equal(value(*state, job, place, 1, "NODE_ID"), "9");
    assert_string_equal(value(*state, job, place, 1, "NODE_RANK"), "1");
}

static void test_every_variable_is_listed(void **state)
{
    static const char *const strategies[] = { "AllreduceStrategy", "ParameterServerStrategy" };
    for (size_t i = 0; i < 2; i++) {
        const struct sample s = { .strategy = strategies[i] };
        const struct job_spec *job = sample_job(*state, &s);
        struct pairs env = { .n = 0 };
        ej_env(*state, job, sample_place(*state, job), 0, &sample_site, &env);
        assert_true(env.n >= 17);
        for (size_t k = 0; k < env.n; k++)
            assert_true(ej_own_variable(env.at[k].name));
    }
}

static void test_servers(void **state)
{
    const struct sample s = { .strategy = "ParameterServerStrategy" };
    const struct job_spec *job = sample_job(*state, &s);
    const struct job_place *place = sample_place(*state, job);
    assert_int_equal(job->n_roles, 2); /* one of the four workers is the chief */
    assert_string_equal(job->roles[0].name, "chief");
    assert_int_equal(job->roles[1].replicas, 3);
    assert_string_equal(value(*state, job, place, 0, "NODE_NUM"), "4");
    assert_string_equal(value(*state, job, place, 1, "NODE_TYPE"), "worker");
    assert_string_equal(value(*state, job, place, 2, "TF_CONFIG"),
                        "{\"cluster\":{\"chief\":[\"127.0.1.1:30000\"],\"worker\":[\"127.0.1.2:"
                        "30001\",\"127.0.1.3:30002\",\"127.0.1.4:30003\"]},\"task\":{\"type\":"
                        "\"worker\",\"index\":1}}");
    assert_null(value(*state, job, place, 0, "RANK"));
}

static void test_expansion(void **state)
{
    const struct sample s = { .worker = "" };
    const struct job_spec *job = sample_job(*state, &s);
    const struct dialect_task task = { .job = job, .place = sample_place(*state, job), .flat = 1 };
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "plain", "plain" },
        { "$(A)", "1" },
        { "x$(A)$(B)y", "x12y" },
        { "$$(A)", "$(A)" },
        { "$$$(A)", "$1" },
        { "$(C)", "$(C)" },
        { "$(A", "$(A" },
        { "$A ${A}", "$A ${A}" },
        { "$", "$" },
        { "$(spec.nodeName)", "n1" },
        { "$()", "$()" },
        { "$$", "$" },
        { "$(metadata.relaunched)", "0" },
    };
    struct pairs known = { .n = 0 };
    pairs_set(&known, *state, "A", "1");
    pairs_set(&known, *state, "B", "2");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(ej_expand(*state, &task, &known, rows[i].in), rows[i].out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAMPLE_TEST(test_ring),
        SAMPLE_TEST(test_every_variable_is_listed),
        SAMPLE_TEST(test_servers),
        SAMPLE_TEST(test_expansion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
