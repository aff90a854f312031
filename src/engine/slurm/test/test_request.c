/* What is asked of Slurm for a job: how many nodes with what, for how long, in which partition; and
 * what is refused before Slurm is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/request.h"

#include "job/job.h"

#include <string.h>

#define GIB   (UINT64_C(1) << 30)
#define AGENT (UINT64_C(128) << 20)

static const char sinfo[] = "main*@8@16000@up@infinite@4@(null)@n[1-3],big\n"
                            "gpu@64+@512000@up@1-00:00:00@16@gpu:a100:8(S:0-1)\n"
                            "gpu@16@64000@up@1-00:00:00@2@(null)\n";

static int set_up(void **state)
{
    *state = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

static struct job_spec *job_of(struct arena *arena, size_t roles)
{
    static const char *const names[] = { "a", "b", "c" };
    struct job_spec *job = job_new(arena);
    job->roles = ARENA_ARRAY(arena, roles, struct role);
    job->n_roles = roles;
    for (size_t i = 0; i < roles; i++) {
        role_init(&job->roles[i]);
        job->roles[i].name = names[i];
    }
    return job;
}

static void set_role(struct role *role, uint32_t n, uint64_t cpu, uint64_t memory, uint64_t gpu)
{
    role->replicas = role->min = n;
    role->resources.cpu_milli = cpu * 1000;
    role->resources.memory = memory;
    role->resources.gpu_milli = gpu * 1000;
}

static struct pilot_ask ask_for(struct arena *arena, const struct job_spec *job)
{
    struct pilot_ask ask;
    struct err err = { .what = "" };
    assert_int_equal(slurm_make_request(arena, job, sinfo, &ask, &err), 0);
    return ask;
}

/* 7 of 3 CPUs, where a node has 8: two to a node. */
static void tasks_share_nodes(void **state)
{
    struct job_spec *job = job_of(*state, 1);
    set_role(&job->roles[0], 7, 3, GIB, 0);
    struct pilot_ask ask = ask_for(*state, job);
    assert_int_equal(ask.nodes, 4);
    assert_int_equal(ask.least, 4);
    assert_int_equal(ask.cpus, 6);
    assert_int_equal(ask.memory, 2 * GIB + AGENT);
    assert_int_equal(ask.time_ms, 0);
    assert_string_equal(ask.partition, "");
    set_role(&job->roles[0], 2, 3, 0, 0);
    job->placing.apart = (struct words){ .at = (const char *[]){ "a" }, .n = 1 };
    ask = ask_for(*state, job);
    assert_int_equal(ask.nodes, 2);
    assert_int_equal(ask.cpus, 3);
    assert_int_equal(ask.memory, 0);
    assert_int_equal(pilot_check_ask(&ask, NULL), 0);
}

static void roles_are_put_together(void **state)
{
    struct job_spec *job = job_of(*state, 2);
    job->queue = "gpu";
    set_role(&job->roles[0], 1, 1, GIB, 0); /* it leads */
    set_role(&job->roles[1], 2, 60, 400 * GIB, 8);
    struct pilot_ask ask = ask_for(*state, job);
    assert_string_equal(ask.partition, "gpu"); /* a queue that Slurm has */
    assert_int_equal(ask.nodes, 2);
    assert_int_equal(ask.gpus, 8);
    assert_int_equal(ask.cpus, 61);
    job->queue = "team";
    job->placing.together = &(struct colocate){ .roles = { (const char *[]){ "a", "b" }, 2 } };
    job->placing.n_together = 1;
    pairs_set(&job->placing.labels, *state, "slurm/partition", "gpu");
    pairs_set(&job->placing.labels, *state, "slurm/qos", "high");
    ask = ask_for(*state, job);
    assert_string_equal(ask.partition, "gpu");
    assert_int_equal(ask.nodes, 2);
    assert_int_equal(ask.flags.n, 1);
    assert_string_equal(ask.flags.at[0], "--qos=high");
}

/* As long as it may run and end; spares are asked for, what it can grow by too. */
static void times_and_elastic_roles(void **state)
{
    struct job_spec *job = job_of(*state, 1);
    set_role(&job->roles[0], 3, 8, 0, 0);
    job->limits.run_time_ms = (struct opt_u64){ true, 600000 };
    job->limits.grace_ms = 30000;
    job->roles[0].min = 2;
    struct pilot_ask ask = ask_for(*state, job);
    assert_int_equal(ask.nodes, 3);
    assert_int_equal(ask.least, 2);
    assert_true(ask.time_ms > 630000 && ask.time_ms < 900000);
    job->roles[0].spares = 1;
    assert_int_equal(ask_for(*state, job).least, 3);
    pairs_set(&job->placing.labels, *state, "slurm/partition", "gpu");
    job->limits.run_time_ms.value = 86400000;
    assert_int_equal(ask_for(*state, job).time_ms, 86400000); /* more the partition has not */
}

static void what_is_not_there_is_refused(void **state)
{
    struct job_spec *job = job_of(*state, 1);
    struct pilot_ask ask;
    struct err err;
    set_role(&job->roles[0], 5, 8, 0, 0);
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_string_equal(err.what,
                        "it needs 5 nodes with 8 CPUs and 0 GPUs each, and partition main "
                        "of Slurm has 4");
    set_role(&job->roles[0], 1, 8, 0, 2);
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_non_null(strstr(err.what, "2 GPUs on a node, and no node of partition main has them"));
    pairs_set(&job->placing.labels, *state, "slurm/partition", "nope");
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_string_equal(err.what, "Slurm has no partition \"nope\"");
    assert_non_null(strstr(err.hint, "slurm/partition"));
    assert_int_equal(slurm_make_request(*state, job, NULL, &ask, &err), 0); /* Slurm says so */
    assert_int_equal(ask.nodes, 1);
}

/* A batch script without a number of cores: nodes come whole, as large as Slurm has them. */
static void exclusive_scripts_get_whole_nodes(void **state)
{
    struct job_spec *job = job_of(*state, 1);
    struct pilot_ask ask;
    struct err err;
    set_role(&job->roles[0], 2, 0, 0, 0);
    job->placing.spread = (struct words){ .at = (const char *[]){ "a" }, .n = 1 };
    assert_int_equal(ask_for(*state, job).cpus, 1); /* of any other job it is not said */
    job->conventions = (struct words){ .at = (const char *[]){ "sbatch" }, .n = 1 };
    ask = ask_for(*state, job);
    assert_int_equal(ask.nodes, 2);
    assert_int_equal(ask.cpus, 0);
    assert_int_equal(ask.memory, 0);
    set_role(&job->roles[0], 2, 0, 8 * GIB, 0);
    assert_int_equal(ask_for(*state, job).memory, 0); /* all of it, so that that much is there */
    assert_int_equal(pilot_check_ask(&ask, NULL), 0);
    set_role(&job->roles[0], 5, 0, 0, 0);
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_string_equal(err.what, "it needs 5 whole nodes with 0 GPUs each, and partition main of "
                                  "Slurm has 4");
    set_role(&job->roles[0], 2, 1, 0, 0); /* -n without --exclusive */
    assert_int_equal(ask_for(*state, job).cpus, 1);
}

static void types_of_gpus_are_told(void **state)
{
    struct job_spec *job = job_of(*state, 2);
    struct pilot_ask ask;
    struct err err;
    job->queue = "gpu";
    set_role(&job->roles[0], 1, 1, 0, 0);
    set_role(&job->roles[1], 2, 8, 0, 8);
    job->roles[1].resources.gpu_types =
        (struct words){ .at = (const char *[]){ "A100-SXM4-80GB" }, .n = 1 };
    assert_string_equal(ask_for(*state, job).gpu_type, "a100");
    job->roles[1].resources.gpu_types.at[0] = "h100";
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_string_equal(err.what,
                        "it needs 8 GPUs h100 on a node, and those of partition gpu are a100");
    job->conventions = (struct words){ .at = (const char *[]){ "sbatch" }, .n = 1 };
    pairs_set(&job->labels, *state, "constraint", "H100"); /* a feature of nodes */
    ask = ask_for(*state, job);
    assert_string_equal(ask.gpu_type, "");
    assert_int_equal(ask.flags.n, 1);
    assert_string_equal(ask.flags.at[0], "--constraint=H100");
    set_role(&job->roles[0], 1, 1, 0, 1); /* any will do for it: nodes are alike */
    job->roles[1].resources.gpu_types.at[0] = "a100";
    assert_string_equal(ask_for(*state, job).gpu_type, "");
}

static void nodes_are_excluded(void **state)
{
    struct job_spec *job = job_of(*state, 1);
    struct err err;
    set_role(&job->roles[0], 2, 1, 0, 0);
    job->placing.nodes = (struct words){ .at = (const char *[]){ "n1", "big", "n2" }, .n = 3 };
    job->placing.avoid = (struct words){ .at = (const char *[]){ "n2" }, .n = 1 };
    struct pilot_ask ask = ask_for(*state, job);
    assert_int_equal(ask.flags.n, 1);
    assert_string_equal(ask.flags.at[0], "--exclude=n[2-3]");
    assert_int_equal(ask.nodes, 1);
    assert_int_equal(pilot_check_ask(&ask, NULL), 0);
    set_role(&job->roles[0], 3, 1, 0, 0); /* spread over more nodes than it may use */
    job->placing.spread = (struct words){ .at = (const char *[]){ "a" }, .n = 1 };
    assert_int_equal(slurm_make_request(*state, job, sinfo, &ask, &err), -1);
    assert_string_equal(err.what, "it needs 3 nodes, and may use 2 of partition main of Slurm");
    job->roles[0].min = 1; /* it makes do with fewer */
    assert_int_equal(ask_for(*state, job).nodes, 2);
    job->placing.nodes = (struct words){ .n = 0 };
    job->placing.avoid.at[0] = "elsewhere"; /* Slurm refuses names that it does not know */
    assert_int_equal(ask_for(*state, job).flags.n, 0);
    job->queue = "gpu"; /* sinfo did not say which nodes that has */
    job->placing.avoid.at[0] = "g1";
    assert_int_equal(ask_for(*state, job).flags.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tasks_share_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(roles_are_put_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_and_elastic_roles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exclusive_scripts_get_whole_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_are_excluded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_of_gpus_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine/slurm/request", tests, NULL, NULL);
}
