/* Canonical jobs as CreateJob bodies: the type that fits framework and roles, names and resources
 * as DLC takes them. What is written is read back. */
#include "dialect/dlc/test/sample.h"

#include "base/mem.h"
#include "dialect/dlc/read.h"
#include "dialect/dlc/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct job_spec *make_job(struct arena *a, const char *const *roles, size_t n)
{
    struct job_spec *job = job_new(a);
    job->name = "j";
    job->roles = ARENA_ARRAY(a, n, struct role);
    for (; job->n_roles < n; job->n_roles++) {
        struct role *role = &job->roles[job->n_roles];
        role_init(role);
        role->name = roles[job->n_roles];
        role->run = "true";
    }
    return job;
}

static struct text_node *written(struct arena *a, const struct job_spec *job)
{
    struct report report;
    report_init(&report, a);
    struct text_node *tree = dlc_write(a, dlc_shape(a, job, &report), &report);
    struct job_spec *back = dlc_read(a, tree, &sample_site, &report);
    if (!back)
        fail_msg("%s", report.n ? report.at[0].what : "refused");
    return tree;
}

static const char *text_at(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    assert_non_null(node);
    return node->str;
}

static void the_type_follows_framework_and_roles(void **state)
{
    static const struct {
        const char *framework, *roles[3], *type;
    } rows[] = {
        { NULL, { "worker" }, "PyTorchJob" },
        { "tensorflow", { "worker" }, "TFJob" },
        { NULL, { "ps", "worker" }, "TFJob" },
        { "mpi", { "master", "worker" }, "MPIJob" },
        { "ray", { "head", "worker-gpu", "worker" }, "RayJob" },
        { "ray", { "trainer" }, "PyTorchJob" },
        { "slurm", { "trainer" }, "SlurmJob" },
        { "xgboost", { "trainer" }, "XGBoostJob" },
        { NULL, { "trainer", "server" }, "SlurmJob" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_create();
        size_t n = 0;
        while (n < 3 && rows[i].roles[n])
            n++;
        struct job_spec *job = make_job(a, rows[i].roles, n);
        job->framework = rows[i].framework;
        assert_string_equal(text_at(written(a, job), "JobType"), rows[i].type);
        arena_destroy(a);
    }
}

static void names_that_are_refused_get_others(void **state)
{
    struct arena *a = arena_create();
    const struct text_node *specs = text_get(
        written(a, make_job(a, (const char *const[]){ "a.b", "Work", "work" }, 3)), "JobSpecs");
    (void)state;
    assert_string_equal(text_at(specs->first, "Type"), "a_b");
    assert_string_equal(text_at(specs->first->next, "Type"), "work-2");
    assert_string_equal(text_at(specs->last, "Type"), "work");
    arena_destroy(a);
}

static void resources_are_what_dlc_takes(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = make_job(a, (const char *const[]){ "worker" }, 1);
    struct resources *r = &job->roles[0].resources;
    (void)state;
    const struct text_node *spec = text_get(written(a, job), "JobSpecs")->first;
    assert_string_equal(text_at(text_get(spec, "ResourceConfig"), "CPU"), "1");
    assert_string_equal(text_at(text_get(spec, "ResourceConfig"), "Memory"), "1Gi");
    *r = (struct resources){ .cpu_milli = 4000, .memory = 16ull << 30 };
    spec = text_get(written(a, job), "JobSpecs")->first;
    assert_string_equal(text_at(spec, "EcsSpec"), "ecs.g6.xlarge");
    job->queue = "quota1";
    *r = (struct resources){
        .cpu_milli = 500, .memory = 2ull << 30, .shm = 3ull << 30, .gpu_milli = 500
    };
    spec = text_get(text_get(written(a, job), "JobSpecs")->first, "ResourceConfig");
    assert_string_equal(text_at(spec, "CPU"), "0.5");
    assert_string_equal(text_at(spec, "GPU"), "1");
    assert_string_equal(text_at(spec, "SharedMemory"), "2Gi");
    arena_destroy(a);
}

static void a_command_of_words_is_quoted(void **state)
{
    struct arena *a = arena_create();
    struct job_spec *job = make_job(a, (const char *const[]){ "worker" }, 1);
    const char *words[] = { "python", "it's.py" };
    (void)state;
    job->roles[0].run = NULL;
    job->roles[0].argv = (struct words){ .at = words, .n = 2 };
    assert_string_equal(text_at(written(a, job), "UserCommand"), "'python' 'it'\\''s.py'");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_type_follows_framework_and_roles),
                                        cmocka_unit_test(names_that_are_refused_get_others),
                                        cmocka_unit_test(resources_are_what_dlc_takes),
                                        cmocka_unit_test(a_command_of_words_is_quoted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
