/* The environment of a task: every variable of the reference, names and formats to the letter, of
 * older and later versions. A job of 4,000 tasks can still be started. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char two_roles[] =
    "{\"jobName\": \"digits\", \"image\": \"i\", \"dataDir\": \"$PAI_DEFAULT_FS_URI/data\",\n"
    " \"codeDir\": \"$PAI_DEFAULT_FS_URI/code\", \"virtualCluster\": \"vision\",\n"
    " \"taskRoles\": [\n"
    "  {\"name\": \"ps_server\", \"taskNumber\": 2, \"cpuNumber\": 2, \"memoryMB\": 8192,\n"
    "   \"portList\": [{\"label\": \"grpc\", \"portNumber\": 2}], \"command\": \"x\",\n"
    "   \"minFailedTaskCount\": null},\n"
    "  {\"name\": \"worker\", \"cpuNumber\": 4, \"memoryMB\": 16384, \"shmMB\": 128, \"gpuNumber\": 4,\n"
    "   \"command\": \"y\", \"minSucceededTaskCount\": 1}],\n"
    " \"jobEnvs\": {\"batch\": 32}}";
/* ports: ps_server/0 grpc 30000,30001 http 30002 ssh 30003; ps_server/1 30004..30007; worker/0 http
 * 30008 ssh 30009 */

struct variable {
    const char *name, *value; /* NULL: not set */
};

static int setup(void **state)
{
    *state = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

static struct pairs env_of(struct arena *arena, const char *text, uint32_t flat)
{
    struct report report;
    struct pairs env = { .n = 0 };
    const struct job_spec *job = sample_read(arena, text, &report);
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    v1_env(arena, job, sample_place(arena, job), flat, &sample_site, &env);
    return env;
}

static void expect(const struct pairs *env, const struct variable *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = pairs_get(env, rows[i].name);
        if (!value != !rows[i].value || (value && strcmp(value, rows[i].value) != 0))
            fail_msg("%s is \"%s\", wanted \"%s\"", rows[i].name, value ? value : "(not set)",
                     rows[i].value ? rows[i].value : "(not set)");
    }
}
#define EXPECT(env, rows) expect(env, rows, sizeof(rows) / sizeof((rows)[0]))

static void test_published_names(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_JOB_NAME", .value = "digits" },
        { .name = "PAI_USER_NAME", .value = "ada" },
        { .name = "PAI_DEFAULT_FS_URI", .value = "file:///fs" },
        { .name = "PAI_TASK_ROLE_COUNT", .value = "2" },
        { .name = "PAI_TASK_ROLE_LIST", .value = "ps_server,worker" },
        { .name = "PAI_TASK_ROLE_TASK_COUNT_ps_server", .value = "2" },
        { .name = "PAI_TASK_ROLE_TASK_COUNT_worker", .value = "1" },
        { .name = "PAI_HOST_IP_ps_server_0", .value = "127.0.1.1" },
        { .name = "PAI_HOST_IP_ps_server_1", .value = "127.0.1.2" },
        { .name = "PAI_HOST_IP_worker_0", .value = "127.0.1.3" },
        { .name = "PAI_PORT_LIST_ps_server_1_grpc", .value = "30004,30005" },
        { .name = "PAI_PORT_LIST_worker_0_http", .value = "30008" },
        { .name = "PAI_PORT_LIST_worker_0_ssh", .value = "30009" },
        { .name = "PAI_RESOURCE_ps_server", .value = "0,2,8192,64" },
        { .name = "PAI_RESOURCE_worker", .value = "4,4,16384,128" },
        { .name = "PAI_RESOURCE", .value = "0,2,8192,64" },
        { .name = "PAI_MIN_FAILED_TASK_COUNT_ps_server", .value = "" },
        { .name = "PAI_MIN_FAILED_TASK_COUNT_worker", .value = "1" },
        { .name = "PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server", .value = "" },
        { .name = "PAI_MIN_SUCCEEDED_TASK_COUNT_worker", .value = "1" },
        { .name = "PAI_CURRENT_TASK_ROLE_NAME", .value = "ps_server" },
        { .name = "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", .value = "1" },
    };
    struct pairs env = env_of(*state, two_roles, 1);
    EXPECT(&env, rows);
}

static void test_older_names(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_TASK_ROLE_ps_server_HOST_LIST", .value = "127.0.1.1:30002,127.0.1.2:30006" },
        { .name = "PAI_TASK_ROLE_worker_HOST_LIST", .value = "127.0.1.3:30008" },
        { .name = "PAI_ps_server_1_grpc_PORT", .value = "30004,30005" },
        { .name = "PAI_worker_0_http_PORT", .value = "30008" },
        { .name = "PAI_CONTAINER_HOST_IP", .value = "127.0.1.2" },
        { .name = "PAI_CURRENT_CONTAINER_IP", .value = "127.0.1.2" },
        { .name = "PAI_CONTAINER_HOST_PORT", .value = "30006" },
        { .name = "PAI_CURRENT_CONTAINER_PORT", .value = "30006" },
        { .name = "PAI_CONTAINER_SSH_PORT", .value = "30007" },
        { .name = "PAI_CONTAINER_HOST_PORT_LIST",
          .value = "grpc:30004,30005;http:30006;ssh:30007;" },
        { .name = "PAI_CONTAINER_HOST_grpc_PORT_LIST", .value = "30004,30005" },
        { .name = "PAI_CONTAINER_HOST_http_PORT_LIST", .value = "30006" },
        { .name = "PAI_TASK_INDEX", .value = "1" },
        { .name = "PAI_TASK_ROLE_INDEX", .value = "1" },
        { .name = "PAI_USERNAME", .value = "ada" },
        { .name = "PAI_DATA_DIR", .value = "file:///fs/data" },
        { .name = "PAI_OUTPUT_DIR", .value = "file:///fs/Output/ada/digits" },
        { .name = "PAI_CODE_DIR", .value = "file:///fs/code" },
        { .name = "PAI_TASK_ROLE_NAME", .value = "ps_server" },
        { .name = "PAI_TASK_ROLE_NUM", .value = "2" },
        { .name = "PAI_CURRENT_TASK_ROLE_TASK_COUNT", .value = "2" },
        { .name = "PAI_TASK_CPU_NUM", .value = "2" },
        { .name = "PAI_CURRENT_TASK_ROLE_CPU_COUNT", .value = "2" },
        { .name = "PAI_TASK_MEM_MB", .value = "8192" },
        { .name = "PAI_CURRENT_TASK_ROLE_MEM_MB", .value = "8192" },
        { .name = "PAI_TASK_GPU_NUM", .value = "0" },
        { .name = "PAI_CURRENT_TASK_ROLE_GPU_COUNT", .value = "0" },
        { .name = "PAI_CURRENT_TASK_ROLE_SHM_MB", .value = "64" },
        { .name = "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", .value = "" },
        { .name = "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", .value = "" },
        { .name = "PAI_TASKS_NUM", .value = "3" },
        { .name = "PAI_JOB_TASK_COUNT", .value = "3" },
        { .name = "PAI_TASK_ROLES_NUM", .value = "2" },
        { .name = "PAI_JOB_TASK_ROLE_COUNT", .value = "2" },
        { .name = "PAI_JOB_TASK_ROLE_LIST", .value = "ps_server,worker" },
        { .name = "PAI_WORK_DIR", .value = OPENPAI_WORK_DIR },
        { .name = "PAI_JOB_VC_NAME", .value = "vision" },
        { .name = "FRAMEWORK_NAME", .value = "ada~digits" },
        { .name = "APP_ID", .value = "application_1700000000000_0012" },
        { .name = "HADOOP_USER_NAME", .value = "ada" },
        { .name = "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", .value = NULL },
        { .name = "batch", .value = NULL }, /* the caller adds the job's own, last */
    };
    struct pairs env = env_of(*state, two_roles, 1);
    EXPECT(&env, rows);
    assert_non_null(strstr(pairs_get(&env, "PAI_CONTAINER_ID"), "-1-ps_server-1-1"));
}

static void test_later_names(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_FRAMEWORK_NAME", .value = "ada~digits" },
        { .name = "PAI_VIRTUAL_CLUSTER", .value = "vision" },
        { .name = "PAI_TASK_ROLE_INSTANCES", .value = "ps_server:0,ps_server:1,worker:0" },
        /* the converted role name of the Kubernetes releases */
        { .name = "PAI_HOST_IP_psserver_1", .value = "127.0.1.2" },
        { .name = "PAI_PORT_LIST_psserver_1_grpc", .value = "30004,30005" },
        { .name = "PAI_TASK_ROLE_psserver_HOST_LIST", .value = "127.0.1.1:30002,127.0.1.2:30006" },
        { .name = "PAI_RESOURCE_psserver", .value = "0,2,8192,64" },
        { .name = "PAI_CURRENT_TASK_ROLE_NAME", .value = "worker" },
        { .name = "PAI_RESOURCE", .value = "4,4,16384,128" },
        { .name = "PAI_CONTAINER_HOST_PORT", .value = "30008" },
    };
    struct pairs env = env_of(*state, two_roles, 2);
    EXPECT(&env, rows);
}

static void test_names_no_shell_reads(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_HOST_IP_a.b~c_0", .value = "127.0.1.1" },
        { .name = "PAI_HOST_IP_a_b_c_0", .value = "127.0.1.1" },
        { .name = "PAI_HOST_IP_abc_0", .value = "127.0.1.1" },
        { .name = "PAI_PORT_LIST_a.b~c_0_p.q", .value = "30000" },
        { .name = "PAI_PORT_LIST_a_b_c_0_p_q", .value = "30000" },
        { .name = "PAI_CONTAINER_HOST_p.q_PORT_LIST", .value = "30000" },
        { .name = "PAI_CONTAINER_HOST_p_q_PORT_LIST", .value = "30000" },
        { .name = "PAI_TASK_ROLE_LIST", .value = "a.b~c" },
    };
    struct pairs env =
        env_of(*state,
               "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": [{\"name\": "
               "\"a.b~c\", \"command\": \"x\", \"portList\": [{\"label\": \"p.q\"}]}]}",
               0);
    EXPECT(&env, rows);
}

/* psserver is a role of its own: ps_server leaves that form to it. */
static void test_forms_of_two_roles(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_HOST_IP_ps_server_1", .value = "127.0.1.2" },
        { .name = "PAI_HOST_IP_psserver_0", .value = "127.0.1.3" },
        { .name = "PAI_HOST_IP_psserver_1", .value = NULL },
        { .name = "PAI_TASK_ROLE_TASK_COUNT_psserver", .value = "1" },
    };
    struct pairs env = env_of(*state,
                              "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": ["
                              "{\"name\": \"ps_server\", \"taskNumber\": 2, \"command\": \"x\"},"
                              "{\"name\": \"psserver\", \"command\": \"x\"}]}",
                              0);
    EXPECT(&env, rows);
}

static void test_each_name_once(void **state)
{
    struct pairs env = env_of(*state, two_roles, 0);
    for (size_t i = 0; i < env.n; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(env.at[i].name, env.at[j].name);
}

static void test_retired_field(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", .value = "1" },
        { .name = "PAI_DATA_DIR", .value = "" },
        { .name = "PAI_CODE_DIR", .value = "" },
        { .name = "PAI_VIRTUAL_CLUSTER", .value = "default" },
    };
    struct pairs env =
        env_of(*state,
               "{\"jobName\": \"j\", \"image\": \"i\", \"killAllOnCompletedTaskNumber\": 1, "
               "\"taskRoles\": [{\"name\": \"m\", \"command\": \"x\"}]}",
               0);
    EXPECT(&env, rows);
}

/* A job of another origin that names the convention: no http port, half a GPU. */
static void test_foreign_job(void **state)
{
    static const struct variable rows[] = {
        { .name = "PAI_TASK_ROLE_main_HOST_LIST", .value = "127.0.1.1:0" },
        { .name = "PAI_CONTAINER_HOST_PORT", .value = NULL },
        { .name = "PAI_CONTAINER_HOST_PORT_LIST", .value = "" },
        { .name = "PAI_RESOURCE", .value = "0.5,1.5,0,0" },
        { .name = "PAI_OUTPUT_DIR", .value = "" },
    };
    struct arena *arena = *state;
    struct job_spec *job = job_new(arena);
    job->name = "native";
    job->n_roles = 1;
    job->roles = ARENA_ARRAY(arena, 1, struct role);
    role_init(&job->roles[0]);
    job->roles[0].name = "main";
    job->roles[0].resources.gpu_milli = 500;
    job->roles[0].resources.cpu_milli = 1500;
    struct pairs env = { .n = 0 };
    pairs_set(&env, arena, "MUSTER_JOB", "1");
    v1_env(arena, job, sample_place(arena, job), 0, NULL, &env);
    EXPECT(&env, rows);
    assert_string_equal(env.at[0].name, "MUSTER_JOB");
}

/* 4,000 tasks on one node: the program can still be started, and the rest is counted. */
static void test_large_job(void **state)
{
    struct pairs env =
        env_of(*state,
               "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": [{\"name\": \"m\", "
               "\"taskNumber\": 4000, \"command\": \"x\"}]}",
               3999);
    size_t bytes = 0;
    for (size_t i = 0; i < env.n; i++)
        bytes += strlen(env.at[i].name) + strlen(env.at[i].value) + 2;
    assert_true(bytes < 3 << 19);
    assert_string_equal(pairs_get(&env, "PAI_TASK_ROLE_TASK_COUNT_m"), "4000");
    assert_string_equal(pairs_get(&env, "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"), "3999");
    assert_non_null(pairs_get(&env, "PAI_OMITTED_VARIABLES"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_names),    cmocka_unit_test(test_older_names),
        cmocka_unit_test(test_later_names),        cmocka_unit_test(test_names_no_shell_reads),
        cmocka_unit_test(test_forms_of_two_roles), cmocka_unit_test(test_each_name_once),
        cmocka_unit_test(test_retired_field),      cmocka_unit_test(test_foreign_job),
        cmocka_unit_test(test_large_job),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
