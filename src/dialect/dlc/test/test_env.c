/* What tasks of each kind of job see. Ports are placed elsewhere than preferred, so that a number
 * that was assumed shows. */
#include "dialect/dlc/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BODY(type, specs, more)                                                                    \
    "{\"DisplayName\": \"j\", \"ResourceId\": \"q\", \"UserCommand\": \"true\", "                  \
    "\"JobType\": \"" type "\", \"JobSpecs\": [" specs "]" more "}"
#define SPEC(type, pods, gpus)                                                                     \
    "{\"Type\": \"" type "\", \"PodCount\": " pods                                                 \
    ", \"ResourceConfig\": {\"CPU\": \"4\", \"GPU\": \"" gpus "\"}}"

struct row {
    const char *text;
    uint32_t flat;
    const char *name, *value; /* NULL: not set */
};

static const struct row rows[] = {
    /* worker 0 is the master, the world counts nodes */
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 0, "RANK", "0" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "RANK", "2" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "WORLD_SIZE", "3" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "MASTER_ADDR", "127.0.1.1" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "MASTER_PORT", "30000" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "PET_MASTER_PORT", "30000" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 2, "NPROC_PER_NODE", "2" },
    { BODY("PyTorchJob", SPEC("Worker", "1", "0"), ""), 0, "NPROC_PER_NODE", "1" },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 0, "JOB_NAME", NULL },
    { BODY("PyTorchJob", SPEC("Worker", "3", "2"), ""), 0, "CUSTOM_PORTS", NULL },
    /* a master that is listed last is first all the same */
    { BODY("PyTorchJob", SPEC("Worker", "1", "0") "," SPEC("Master", "1", "4"), ""), 0,
      "NPROC_PER_NODE", "4" },
    { BODY("PyTorchJob", SPEC("Worker", "1", "0"),
           ", \"Settings\": {\"AdvancedSettings\": {\"customPortNumPerWorker\": \"3\"}}"),
      0, "CUSTOM_PORTS", "30001;30002;30003" },
    { BODY("PyTorchJob", SPEC("Worker", "1", "0"),
           ", \"Settings\": {\"AdvancedSettings\": {\"customPortList\": \"7;10-12;\"}}"),
      0, "CUSTOM_PORTS", "7;10;11;12" },
    { BODY("XGBoostJob", SPEC("Worker", "2", "0"), ""), 1, "MASTER_ADDR", "127.0.1.1" },
    { BODY("OneFlowJob", SPEC("Worker", "2", "0"), ""), 1, "RANK", "1" },
    { BODY("ElasticBatchJob", SPEC("Worker", "2", "0"), ""), 1, "RANK", "1" },
    { BODY("ElasticBatchJob", SPEC("Worker", "2", "0"), ""), 1, "MASTER_ADDR", NULL },
    { BODY("TFJob",
           SPEC("Worker", "1", "0") "," SPEC("Chief", "1", "0") "," SPEC("Evaluator", "1", "0"),
           ""),
      1, "TF_CONFIG",
      "{\"cluster\":{\"chief\":[\"127.0.1.1:30000\"],\"worker\":[\"127.0.1.2:30001\"]},"
      "\"task\":{\"type\":\"worker\",\"index\":0},\"environment\":\"cloud\"}" },
    { BODY("TFJob", SPEC("PS", "1", "0") "," SPEC("Evaluator", "1", "0"), ""), 1, "TF_CONFIG",
      "{\"cluster\":{\"ps\":[\"127.0.1.1:30000\"]},"
      "\"task\":{\"type\":\"evaluator\",\"index\":0},\"environment\":\"cloud\"}" },
    { BODY("MPIJob", SPEC("Worker", "2", "1"), ""), 0, "OMPI_MCA_orte_default_hostfile",
      "/etc/mpi/hostfile" },
    { BODY("MPIJob", SPEC("Worker", "2", "1"), ""), 1, "OMPI_MCA_orte_default_hostfile", NULL },
    { BODY("MPIJob", SPEC("Worker", "1", "1"), ""), 0, "OMPI_MCA_orte_default_hostfile", NULL },
    { BODY("MPIJob", SPEC("Worker", "2", "1"), ""), 1, "TMPDIR", "/etc/mpi/tmp" },
    { BODY("MPIJob", SPEC("Worker", "1", "1"), ""), 0, "TMPDIR", NULL },
    { BODY("RayJob", SPEC("Worker", "1", "0") "," SPEC("Head", "1", "0"), ""), 1, "MASTER_PORT",
      "30000" },
    { BODY("RayJob", SPEC("Worker", "1", "0") "," SPEC("Head", "1", "0"), ""), 1,
      "RAY_DASHBOARD_PORT", "30001" },
    /* the other convention of such a job has these */
    { BODY("SlurmJob", SPEC("Worker", "2", "2"), ""), 1, "SLURM_NODEID", NULL },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena *arena = arena_create();
        struct report report;
        struct pairs env = { .n = 0 };
        const struct job_spec *job = sample_read(arena, rows[i].text, &report);
        if (!job)
            fail_msg("row %zu: %s", i, report.n ? report.at[0].what : "no job");
        const struct job_place *place = sample_place(arena, job);
        dlc_convention.env(arena, job, place, rows[i].flat, &sample_site, &env);
        const char *value = pairs_get(&env, rows[i].name);
        if ((value == NULL) != (rows[i].value == NULL) ||
            (value && strcmp(value, rows[i].value) != 0))
            fail_msg("row %zu: %s is %s, not %s", i, rows[i].name, value ? value : "(not set)",
                     rows[i].value ? rows[i].value : "(not set)");
        arena_destroy(arena);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    struct pairs env = { .n = 0 };
    char id[DLC_JOB_ID_TEXT];
    const struct job_spec *job = sample_read(
        arena,
        BODY("PyTorchJob", SPEC("Worker", "2", "0"),
             ", \"Settings\": {\"AdvancedSettings\": {\"createSvcForAllWorkers\": true}}"),
        &report);
    assert_non_null(job);
    const struct job_place *place = sample_place(arena, job);
    dlc_job_id(id, place->id);
    assert_int_equal(strlen(id), 16);
    assert_memory_equal(id, "dlc", 3);
    dlc_convention.env(arena, job, place, 1, &sample_site, &env);
    assert_string_equal(pairs_get(&env, "JOB_NAME"), id);
    assert_string_equal(dlc_pod_name(arena, job, place, 0), arena_printf(arena, "%s-master-0", id));
    assert_string_equal(dlc_pod_name(arena, job, place, 1), arena_printf(arena, "%s-worker-0", id));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
