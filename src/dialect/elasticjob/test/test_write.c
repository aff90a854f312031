/* Canonical jobs as ElasticJobs: names that Kubernetes takes, roles as replica types, dollars that
 * stay dollars. What is written is read back. */
#include "dialect/elasticjob/test/sample.h"

#include "base/buf.h"
#include "dialect/elasticjob/shape.h"
#include "dialect/elasticjob/write.h"

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
    job = ej_shape(a, job, &report);
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

/* Rows: roles as NAME or NAME*N (s: nobody waits for its end), and what they are there. */
static void roles_become_types(void **state)
{
    static const struct {
        struct {
            const char *name;
            uint32_t n;
            bool serves;
        } roles[4];
        const char *there;
    } rows[] = {
        { { { "trainer", 1, false } }, "worker*1 " },
        { { { "evaluator", 1, false } }, "worker*1 " },
        { { { "chief", 1, false } }, "worker*1 " },
        { { { "Worker", 4, false } }, "worker*4 " },
        { { { "master", 1, false }, { "worker", 3, false } }, "worker*4 " },
        { { { "server", 2, true }, { "trainer", 4, false } }, "ps*2 chief*1 worker*3 " },
        { { { "evaluator", 1, false }, { "trainer", 2, false } }, "chief*1 worker*1 evaluator*1 " },
        { { { "ps", 2, true }, { "chief", 1, false }, { "worker", 2, false } },
          "ps*2 chief*1 worker*2 " },
        { { { "ps", 1, true }, { "chief", 1, false } }, "ps*1 chief*1 " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena *a = arena_create();
        struct job_spec *job = make_job(a, "j", "x");
        struct role roles[4];
        AUTO_BUF struct buf there = BUF_INIT(1024);
        job->roles = roles;
        for (job->n_roles = 0; job->n_roles < 4 && rows[i].roles[job->n_roles].name;
             job->n_roles++) {
            struct role *role = &roles[job->n_roles];
            role_init(role);
            role->name = rows[i].roles[job->n_roles].name;
            role->run = rows[i].roles[job->n_roles].serves ? "serve" : "true";
            role->replicas = role->min = rows[i].roles[job->n_roles].n;
            if (rows[i].roles[job->n_roles].serves)
                role->done.succeeded.kind = COUNT_NEVER;
        }
        const struct job_spec *again = back(a, job);
        for (size_t k = 0; k < again->n_roles; k++)
            buf_addf(&there, "%s*%u ", again->roles[k].name, again->roles[k].replicas);
        assert_string_equal(buf_str(&there), rows[i].there);
        arena_destroy(a);
    }
    (void)state;
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
                                        cmocka_unit_test(roles_become_types),
                                        cmocka_unit_test(dollars_stay),
                                        cmocka_unit_test(what_a_pod_needs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
