/* CreateJob bodies and parameter files -> canonical job: every field arrives where
 * doc/dialect-dlc.md says, and what cannot be is said. */
#include "dialect/dlc/test/sample.h"

#include "base/buf.h"
#include "dialect/dlc/conditions.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/types.h"
#include "job/tree_path.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BODY(type, specs, more)                                                                    \
    "{\"DisplayName\": \"j\", \"ResourceId\": \"q\", \"UserCommand\": \"true\", "                  \
    "\"JobType\": \"" type "\", \"JobSpecs\": [" specs "]" more "}"
#define WORKERS(n, more)                                                                           \
    "{\"Type\": \"Worker\", \"PodCount\": " n ", \"ResourceConfig\": {\"CPU\": \"1\"}" more "}"
#define SLURM(command)                                                                             \
    "{\"DisplayName\": \"j\", \"ResourceId\": \"q\", \"UserCommand\": \"" command                  \
    "\", \"JobType\": \"SlurmJob\", \"JobSpecs\": [" WORKERS(                                      \
        "2", "") ",{\"Type\": \"Login\", \"ResourceConfig\": {\"CPU\": \"1\"}}]}"
#define PYTORCH(more)      BODY("PyTorchJob", WORKERS("2", ""), more)
#define PYTORCH_SPEC(more) BODY("PyTorchJob", WORKERS("2", more), "")
#define SETTINGS(more)     PYTORCH(", \"Settings\": {" more "}")
#define MONITOR(args)                                                                              \
    SETTINGS("\"EnableErrorMonitoringInAIMaster\": true, \"ErrorMonitoringArgs\": \"" args "\"")
#define LINES "kind=PyTorchJob\nname=j\ncommand=true\nworkers=2\nworker_cpu=1\nresource_id=q\n"

/* What stands at a path of the canonical tree, as JSON on one line; NULL: nothing. */
struct row {
    const char *text, *path, *json;
};

static const struct row rows[] = {
    { PYTORCH(""), "roles.master.replicas", NULL }, /* 1 */
    { PYTORCH(""), "roles.master.run", "\"true\"" },
    { PYTORCH(""), "roles.worker.ports", NULL },
    { PYTORCH(""), "roles.master.ports.master.first", "23456" },
    { PYTORCH(""), "priority", "1" },
    { PYTORCH(", \"Priority\": 9"), "priority", "9" },
    { PYTORCH(", \"WorkspaceId\": \"7\""), "project", "\"7\"" },
    { PYTORCH(", \"WorkspaceId\": null"), "project", NULL },
    { PYTORCH(", \"JobMaxRunningTimeMinutes\": 90"), "limits.run_time", "\"1h30m\"" },
    { PYTORCH(", \"JobMaxRunningTimeMinutes\": 0"), "limits", NULL },
    { BODY("PyTorchJob", WORKERS("1", ""), ""), "roles.worker", NULL },
    { BODY("PyTorchJob",
           WORKERS("0", "") ", {\"Type\": \"Master\", \"ResourceConfig\": {\"CPU\": \"1\"}}", ""),
      "roles.master.resources.cpu", "1" },
    { PYTORCH_SPEC(", \"RestartPolicy\": \"Always\""), "retry.success", "\"always\"" },
    { PYTORCH_SPEC(", \"RestartPolicy\": \"ExitCode\""), "retry.user", NULL },
    { PYTORCH_SPEC(", \"RestartPolicy\": \"OnFailure\""), "retry.user", "\"always\"" },
    { PYTORCH_SPEC(", \"SpotSpec\": {\"SpotStrategy\": \"SpotWithPriceLimit\", "
                   "\"SpotDiscountLimit\": 0.3}"),
      "spot_bid", "0.3" },
    { PYTORCH_SPEC(", \"UseSpotInstance\": true"), "spot_bid", "1" },
    { BODY("RayJob", "{\"Type\": \"Head\", \"ResourceConfig\": {\"CPU\": \"1\"}}," WORKERS("1", ""),
           ""),
      "roles.worker.done.succeeded", "\"never\"" },
    { BODY("TFJob", WORKERS("2", "") ",{\"Type\": \"PS\", \"ResourceConfig\": {\"CPU\": \"1\"}}",
           ""),
      "roles.ps.done.succeeded", "\"never\"" },
    { BODY(
          "TFJob",
          WORKERS(
              "2",
              ", \"ConsiderInSuccessPolicy\": true") ",{\"Type\": \"Chief\", \"ResourceConfig\": {\"CPU\": \"1\"}}",
          ", \"SuccessPolicy\": \"Partial\""),
      "roles.chief.done.succeeded", "\"never\"" },
    { BODY(
          "SlurmJob",
          WORKERS(
              "2",
              ", \"StartupDependencies\": [{\"Type\": \"Login\"}]") ",{\"Type\": \"Login\", \"ResourceConfig\": {\"CPU\": \"1\"}}",
          ""),
      "roles.worker.after", "\"login\"" },
    { SLURM("srun hostname"), "config.sbatch.script", "\"#!/bin/bash\\nsrun hostname\"" },
    { SLURM("#!/bin/sh\\nsrun hostname"), "config.sbatch.script", "\"#!/bin/sh\\nsrun hostname\"" },
    { SLURM("true"), "roles.worker.run", "\"exec muster-step\"" },
    { SLURM("true"), "roles.worker.done.succeeded", "1" },
    { SLURM("true"), "roles.login.done.succeeded", "\"never\"" },
    { SLURM("true"), "roles.login.ports", "{\"step\":1}" },
    { SLURM("true"), "conventions", "[\"dlc\",\"sbatch\"]" },
    { SLURM("true"), "extra.sbatch.parts", "[{\"tasks\":3}]" },
    { SETTINGS("\"OversoldType\": \"ForceQuotaOverSold\""), "capacity", "\"idle\"" },
    { SETTINGS("\"JobReservedMinutes\": 5"), "limits.keep", "\"1m\"" },
    { SETTINGS("\"JobReservedMinutes\": 5, \"JobReservedPolicy\": \"OnSucceed\""), "limits.keep",
      NULL },
    { SETTINGS("\"JobReservedMinutes\": 5, \"JobReservedPolicy\": \"OnSucceed\""),
      "limits.hold_when", "\"success\"" },
    { SETTINGS("\"EnableCPUAffinity\": true"), "place.pin_cpus", "true" },
    { SETTINGS("\"PipelineId\": \"p\""), "labels.PipelineId", "\"p\"" },
    { SETTINGS("\"EnableRDMA\": true"), "extra.dlc.Settings.EnableRDMA", "true" },
    { MONITOR(""), "retry.unknown", NULL },
    { MONITOR("--enable-job-restart=True"), "retry.unknown", "3" },
    { MONITOR("--enable-job-restart=True"), "retry.user", NULL },
    { MONITOR(
          "--enable-job-restart True --max-num-of-job-restart 7 --fault-tolerant-policy OnFailure"),
      "retry.user", "7" },
    { MONITOR("--enable-job-restart=True --fault-tolerant-policy=Never"), "retry.unknown", NULL },
    { MONITOR("--job-execution-mode=Async"), "retry.scope", NULL }, /* task */
    { MONITOR("--job-execution-mode=Sync"), "retry.scope", "\"job\"" },
    { PYTORCH(", \"Envs\": {\"WORLD_SIZE\": \"9\", \"A\": \"1\"}"), "roles.worker.env",
      "{\"A\":\"1\"}" },
    { PYTORCH(", \"CustomEnvs\": [{\"Key\": \"A\", \"Value\": \"1\"}]"), "roles.worker.env.A",
      "\"1\"" },
    { PYTORCH(", \"ThirdpartyLibDir\": \"/r/\""), "inputs.requirements",
      "\"/r/requirements.txt\"" },
    { PYTORCH(", \"ThirdpartyLibs\": [\"a==1\"]"), "inputs.python", "\"a==1\"" },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d-1\"}]"), "inputs.data[0].at",
      "\"/mnt/data/d-1\"" },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d-1\", \"DataSourceVersion\": \"v2\"}]"),
      "inputs.data[0].from", "\"dataset:d-1:v2\"" },
    { PYTORCH(", \"CodeSource\": {\"CodeSourceId\": \"c\", \"Branch\": \"b\"}"), "inputs.code.at",
      "\"b\"" },
    /* parameter files */
    { LINES, "roles.master.resources.cpu", "1" },
    { LINES "running_timeout=61\n", "limits.run_time", "\"2m\"" },
    { LINES "masters=1\nmaster_cpu=2\n", "roles.worker",
      "{\"replicas\":2,\"run\":\"true\",\"resources\":{\"cpu\":1}}" },
    { "kind=tfjob\nname=j\ncommand=true\nchief=true\nchief_spec=ecs.c6.large\nworkers=0\n",
      "roles.chief.resources.memory", "\"4Gi\"" },
    { LINES "data_sources=d-1:v3,d-2::/x\n", "inputs.data[0].from", "\"dataset:d-1:v3\"" },
    { LINES "data_sources=d-1:v3,d-2::/x\n", "inputs.data[1].at", "\"/x\"" },
    { LINES "data_source_uris=oss://b/a::/m\n", "inputs.data[0].from", "\"oss://b/a\"" },
    { LINES "worker_memory=4\n", "roles.worker.resources.memory", "\"4Gi\"" },
    { LINES "aimaster_args=--enable-job-restart=True\n", "retry.unknown", "3" },
    { LINES "aimaster_enable=false\naimaster_args=--enable-job-restart=True\n", "retry.unknown",
      NULL },
    { "name=j\ncommand=true\nheads=1\nhead_cpu=1\n", "framework", "\"ray\"" },
    { "name=j\ncommand=true\nworkers=1\nworker_cpu=1\nworker_image=a/xgboost:1\n", "framework",
      "\"xgboost\"" },
    { "name=j\ncommand=true\nworkers=1\nworker_cpu=1\n", "framework", "\"pytorch\"" },
};

static void check_row(size_t i)
{
    struct arena *arena = arena_create();
    struct report report;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    const char *rest = "";
    const struct job_spec *job = sample_read(arena, rows[i].text, &report);
    if (!job)
        fail_msg("row %zu: %s", i, report.n ? report.at[0].what : "no job");
    struct text_node *tree = job_encode(arena, job);
    const struct text_node *node = tree_path_walk(tree, rows[i].path, &rest);
    if (!*rest)
        json_print(node, 0, &out);
    const char *found = *rest ? "(nothing)" : buf_str(&out);
    if (strcmp(found, rows[i].json ? rows[i].json : "(nothing)") != 0)
        fail_msg("row %zu: %s is %s", i, rows[i].path, found);
    struct report again;
    report_init(&again, arena);
    const struct job_spec *same = job_decode(arena, tree, &again);
    assert_non_null(same);
    assert_true(text_equal(tree, job_encode(arena, same)));
    arena_destroy(arena);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(i);
}

static const struct {
    const char *text, *path, *what; /* what: part of the message */
} bads[] = {
    { PYTORCH(", \"Priority\": 0"), "Priority", "least is 1" },
    { BODY("DataJuicerJob", WORKERS("1", ""), ""), "JobType", "cannot run here" },
    { BODY("pytorchjob", WORKERS("1", ""), ""), "JobType", "no such kind" },
    { BODY("PyTorchJob", "", ""), "JobSpecs", "no pods" },
    { BODY("PyTorchJob", WORKERS("0", ""), ""), "JobSpecs", "no pods" },
    { BODY("PyTorchJob", WORKERS("1000000000", ""), ""), "JobSpecs[0].PodCount", "the most is" },
    { BODY("SlurmJob",
           WORKERS("1", "") ",{\"Type\": \"worker\", \"ResourceConfig\": {\"CPU\": \"1\"}}", ""),
      "JobSpecs[1].Type", "already" },
    { BODY("RayJob", "{\"Type\": \"Worker-\", \"ResourceConfig\": {\"CPU\": \"1\"}}", ""),
      "JobSpecs[0].Type", "no such role" },
    { PYTORCH_SPEC(", \"EcsSpec\": \"ecs.g6.large\""), "JobSpecs[0].EcsSpec", "beside" },
    { BODY("PyTorchJob", "{\"Type\": \"Worker\", \"EcsSpec\": \"ecs.g6.large\"}", ""),
      "JobSpecs[0].EcsSpec", "quota" },
    { BODY("PyTorchJob", "{\"Type\": \"Worker\"}", ""), "JobSpecs[0]", "no resources" },
    { PYTORCH_SPEC(", \"SpotSpec\": {\"SpotDiscountLimit\": 1}"),
      "JobSpecs[0].SpotSpec.SpotDiscountLimit", "0.1" },
    { PYTORCH_SPEC(", \"SpotSpec\": {\"SpotPriceLimit\": \"0.5\"}"),
      "JobSpecs[0].SpotSpec.SpotPriceLimit", "price" },
    { BODY("XGBoostJob", WORKERS("1", ", \"UseSpotInstance\": true"), ""),
      "JobSpecs[0].UseSpotInstance", "PyTorchJob" },
    { SETTINGS("\"EnableSanityCheck\": true"), "Settings.EnableSanityCheck", "GPU" },
    { SETTINGS("\"AdvancedSettings\": {\"customPortList\": \"23450-23460\"}"),
      "Settings.AdvancedSettings.customPortList", "23456" },
    { SETTINGS("\"AdvancedSettings\": {\"customPortList\": \"9-8\"}"),
      "Settings.AdvancedSettings.customPortList", "ranges" },
    { SETTINGS("\"AdvancedSettings\": {\"customPortNumPerWorker\": 65537}"),
      "Settings.AdvancedSettings.customPortNumPerWorker", "65535" },
    { SETTINGS("\"AdvancedSettings\": {\"createSvcForAllWorkers\": \"yes\"}"),
      "Settings.AdvancedSettings.createSvcForAllWorkers", "yes" },
    { MONITOR("--enable-job-restart=maybe"), "Settings.ErrorMonitoringArgs", "maybe" },
    { PYTORCH(", \"DataSources\": [{\"Uri\": \"oss://b/x\"}]"), "DataSources[0].MountPath",
      "missing" },
    { PYTORCH(", \"DataSources\": [{\"DataSourceId\": \"d-****\"}]"), "DataSources[0].DataSourceId",
      "placeholder" },
    { PYTORCH(", \"SuccessPolicy\": \"Partial\""), "SuccessPolicy", "no role" },
    { PYTORCH_SPEC(", \"StartupDependencies\": [{\"Type\": \"PS\"}]"),
      "JobSpecs[0].StartupDependencies[0]", "no other" },
    { PYTORCH_SPEC(", \"ExtraPodSpec\": {\"InitContainers\": [{\"Name\": \"i\"}]}"),
      "JobSpecs[0].ExtraPodSpec.InitContainers", "one program" },
    { LINES "priority=ten\n", "priority", "ten" },
    { LINES "envs=A\n", "envs", "no k=v" },
    { LINES "worker_memory=4b\n", "worker_memory", "4b" },
    { LINES "worker_imag=x\n", "worker_imag", "unknown key" },
    { LINES "advanced_settings=customPortList=1;2,customPortNumPerWorker=3\n", "advanced_settings",
      "customPortList" },
};

static void test_bads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        struct arena *arena = arena_create();
        struct report report;
        bool found = false;
        if (sample_read(arena, bads[i].text, &report))
            fail_msg("row %zu is accepted", i);
        for (size_t k = 0; k < report.n; k++)
            found |= report.at[k].severity == SEVERITY_ERROR &&
                     strcmp(report.at[k].path, bads[i].path) == 0 &&
                     strstr(report.at[k].what, bads[i].what) && *report.at[k].hint &&
                     report.at[k].place.line > 0;
        if (!found)
            fail_msg("row %zu: %s: %s", i, report.n ? report.at[0].path : "",
                     report.n ? report.at[0].what : "nothing said");
        arena_destroy(arena);
    }
}

/* What the text cannot tell: a caller that knows the quota asks again. */
static void test_lingjun(void **state)
{
    (void)state;
    static const struct text_node root = { .kind = TEXT_MAP };
    struct arena *arena = arena_create();
    struct text_node *advanced = text_map(arena, NULL, NULL);
    struct dlc_create create = { .root = &root, .type = dlc_type_find("XGBoostJob", false) };
    struct report report;
    report_init(&report, arena);
    dlc_conditions(&create, DLC_QUOTA, &report);
    assert_int_equal(report.n, 0);
    dlc_conditions(&create, DLC_LINGJUN, &report);
    assert_int_equal(report.errors, 1);
    assert_string_equal(report.at[0].path, "JobType");
    text_int(arena, advanced, "customPortNumPerWorker", 3);
    create.type = dlc_type_find("PyTorchJob", false);
    create.settings.advanced = advanced;
    report_init(&report, arena);
    dlc_conditions(&create, DLC_LINGJUN, &report);
    assert_int_equal(report.errors, 1);
    arena_destroy(arena);
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool mine;
    } texts[] = {
        { PYTORCH(""), true },
        { LINES, true },
        { "{\"DisplayName\": \"x\", \"JobType\": \"y\"}", true },
        { "{\"jobName\": \"x\", \"taskRoles\": []}", false },
        { "name: x\nrun: \"true\"\n", false },
        { "apiVersion: v1\nkind: Job\nname: x\n", false },
        { "a=1\n", false },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena *arena = arena_create();
        struct report report;
        report_init(&report, arena);
        const struct text_node *root =
            text_parse(arena, texts[i].text, strlen(texts[i].text), &report);
        if ((dlc_dialect.detect(root) > 0) != texts[i].mine)
            fail_msg("text %zu", i);
        arena_destroy(arena);
    }
}

static void test_masked(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    const char *text = "{\"Envs\": {\"A\": \"hidden\"}, \"JobSpecs\": [{\"ImageConfig\": "
                       "{\"Password\": \"hidden\"}}]}";
    const char *lines = "envs=A=hidden\nimage_repo_password=hidden\ncommand=x\n";
    report_init(&report, arena);
    const struct text_node *root = text_parse(arena, text, strlen(text), &report);
    assert_null(strstr(dialect_mask(arena, &dlc_dialect, root, text, strlen(text)), "hidden"));
    root = text_parse(arena, lines, strlen(lines), &report);
    assert_null(strstr(dialect_mask(arena, &dlc_dialect, root, lines, strlen(lines)), "hidden"));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_bads),
        cmocka_unit_test(test_lingjun), cmocka_unit_test(test_detect),
        cmocka_unit_test(test_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
