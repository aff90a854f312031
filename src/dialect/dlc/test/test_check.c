/* Rules between fields of a CreateJob body: each by a body that breaks it alone, with the place,
 * the message and what to write instead. What a single field may be is in test_read.c. */
#include "dialect/dlc/test/sample.h"

#include "base/mem.h"
#include "dialect/dlc/check.h"
#include "dialect/dlc/instance_types.h"
#include "dialect/dlc/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BODY(type, specs, more)                                                                    \
    "{\"DisplayName\": \"j\", \"UserCommand\": \"true\", \"JobType\": \"" type "\","               \
    " \"JobSpecs\": [" specs "]" more "}"
#define QUOTA              ", \"ResourceId\": \"q\""
#define ROLE(type, more)   "{\"Type\": \"" type "\", \"PodCount\": 1" more "}"
#define CONFIG(more)       ", \"ResourceConfig\": {" more "}"
#define CPU                CONFIG("\"CPU\": \"1\"")
#define PYTORCH(more)      BODY("PyTorchJob", ROLE("Worker", CPU), QUOTA more)
#define WITH(config)       BODY("PyTorchJob", ROLE("Worker", CONFIG(config)), QUOTA)
#define PUBLIC(type, more) BODY("PyTorchJob", ROLE("Worker", ", \"EcsSpec\": \"" type "\""), more)
#define TWO(one, other)                                                                            \
    BODY("PyTorchJob", ROLE("Master", CPU one) ", " ROLE("Worker", CPU other), QUOTA)
#define ENVS "\"A\": \"1\", \"B\": \"1\", \"C\": \"1\", \"D\": \"1\", \"E\": \"1\", \"F\": \"1\","
#define MORE "\"G\": \"1\", \"H\": \"1\", \"I\": \"1\", \"J\": \"1\", \"K\": \"1\", \"L\": \"1\","
#define LAST "\"M\": \"1\", \"N\": \"1\", \"O\": \"1\", \"P\": \"1\", \"Q\": \"1\", \"R\": \"1\","

static const struct {
    const char *text;
    enum severity severity;
    const char *path, *what, *hint; /* parts of both; what is the words behind the path */
    const char *fix;                /* NULL: what was meant is not certain */
} rows[] = {
    /* kinds of jobs and roles */
    { BODY("PytorchJob", ROLE("Worker", CPU), QUOTA), SEVERITY_ERROR, "JobType",
      "is \"PytorchJob\", and there is no such kind of job", "PyTorchJob", "\"PyTorchJob\"" },
    { BODY("Spark", ROLE("Worker", CPU), QUOTA), SEVERITY_ERROR, "JobType", "is \"Spark\"",
      "PyTorchJob, TFJob, MPIJob", NULL },
    { BODY("FlinkBatchJob", ROLE("Worker", CPU), QUOTA), SEVERITY_ERROR, "JobType",
      "is FlinkBatchJob, which cannot run here: it starts services", "a PyTorchJob with one Worker",
      NULL },
    { BODY("PyTorchJob", ROLE("Workr", CPU), QUOTA), SEVERITY_ERROR, "JobSpecs[0].Type",
      "is \"Workr\", and a PyTorchJob has no such role", "Worker", "\"Worker\"" },
    { BODY("TFJob", ROLE("Spare", CPU), QUOTA), SEVERITY_ERROR, "JobSpecs[0].Type",
      "a TFJob has no such role", "Chief, Master, PS, Worker, Evaluator, GraphLearn", NULL },
    { BODY("PyTorchJob", ROLE("AIMaster", CPU), QUOTA), SEVERITY_ERROR, "JobSpecs[0].Type",
      "is AIMaster, which no job brings itself", "EnableErrorMonitoringInAIMaster: true", NULL },
    { BODY("PyTorchJob", "{\"Type\": \"Master\", \"PodCount\": 2" CPU "}", QUOTA), SEVERITY_ERROR,
      "JobSpecs[0].PodCount", "is 2, and a job has at most one Master", "1", NULL },
    { BODY("TFJob", ROLE("Worker", CPU), QUOTA ", \"SuccessPolicy\": \"ChiefWorker\""),
      SEVERITY_WARNING, "SuccessPolicy", "is ChiefWorker, and there is no Chief", "a role Chief",
      NULL },
    { TWO("", ", \"StartupDependencies\": [{\"Type\": \"Master\", \"OnPhase\": \"Succeeded\"}]"),
      SEVERITY_ERROR, "JobSpecs[1].StartupDependencies[0]", "only a start can be waited for",
      "OnPhase: Running", NULL },
    { TWO("", ", \"StartupDependencies\": [{\"Type\": \"Master\", \"MinReplicas\": 1}]"),
      SEVERITY_WARNING, "JobSpecs[1].StartupDependencies[0]",
      "has MinReplicas: all pods of the role are waited for", "leave it out", NULL },
    /* amounts */
    { WITH("\"CPU\": \"four\""), SEVERITY_ERROR, "JobSpecs[0].ResourceConfig.CPU",
      "is \"four\", not a number of cores", "a number of cores: 4", NULL },
    { WITH("\"CPU\": \"1\", \"GPU\": \"0.5\""), SEVERITY_ERROR, "JobSpecs[0].ResourceConfig.GPU",
      "is \"0.5\", not a number of devices", "a whole number", NULL },
    { WITH("\"CPU\": \"1\", \"Memory\": \"8GB\""), SEVERITY_ERROR,
      "JobSpecs[0].ResourceConfig.Memory", "is \"8GB\", not an amount of memory", "8Gi", NULL },
    { WITH("\"CPU\": \"1\", \"Memory\": \"much\""), SEVERITY_ERROR,
      "JobSpecs[0].ResourceConfig.Memory", "is \"much\"", "4Gi", NULL },
    { WITH("\"CPU\": \"1\", \"Memory\": \"8\""), SEVERITY_ERROR,
      "JobSpecs[0].ResourceConfig.Memory", "is \"8\": 8 bytes", "8Gi, or another unit", NULL },
    { WITH("\"CPU\": \"1\", \"Memory\": \"2Gi\", \"SharedMemory\": \"3Gi\""), SEVERITY_ERROR,
      "JobSpecs[0].ResourceConfig.SharedMemory", "is 3Gi, more than the Memory of 2Gi",
      "2Gi or less", NULL },
    { PUBLIC("ecs.g6.xlarg", ""), SEVERITY_ERROR, "JobSpecs[0].EcsSpec",
      "is \"ecs.g6.xlarg\", which is no instance type known here", "ecs.g6.xlarge",
      "\"ecs.g6.xlarge\"" },
    { PUBLIC("huge", ""), SEVERITY_ERROR, "JobSpecs[0].EcsSpec", "is \"huge\"",
      "ResourceConfig for any other size", NULL },
    /* bids and nodes */
    { BODY("PyTorchJob",
           ROLE("Worker", CPU ", \"SpotSpec\": {\"SpotStrategy\": \"SpotWithPriceLimit\"}"), ""),
      SEVERITY_ERROR, "JobSpecs[0].SpotSpec", "says no bid", "SpotDiscountLimit: 0.1 to 0.9",
      NULL },
    { TWO(", \"SpotSpec\": {\"SpotDiscountLimit\": 0.2}",
          ", \"SpotSpec\": {\"SpotDiscountLimit\": 0.3}"),
      SEVERITY_ERROR, "JobSpecs[1].SpotSpec.SpotDiscountLimit", "a job has one bid",
      "the same in every role", NULL },
    { PUBLIC("ecs.g6.large", ", \"Settings\": {\"OversoldType\": \"AcceptQuotaOverSold\"}"),
      SEVERITY_ERROR, "Settings.OversoldType", "needs a quota", "ResourceId and ResourceConfig",
      NULL },
    { PUBLIC("ecs.g6.large", ", \"Priority\": 3"), SEVERITY_WARNING, "Priority",
      "has no effect: only jobs of a quota", "leave it out", NULL },
    { BODY("PyTorchJob", ROLE("Worker", CPU ", \"AssignNodeSpec\": {\"EnableAssignNode\": true}"),
           QUOTA),
      SEVERITY_ERROR, "JobSpecs[0].AssignNodeSpec", "is enabled and names no node",
      "NodeNames: a,b", NULL },
    { BODY("PyTorchJob", ROLE("Worker", CPU ", \"AssignNodeSpec\": {\"NodeNames\": \"a\"}"), QUOTA),
      SEVERITY_WARNING, "JobSpecs[0].AssignNodeSpec", "names nodes and is not enabled",
      "EnableAssignNode: true", NULL },
    { TWO(", \"AssignNodeSpec\": {\"EnableAssignNode\": true, \"NodeNames\": \"a\"}", ""),
      SEVERITY_ERROR, "JobSpecs[1].AssignNodeSpec", "a job has one list of nodes",
      "the same nodes in every role", NULL },
    /* data and code */
    { PYTORCH(", \"DataSources\": [{\"MountPath\": \"/d\"}]"), SEVERITY_ERROR, "DataSources[0]",
      "has neither DataSourceId nor Uri", "one of them", NULL },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d\", \"Uri\": \"/x\", \"MountPath\": "
              "\"/d\"}]"),
      SEVERITY_ERROR, "DataSources[0]", "has DataSourceId and Uri", "one of them", NULL },
    { PYTORCH(", \"DataSources\": [{\"Uri\": \"x/y\", \"MountPath\": \"/d\"}]"), SEVERITY_ERROR,
      "DataSources[0].Uri", "is \"x/y\", which has no scheme", "oss://bucket.endpoint/path", NULL },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d 1\"}]"), SEVERITY_ERROR,
      "DataSources[0].DataSourceId", "is \"d 1\", which is no id", "or Uri for a path", NULL },
    { PYTORCH(", \"DataSources\": [{\"Uri\": \"/x\", \"MountPath\": \"/d\", "
              "\"DataSourceVersion\": \"v1\"}]"),
      SEVERITY_ERROR, "DataSources[0].DataSourceVersion", "is there without a DataSourceId",
      "leave it out", NULL },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d\", \"MountPath\": \"d\"}]"),
      SEVERITY_ERROR, "DataSources[0].MountPath", "is \"d\", not an absolute path", "/mnt/data",
      NULL },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d\", \"MountPath\": \"/m/../x\"}]"),
      SEVERITY_ERROR, "DataSources[0].MountPath", "not an absolute path", "/mnt/data", NULL },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d\", \"MountPath\": \"/m\"}, "
              "{\"DataSourceId\": \"e\", \"MountPath\": \"/m\"}]"),
      SEVERITY_ERROR, "DataSources[1].MountPath", "is \"/m\", where DataSources[0] is mounted",
      "another path for each", NULL },
    { PYTORCH(", \"CodeSource\": {\"Branch\": \"main\"}"), SEVERITY_ERROR, "CodeSource",
      "has no CodeSourceId", "code-...", NULL },
    { PYTORCH(", \"CodeSource\": {\"CodeSourceId\": \"c\", \"MountPath\": \"code\"}"),
      SEVERITY_ERROR, "CodeSource.MountPath", "is \"code\", not an absolute path", "/root/code/",
      NULL },
    /* environment, name */
    { PYTORCH(", \"Envs\": {\"RANK\": \"0\"}"), SEVERITY_WARNING, "Envs.RANK",
      "is set by the system for a PyTorchJob: this value is not used", "another name", NULL },
    { PYTORCH(", \"CustomEnvs\": [{\"Key\": \"a=b\", \"Value\": \"1\"}]"), SEVERITY_ERROR,
      "CustomEnvs[0].Key", "is \"a=b\", no name of a variable", "", NULL },
    { PYTORCH(", \"Envs\": {\"A\": \"1\"}, \"CustomEnvs\": [{\"Key\": \"A\", \"Value\": \"2\"}]"),
      SEVERITY_ERROR, "CustomEnvs[0].Key", "is \"A\", which Envs has too", "one of them", NULL },
    { PYTORCH(", \"Envs\": {" ENVS MORE LAST "\"S\": \"1\", \"T\": \"1\"}, "
              "\"CustomEnvs\": [{\"Key\": \"U\", \"Value\": \"1\"}]"),
      SEVERITY_ERROR, "CustomEnvs", "and Envs have 21 names, the most are 20",
      "a file that UserCommand reads", NULL },
    { "{\"DisplayName\": \"a b\", \"UserCommand\": \"true\", \"JobType\": \"PyTorchJob\", "
      "\"JobSpecs\": [" ROLE("Worker", CPU) "]" QUOTA "}",
      SEVERITY_WARNING, "DisplayName", "is \"a b\": DLC takes letters, digits, _ . - only",
      "another name", NULL },
};

static const struct problem *find(const struct report *report, const char *path, const char *what)
{
    for (size_t i = 0; i < report->n; i++)
        if (strcmp(report->at[i].path, path) == 0 && strstr(report->at[i].what, what))
            return &report->at[i];
    return NULL;
}

static void check_row(size_t i)
{
    struct arena *arena = arena_create();
    struct report report;
    const struct job_spec *job = sample_read(arena, rows[i].text, &report);
    const struct problem *p = find(&report, rows[i].path, rows[i].what);
    if (!p)
        fail_msg("row %zu: %s: %s", i, report.n ? report.at[0].path : "",
                 report.n ? report.at[0].what : "nothing is said");
    assert_int_equal(p->severity, rows[i].severity);
    assert_int_equal(p->place.line, 1);
    if (!strstr(p->hint, rows[i].hint))
        fail_msg("row %zu: the hint is \"%s\"", i, p->hint);
    if (!p->fix != !rows[i].fix || (p->fix && strcmp(p->fix, rows[i].fix) != 0))
        fail_msg("row %zu: the fix is %s", i, p->fix ? p->fix : "none");
    /* an error alone refuses the job, and nothing else is wrong with it */
    assert_int_equal(job == NULL, rows[i].severity == SEVERITY_ERROR);
    if (report.errors != (rows[i].severity == SEVERITY_ERROR))
        fail_msg("row %zu: %zu errors: %s", i, report.errors, report.at[report.n - 1].what);
    arena_destroy(arena);
}

static void test_each_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(i);
}

/* The bodies that the rows break have no problem by themselves. */
static void test_bodies_without_a_problem(void **state)
{
    static const char *const texts[] = {
        PYTORCH(""),
        PUBLIC("ecs.g6.large", ""),
        TWO("", ""),
        WITH("\"CPU\": \"0.5\""),
        PYTORCH(", \"Envs\": {" ENVS MORE LAST "\"S\": \"1\", \"T\": \"1\"}"),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct arena *arena = arena_create();
        struct report report;
        if (!sample_read(arena, texts[i], &report) || report.errors || report.warnings)
            fail_msg("body %zu: %s", i, report.n ? report.at[0].what : "no job");
        arena_destroy(arena);
    }
}

static void test_memory(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: it is none */
    } all[] = {
        { "4Gi", 4ull << 30 },
        { "512Mi", 512ull << 20 },
        { "1.5Gi", 3ull << 29 },
        { "1000", 1000 },
        { "2G", 2000000000 },
        { "1T", 1000000000000 },
        { "4GB", 0 },
        { "4GiB", 0 },
        { "", 0 },
        { "-1Gi", 0 },
        { "4 Gi", 0 },
        { "Gi", 0 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        uint64_t bytes = 0;
        bool good = dlc_memory(all[i].text, &bytes);
        if (good != (all[i].bytes > 0) || (good && bytes != all[i].bytes))
            fail_msg("\"%s\" is %llu", all[i].text, (unsigned long long)bytes);
    }
}

static void test_types_and_roles(void **state)
{
    (void)state;
    assert_ptr_equal(dlc_type_find("ElasticBatch", false), dlc_type_find("ElasticBatchJob", false));
    assert_null(dlc_type_find("rayjob", false));
    assert_string_equal(dlc_type_find("rayjob", true)->name, "RayJob");
    const struct dlc_type *ray = dlc_type_find("RayJob", false);
    assert_string_equal(dlc_role_find(ray, "Worker-gpu")->type, "Worker");
    assert_null(dlc_role_find(ray, "Worker-"));
    assert_null(dlc_role_find(ray, "Worker_gpu"));
    assert_null(dlc_role_find(ray, "Head-1"));
    assert_non_null(dlc_role_find(dlc_type_find("SlurmJob", false), "anything"));
    size_t n;
    const struct entry *all = dlc_ecs_list(&n);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(dlc_ecs_find(NULL, all[i].name), &all[i]); /* no name comes twice */
        assert_true(all[i].cpu_milli > 0 && all[i].memory > 0);
        assert_int_equal(all[i].gpu_milli > 0, all[i].gpu_type != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_rule),
        cmocka_unit_test(test_bodies_without_a_problem),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_types_and_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
