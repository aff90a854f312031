/* Canonical jobs as ElasticJobs. */
#include "dialect/elasticjob/test/sample.h"

static struct job_spec *make_job(struct arena *a, const char *name, const char *role)
{
    struct job_spec *job = job_new(a);
    job->name = name;
    job->n_roles = 1;
    job->roles = ARENA_ARRAY(a, 1, struct role);
    role_init(&job->roles[0]);
    job->roles[0].name = role;
    job->roles[0].run = "true";
    return job;
}

static struct job_spec *back(struct arena *a, const struct job_spec *job)
{
    struct report report;
    report_init(&report, a);
    struct job_spec *again = ej_read(a, ej_write(a, job, &report), &sample_site, &report);
    if (!again)
        fail_msg("%s", report.n ? report.at[0].what : "refused");
    return again;
}

static void names_are_those_of_kubernetes(void **state)
{
    static const char *const rows[][2] = {
        { "plain-1", "plain-1" },
        { "My_Job.2", "my-job.2" },
        { "~x", "x" },
        { "作业", "job" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena *a = arena_create();
        assert_string_equal(back(a, make_job(a, rows[i][0], "worker"))->name, rows[i][1]);
        arena_destroy(a);
    }
}

static void the_first_role_works(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = back(a, make_job(a, "j", "trainer"));
    (void)state;
    assert_int_equal(job->n_roles, 1);
    assert_string_equal(job->roles[0].name, "worker");
    job = make_job(a, "j", "evaluator");
    struct role both[] = { job->roles[0], job->roles[0] };
    assert_int_equal(back(a, job)->n_roles, 1);
    both[1].name = "trainer";
    job->roles = both;
    job->n_roles = 2;
    assert_int_equal(back(a, job)->n_roles, 2);
    assert_non_null(job_role(back(a, job), "evaluator", NULL));
    arena_destroy(a);
}

static void dollars_stay(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = make_job(a, "j", "worker");
    const char *words[] = { "echo", "$(UNKNOWN) $HOME" };
    (void)state;
    job->roles[0].run = "echo $(date) $HOME";
    assert_string_equal(back(a, job)->roles[0].run, "echo $(date) $HOME");
    job->roles[0].run = NULL;
    job->roles[0].argv = (struct words){ .at = words, .n = 2 };
    assert_string_equal(back(a, job)->roles[0].argv.at[1], "$(UNKNOWN) $HOME");
    /* $(POD_NAME) would be replaced there: the text that comes back does not. */
    job->roles[0].argv = (struct words){ .n = 0 };
    job->roles[0].run = "echo $(POD_NAME) $$";
    assert_string_equal(back(a, job)->roles[0].run, "exec bash -c 'echo $(POD_NAME) $$'");
    arena_destroy(a);
}

static void what_a_pod_needs(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = make_job(a, "j", "worker");
    struct mount data[] = { { .from = "/srv/a", .at = "/a", .read_only = true },
                            { .from = "pvc://lab/nas", .at = "/b" },
                            { .from = "oss://x", .at = "/c" } };
    (void)state;
    job->project = "lab";
    job->inputs.data = data;
    job->inputs.n_data = 3;
    job->roles[0].resources = (struct resources){ .cpu_milli = 1500,
                                                  .memory = 3ull << 30,
                                                  .disk = 1ull << 30,
                                                  .shm = 1ull << 29,
                                                  .gpu_milli = 500 };
    const struct job_spec *again = back(a, job);
    const struct resources *r = &again->roles[0].resources;
    assert_int_equal(r->cpu_milli, 1500);
    assert_true(r->memory == 3ull << 30 && r->disk == 1ull << 30 && r->shm == 1ull << 29);
    assert_int_equal(r->gpu_milli, 500);
    assert_int_equal(again->inputs.n_data, 2);
    assert_string_equal(again->inputs.data[1].from, "pvc://lab/nas");
    assert_true(again->inputs.data[0].read_only);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_those_of_kubernetes),
                                        cmocka_unit_test(the_first_role_works),
                                        cmocka_unit_test(dollars_stay),
                                        cmocka_unit_test(what_a_pod_needs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
