/* A job of a batch script that came in another format: roles of different sizes are nodes of one
 * component, the script is found again. */
#include "dialect/sbatch/batch.h"

#include "dialect/sbatch/test/sample.h"
#include "dialect/test/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* "first" with 2 tasks of 4 cores, "more" with 1 of 1 core. */
static struct job_spec *make_job(struct arena *a, struct text_node **parts)
{
    static const char *const names[] = { "first", "more" };
    static const uint32_t tasks[] = { 2, 1 }, cores[] = { 4, 1 };
    struct job_spec *job = job_new(a);
    job->name = "two";
    job->roles = ARENA_ARRAY(a, 2, struct role);
    for (; job->n_roles < 2; job->n_roles++) {
        struct role *role = &job->roles[job->n_roles];
        role_init(role);
        role->name = names[job->n_roles];
        role->replicas = role->min = tasks[job->n_roles];
        role->resources.cpu_milli = cores[job->n_roles] * 1000ull;
        role->ports = ARENA_NEW(a, struct port_request);
        batch_role(role, job->n_roles == 0);
    }
    job->conventions.at = ARENA_ARRAY(a, 1, const char *);
    job->conventions.at[job->conventions.n++] = BATCH_CONVENTION;
    batch_set_script(a, batch_job(a, job, text_map(a, NULL, NULL), parts), "#!/bin/sh\ntrue\n");
    return job;
}

static const char *of_task(struct arena *a, const struct job_spec *job, uint32_t flat,
                           const char *name)
{
    struct pairs env = { .n = 0 };
    const struct site site = { .owner = "ada" };
    sbatch_convention.env(a, job, sample_place(a, job), flat, &site, &env);
    const char *value = pairs_get(&env, name);
    return value ? value : "absent";
}

static void roles_share_the_last_component(void **state)
{
    struct arena *a = arena_create();
    struct text_node *parts;
    struct job_spec *job = make_job(a, &parts);
    (void)state;
    text_int(a, text_map(a, parts, NULL), "tasks", 3);
    assert_string_equal(of_task(a, job, 0, "SLURM_JOB_NODELIST"), "n[1-3]");
    assert_string_equal(of_task(a, job, 0, "SLURM_JOB_CPUS_PER_NODE"), "4(x2),1");
    assert_string_equal(of_task(a, job, 0, "SLURM_TASKS_PER_NODE"), "1(x3)");
    assert_string_equal(of_task(a, job, 0, "SLURM_HET_SIZE"), "absent");
    assert_string_equal(of_task(a, job, 0, "MUSTER_STEP_NODES"),
                        "n1=127.0.1.1:30000,n2=127.0.1.2:30001,n3=127.0.1.3:30002");
    assert_string_equal(of_task(a, job, 2, "SLURM_NODEID"), "2");
    assert_string_equal(of_task(a, job, 2, "SLURM_CPUS_ON_NODE"), "1");
    arena_destroy(a);
}

/* As the dialect's own jobs have it. */
static void a_role_is_a_component_without_parts(void **state)
{
    struct arena *a = arena_create();
    struct text_node *parts;
    struct job_spec *job = make_job(a, &parts);
    (void)state;
    assert_string_equal(of_task(a, job, 0, "SLURM_HET_SIZE"), "2");
    assert_string_equal(of_task(a, job, 0, "SLURM_JOB_NODELIST_HET_GROUP_1"), "n3");
    assert_string_equal(of_task(a, job, 2, "SLURM_NODEID"), "0");
    arena_destroy(a);
}

static void the_script_is_found_again(void **state)
{
    struct arena *a = arena_create();
    struct text_node *parts;
    struct job_spec *job = make_job(a, &parts);
    (void)state;
    assert_string_equal(batch_script(job), "#!/bin/sh\ntrue\n");
    assert_string_equal(job->framework, "slurm");
    assert_int_equal(job->server, SERVER_SUBMIT);
    assert_int_equal(job->roles[0].done.succeeded.kind, COUNT_NUMBER);
    assert_int_equal(job->roles[1].done.succeeded.kind, COUNT_NEVER);
    job->conventions.n = 0;
    assert_null(batch_script(job));
    assert_false(batch_has_options(a, "#!/bin/sh\necho '#SBATCH -n2'\n#SBATCH -n2\n"));
    assert_true(batch_has_options(a, "#!/bin/sh\n#SBATCH -n2\ntrue\n"));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(roles_share_the_last_component),
                                        cmocka_unit_test(a_role_is_a_component_without_parts),
                                        cmocka_unit_test(the_script_is_found_again) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
