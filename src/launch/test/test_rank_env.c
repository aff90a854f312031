/* The environment and command of a rank against what torchrun 2.13 gives. What the user set stays,
 * and DLRover's variables are added where they are expected. */
#include "launch/rank_env.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct rdzv_place places[] = {
    { .member = 1, .ranks = 2, .first_rank = 0, .node = "a", .addr = "10.0.0.1" },
    { .member = 2, .ranks = 2, .first_rank = 2, .node = "b", .addr = "10.0.0.2" },
};
static const struct rdzv_round round_of_two = {
    .round = 4,
    .group_rank = 1,
    .restarts = 3,
    .world = 4,
    .nodes = 2,
    .role_first = 2,
    .role_world = 4,
    .own = { .member = 2, .ranks = 2, .first_rank = 2, .node = "b", .addr = "10.0.0.2" },
    .places = places,
    .n_places = 2,
    .store_addr = "10.0.0.1",
    .store_port = 46089,
};

static struct settings plain_settings(void)
{
    return (struct settings){
        .name = LAUNCH_TORCHRUN,
        .rdzv = { .max_restarts = 5 },
        .run_id = "job7",
        .ranks = 2,
        .role = "trainer",
        .python = "/usr/bin/python3",
        .script = "train.py",
        .signals_said = "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
    };
}

static struct arena *arena;
static int setup(void **state)
{
    (void)state;
    arena = arena_create();
    unsetenv("OMP_NUM_THREADS");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("HCCL_IF_BASE_PORT");
    unsetenv("TORCH_NCCL_ASYNC_ERROR_HANDLING");
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static const char *value_of(char **env, const char *name)
{
    const char *value = NULL;
    size_t len = strlen(name), found = 0;
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
            value = *env + len + 1;
            found++;
        }
    assert_true(found < 2);
    return value;
}

static void expect(char **env, const char *name, const char *value)
{
    const char *is = value_of(env, name);
    if (!value) {
        assert_null(is);
        return;
    }
    assert_non_null(is);
    assert_string_equal(is, value);
}

static char **make(const struct settings *settings, uint32_t local_rank)
{
    struct rank_place place = { .round = &round_of_two,
                                .local_rank = local_rank,
                                .error_file = "/tmp/x/error.json",
                                .own_restarts = 1 };
    return rank_env_make(arena, settings, &place);
}

static void test_names_of_torchrun(void **state)
{
    (void)state;
    static const struct pair_of_text {
        const char *name, *value;
    } expected[] = {
        { "RANK", "3" },
        { "LOCAL_RANK", "1" },
        { "GROUP_RANK", "1" },
        { "ROLE_RANK", "3" },
        { "ROLE_NAME", "trainer" },
        { "WORLD_SIZE", "4" },
        { "ROLE_WORLD_SIZE", "4" },
        { "LOCAL_WORLD_SIZE", "2" },
        { "GROUP_WORLD_SIZE", "2" },
        { "MASTER_ADDR", "10.0.0.1" },
        { "MASTER_PORT", "46089" },
        { "TORCHELASTIC_RESTART_COUNT", "3" },
        { "TORCHELASTIC_MAX_RESTARTS", "5" },
        { "TORCHELASTIC_RUN_ID", "job7" },
        { "TORCHELASTIC_USE_AGENT_STORE", "True" },
        { "TORCHELASTIC_ERROR_FILE", "/tmp/x/error.json" },
        { "TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT" },
        { "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1" },
        { "OMP_NUM_THREADS", "1" },
        { "DLROVER_PARAL_CONFIG_PATH", NULL },
        { "CUDA_VISIBLE_DEVICES", NULL },
    };
    setenv("RANK", "77", 1);
    setenv("MASTER_ADDR", "elsewhere", 1);
    struct settings settings = plain_settings();
    char **env = make(&settings, 1);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        expect(env, expected[i].name, expected[i].value);
    expect(env, "PATH", getenv("PATH"));
    unsetenv("RANK");
    unsetenv("MASTER_ADDR");
}

static void test_what_the_user_set_stays(void **state)
{
    (void)state;
    setenv("OMP_NUM_THREADS", "7", 1);
    setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", 1);
    struct settings settings = plain_settings();
    assert_false(rank_env_limits_omp(&settings));
    char **env = make(&settings, 0);
    expect(env, "OMP_NUM_THREADS", "7");
    expect(env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "3");
    unsetenv("OMP_NUM_THREADS");
    settings.ranks = 1;
    assert_false(rank_env_limits_omp(&settings));
    expect(make(&settings, 0), "OMP_NUM_THREADS", NULL);
}

static void test_own_count(void **state)
{
    (void)state;
    struct settings settings = plain_settings();
    settings.count_per_agent = true;
    expect(make(&settings, 0), "TORCHELASTIC_RESTART_COUNT", "1");
}

static void test_dlrover(void **state)
{
    (void)state;
    struct settings settings = plain_settings();
    settings.name = LAUNCH_DLROVER_RUN;
    settings.role = "dlrover-trainer";
    settings.accelerator = "nvidia.com/gpu";
    settings.membind = "none";
    settings.training_port = 60000;
    setenv("DLROVER_MASTER_ADDR", "10.1.1.1:5000", 1);
    char **env = make(&settings, 0);
    expect(env, "ROLE_NAME", "dlrover-trainer");
    expect(env, "TORCHELASTIC_SIGNALS_TO_HANDLE", NULL);
    expect(env, "DLROVER_PARAL_CONFIG_PATH", "/tmp/dlrover/auto_paral_config.json");
    expect(env, "RUNTIME_METRICS_PATH", "/tmp/dlrover/runtime_metrics.json");
    expect(env, "DLROVER_ACCELERATOR_TYPE", "nvidia.com/gpu");
    expect(env, "DLROVER_MEMBIND_POLICY", "none");
    expect(env, "HCCL_IF_BASE_PORT", "60000");
    expect(env, "DLROVER_MASTER_ADDR", "10.1.1.1:5000");
    setenv("HCCL_IF_BASE_PORT", "61000", 1);
    expect(make(&settings, 0), "HCCL_IF_BASE_PORT", "61000");
    unsetenv("DLROVER_MASTER_ADDR");
}

static void test_virtual_local_rank(void **state)
{
    (void)state;
    struct settings settings = plain_settings();
    settings.virtual_local_rank = true;
    expect(make(&settings, 1), "LOCAL_RANK", "0");
    expect(make(&settings, 1), "CUDA_VISIBLE_DEVICES", "1");
    setenv("CUDA_VISIBLE_DEVICES", "4, GPU-5f ,6", 1);
    expect(make(&settings, 1), "CUDA_VISIBLE_DEVICES", "GPU-5f");
    expect(make(&settings, 0), "CUDA_VISIBLE_DEVICES", "4");
    setenv("CUDA_VISIBLE_DEVICES", "4", 1);
    expect(make(&settings, 1), "CUDA_VISIBLE_DEVICES", "");
}

/* What a process is held to is a rank's; what the user said stays. */
static void test_share_of_a_gpu(void **state)
{
    (void)state;
    struct settings settings = plain_settings();
    setenv("MUSTER_GPU_SHARE", "0.5", 1);
    setenv("MUSTER_GPU_MEMORY_MIB", "40779", 1);
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=40779M", 1);
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "70", 1);
    char **env = make(&settings, 0);
    expect(env, "MUSTER_GPU_SHARE", "0.250000");
    expect(env, "MUSTER_GPU_MEMORY_MIB", "20389");
    expect(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20389M");
    expect(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "70");
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);
    expect(make(&settings, 0), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
    struct rdzv_round one = round_of_two;
    one.own.ranks = 1;
    const struct rank_place alone = { .round = &one };
    expect(rank_env_make(arena, &settings, &alone), "MUSTER_GPU_SHARE", "0.5");
    setenv("MUSTER_GPU_SHARE", "half", 1);
    expect(make(&settings, 0), "MUSTER_GPU_SHARE", "half");
    unsetenv("MUSTER_GPU_SHARE");
    unsetenv("MUSTER_GPU_MEMORY_MIB");
    unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
}

static void expect_argv(const struct settings *settings, const char *joined)
{
    char **argv = rank_argv_make(arena, settings, 3);
    char text[1024] = "";
    size_t len = 0;
    for (; *argv; argv++)
        len += (size_t)snprintf(text + len, sizeof text - len, "[%s]", *argv);
    assert_string_equal(text, joined);
}

static void test_commands(void **state)
{
    (void)state;
    const char *args[] = { "--lr", "a b\"c'", "", "r${local_rank}-$local_rank.$local_ranks$$5$x" };
    struct settings settings = plain_settings();
    settings.args.at = args;
    settings.args.n = ARRAY_LEN(args);
    expect_argv(&settings, "[/usr/bin/python3][-u][train.py][--lr][a b\"c'][]"
                           "[r3-3.$local_ranks$5$x]");
    settings.args.n = 1;
    settings.kind = PROGRAM_MODULE;
    settings.script = "pkg.train";
    expect_argv(&settings, "[/usr/bin/python3][-u][-m][pkg.train][--lr]");
    settings.kind = PROGRAM_BARE;
    settings.script = "./run.sh";
    expect_argv(&settings, "[./run.sh][--lr]");
    settings.kind = PROGRAM_RUN_PATH;
    settings.script = "t.py";
    char **argv = rank_argv_make(arena, &settings, 3);
    assert_string_equal(argv[2], "-c");
    assert_non_null(strstr(argv[3], "runpy.run_path(sys.argv[0], run_name=\"__main__\")"));
    assert_string_equal(argv[4], "t.py");
    assert_string_equal(argv[5], "--lr");
    assert_null(argv[6]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_of_torchrun, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_the_user_set_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_count, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dlrover, setup, teardown),
        cmocka_unit_test_setup_teardown(test_virtual_local_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(test_share_of_a_gpu, setup, teardown),
        cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
    };
    return cmocka_run_group_tests_name("rank environment", tests, NULL, NULL);
}
