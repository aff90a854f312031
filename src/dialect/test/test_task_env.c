/* What a task finds in its environment of the devices that it has, of launchers and of its share of
 * a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect/gpu_share.h"
#include "dialect/task_env.h"

#include "base/mem.h"

#include <string.h>

static const struct convention promises = { .name = "torchrun", .launchers = LAUNCHER_TORCHRUN };
static const struct convention *const promised[] = { &promises };
static const struct dialects words_known = { .conventions = promised, .n_conventions = 1 };

static struct pairs env_with(struct arena *arena, const struct role *role, enum torchrun choice,
                             bool convention, bool declared)
{
    const char *named[] = { "torchrun" };
    struct job_spec job = { .name = "j", .roles = (struct role *)(uintptr_t)role, .n_roles = 1 };
    if (convention)
        job.conventions = (struct words){ .at = named, .n = 1 };
    uint32_t gpus[] = { 0, 1, 2, 3 };
    struct task_place tasks[2] = { { .address = "127.0.0.2" },
                                   { .index = 1,
                                     .node = "n2",
                                     .address = "127.0.0.3",
                                     .gpus = gpus,
                                     .n_gpus = ARRAY_LEN(gpus),
                                     .gpus_declared = declared } };
    struct job_place place = { .number = 12, .tasks = tasks, .n = 2 };
    struct dialect_task task = { .job = &job, .place = &place, .flat = 1 };
    struct task_host host = { .dialects = &words_known, .torchrun = choice };
    struct pairs env = { .at = NULL };
    task_env(&host, arena, &task, &env);
    return env;
}

static struct pairs env_of(struct arena *arena, const struct role *role, enum torchrun choice,
                           bool convention)
{
    return env_with(arena, role, choice, convention, false);
}

static void declared_devices_are_not_for_cuda(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct role role = { .name = "w", .replicas = 1 };
    struct pairs env = env_with(arena, &role, TORCHRUN_JOB, false, false);
    assert_string_equal(pairs_get(&env, "CUDA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_string_equal(pairs_get(&env, "NVIDIA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_string_equal(pairs_get(&env, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    env = env_with(arena, &role, TORCHRUN_JOB, false, true);
    assert_string_equal(pairs_get(&env, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal(pairs_get(&env, "NVIDIA_VISIBLE_DEVICES"), "0,1,2,3");
    assert_null(pairs_get(&env, "CUDA_DEVICE_ORDER"));
    arena_destroy(arena);
}

static void launchers_find_their_settings(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct role role = { .name = "w", .replicas = 4, .min = 3 };
    struct pairs env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "MUSTER_JOB_NUMBER"), "12");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_INDEX"), "1");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_ADDRESS"), "127.0.0.3");
    assert_string_equal(pairs_get(&env, "MUSTER_TASK_NODE"), "n2");
    assert_null(pairs_get(&env, "MUSTER_LAUNCHERS"));
    assert_null(pairs_get(&env, "PET_NNODES"));
    env = env_of(arena, &role, TORCHRUN_JOB, true);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "torchrun");
    assert_string_equal(pairs_get(&env, "PET_NNODES"), "3:4");
    assert_null(pairs_get(&env, "PET_NPROC_PER_NODE")); /* nothing is said of the launcher */
    env = env_of(arena, &role, TORCHRUN_NEVER, true);
    assert_null(pairs_get(&env, "MUSTER_LAUNCHERS"));
    env = env_of(arena, &role, TORCHRUN_ALWAYS, false);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "torchrun");
    assert_null(pairs_get(&env, "PET_NNODES")); /* the job did not say that its tasks are one */
    role.launcher = (struct launcher){ .max_restarts = 5, .has_max_restarts = true };
    env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "MUSTER_LAUNCHERS"), "dlrover torchrun");
    assert_string_equal(pairs_get(&env, "PET_MAX_RESTARTS"), "5");
    assert_string_equal(pairs_get(&env, "PET_NPROC_PER_NODE"), "4"); /* one per device */
    role.launcher = (struct launcher){ .ranks_per_node = 2,
                                       .has_ranks_per_node = true,
                                       .node_unit = 2,
                                       .has_node_unit = true,
                                       .node_check = true };
    pairs_set(&role.env, arena, "PET_NODE_UNIT", "1");
    env = env_of(arena, &role, TORCHRUN_JOB, false);
    assert_string_equal(pairs_get(&env, "PET_NPROC_PER_NODE"), "2");
    assert_string_equal(pairs_get(&env, "PET_NETWORK_CHECK"), "1");
    assert_null(pairs_get(&env, "PET_NODE_UNIT")); /* the role's own, which is added elsewhere */
    arena_destroy(arena);
}

static void shares_are_told(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct pairs none = { .at = NULL };
    struct gpu_share share = { .milli = 255, .memory = 81559ull << 20 };
    struct pairs env = { .at = NULL };
    gpu_share_env(&share, arena, &none, &env);
    assert_int_equal(env.n, 2);
    assert_string_equal(pairs_get(&env, "MUSTER_GPU_SHARE"), "0.255");
    assert_string_equal(pairs_get(&env, "MUSTER_GPU_MEMORY_MIB"), "20797");
    share.mps = gpu_share_mps(arena, "/run/mps/" MPS_UID "/pipe", 1000);
    struct pairs own = { .at = NULL };
    pairs_set(&own, arena, "CUDA_MPS_PIPE_DIRECTORY", "/their/own");
    gpu_share_env(&share, arena, &own, &env);
    assert_null(
        pairs_get(&env, "CUDA_MPS_PIPE_DIRECTORY")); /* the role's, which is added elsewhere */
    gpu_share_env(&share, arena, &none, &env);
    assert_string_equal(pairs_get(&env, "CUDA_MPS_PIPE_DIRECTORY"), "/run/mps/1000/pipe");
    assert_string_equal(pairs_get(&env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "26");
    assert_string_equal(pairs_get(&env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=20797M");
    share = (struct gpu_share){ .milli = 5, .mps = "/m" }; /* a declared device */
    struct pairs small = { .at = NULL };
    gpu_share_env(&share, arena, &none, &small);
    assert_string_equal(pairs_get(&small, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "1");
    assert_null(pairs_get(&small, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
    assert_string_equal(gpu_share_mps(arena, "/m", 7), "/m");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declared_devices_are_not_for_cuda),
        cmocka_unit_test(launchers_find_their_settings),
        cmocka_unit_test(shares_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
