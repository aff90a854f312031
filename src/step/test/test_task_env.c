/* What a task of a step is started with: whose variables win, which devices it sees, which
 * processors it is bound to. */
#include "step/task_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const words[] = { "train", "--fast" }, *const other[] = { "eval" };
static const char *const of_srun[] = { "HOME=/home/ada",     "PATH=/srun/bin",
                                       "SLURM_NNODES=2",     "MUSTER_COOKIE=of-srun",
                                       "SLURMD_NODENAME=n1", "HOSTNAME=login",
                                       "HOSTNAMES=kept",     "no assignment" };
static const char *const of_task[] = { "SLURM_NNODES=3", "OWN=1" };

struct fixture {
    struct arena *arena;
    struct step_task tasks[3];
    struct step_start start;
    struct task_program out;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->arena = arena_create();
    for (uint32_t i = 0; i < 3; i++)
        f->tasks[i].rank = 4 + i;
    f->tasks[1].argv = (struct words){ .at = (const char **)(uintptr_t)other, .n = 1 };
    f->tasks[1].env = (struct words){ .at = (const char **)(uintptr_t)of_task, .n = 2 };
    f->start = (struct step_start){ .argv = { .at = (const char **)(uintptr_t)words, .n = 2 },
                                    .env = { .at = (const char **)(uintptr_t)of_srun,
                                             .n = sizeof of_srun / sizeof *of_srun },
                                    .tasks = f->tasks,
                                    .n_tasks = 3 };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void make(struct fixture *f, size_t local, const char *const *own)
{
    task_program_make(f->arena, &f->start, local, (char *const *)(uintptr_t)own, &f->out);
}

static void is(const struct fixture *f, const char *name, const char *value)
{
    const char *has = task_env_get(f->out.env, name);
    if (!value && !has)
        return;
    if (!value || !has || strcmp(has, value) != 0)
        fail_msg("%s is %s, not %s", name, has ? has : "not there", value ? value : "not there");
}

static void the_node_says_where_it_is(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = { "HOME=/root",
                                       "PATH=/node/bin",
                                       "HOSTNAME=gpu2",
                                       "SLURMD_NODENAME=n2",
                                       "MUSTER_COOKIE=here",
                                       "OTHER=of the node",
                                       NULL };
    make(f, 0, own);
    assert_string_equal(f->out.argv[0], "train");
    assert_string_equal(f->out.argv[1], "--fast");
    assert_null(f->out.argv[2]);
    is(f, "HOME", "/home/ada");
    is(f, "PATH", "/srun/bin");
    is(f, "SLURM_NNODES", "2");
    is(f, "MUSTER_COOKIE", "here");
    is(f, "SLURMD_NODENAME", "n2");
    is(f, "HOSTNAME", "gpu2");
    is(f, "HOSTNAMES", "kept");
    is(f, "OTHER", NULL);
    is(f, "SLURM_PROCID", "4");
    is(f, "SLURM_LOCALID", "0");
    is(f, "SLURM_GTIDS", "4,5,6");
    assert_false(f->out.bound);
}

static void a_task_may_have_a_line_of_its_own(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = { "PATH=/node/bin", NULL };
    f->start.path_front = "/front";
    make(f, 1, own);
    assert_string_equal(f->out.argv[0], "eval");
    assert_null(f->out.argv[1]);
    is(f, "SLURM_NNODES", "3");
    is(f, "OWN", "1");
    is(f, "SLURM_PROCID", "5");
    is(f, "SLURM_LOCALID", "1");
    is(f, "PATH", "/front:/node/bin");
    f->start.path_front = "";
    make(f, 1, own);
    is(f, "PATH", "/node/bin");
    f->start.argv.n = 0;
    make(f, 2, own);
    assert_string_equal(f->out.argv[0], "true");
}

static void devices_are_the_steps_part_of_the_jobs(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = { "CUDA_VISIBLE_DEVICES=0,1,2,3", "SLURM_JOB_GPUS=4,5,6,7",
                                       "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c,GPU-d", NULL };
    uint32_t some[] = { 1, 3 };
    make(f, 0, own);
    is(f, "CUDA_VISIBLE_DEVICES", "0,1,2,3");
    is(f, "SLURM_STEP_GPUS", "4,5,6,7");
    is(f, "SLURM_GPUS_ON_NODE", "4");
    f->start.some_gpus = true;
    f->start.gpus = (struct step_gpus){ .at = some, .n = 2 };
    make(f, 0, own);
    is(f, "CUDA_VISIBLE_DEVICES", "1,3");
    is(f, "NVIDIA_VISIBLE_DEVICES", "GPU-b,GPU-d");
    is(f, "SLURM_JOB_GPUS", "4,5,6,7");
    is(f, "SLURM_STEP_GPUS", "5,7");
    is(f, "SLURM_GPUS_ON_NODE", "2");
    f->start.gpus_per_task = 1;
    make(f, 1, own);
    is(f, "CUDA_VISIBLE_DEVICES", "3");
    is(f, "SLURM_STEP_GPUS", "5,7"); /* of all its tasks */
    make(f, 2, own);                 /* none is left for it */
    is(f, "CUDA_VISIBLE_DEVICES", "");
    f->start.gpus.n = 0;
    make(f, 0, own);
    is(f, "CUDA_VISIBLE_DEVICES", "");
    is(f, "SLURM_GPUS_ON_NODE", "0");
    is(f, "ROCR_VISIBLE_DEVICES", NULL);
}

static void tasks_are_bound_side_by_side(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = { NULL };
    cpu_set_t all, first;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    f->start.cpus_per_task = 1;
    make(f, 0, own);
    assert_true(f->out.bound);
    assert_int_equal(CPU_COUNT(&f->out.cpus), 1);
    first = f->out.cpus;
    make(f, 1, own);
    assert_int_equal(f->out.bound, CPU_COUNT(&all) > 1);
    CPU_AND(&first, &first, &f->out.cpus);
    assert_int_equal(CPU_COUNT(&first), 0);
    f->start.cpus_per_task = (uint32_t)CPU_COUNT(&all) + 1; /* it runs where it can */
    make(f, 0, own);
    assert_false(f->out.bound);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(the_node_says_where_it_is),
        T(a_task_may_have_a_line_of_its_own),
        T(devices_are_the_steps_part_of_the_jobs),
        T(tasks_are_bound_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
