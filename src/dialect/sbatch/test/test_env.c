/* The variables of a placed job, compared with what Slurm 22.05.8 gave the same options; and how it
 * names states and ends. */
#include "dialect/sbatch/test/sample.h"
#include "dialect/test/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The job on nodes of its own, gpu01 .. , and what its task finds. */
static struct pairs env_of(struct sample *s, uint32_t flat, bool own_nodes)
{
    struct pairs env = { .n = 0 };
    struct job_place *place = sample_place(s->arena, s->job);
    const struct site site = { .work_dir = "/home/ada" };
    for (uint32_t i = 0; own_nodes && i < place->n; i++)
        place->tasks[i].node = arena_printf(s->arena, "gpu%02u", i + 1);
    for (uint32_t i = 0; i < place->n; i++) {
        struct task_place *task = &place->tasks[i];
        task->n_gpus = (uint32_t)(s->job->roles[task->role].resources.gpu_milli / 1000);
        task->gpus = ARENA_ARRAY(s->arena, task->n_gpus, uint32_t);
        for (uint32_t k = 0; k < task->n_gpus; k++)
            task->gpus[k] = k;
    }
    if (s->job->array.count) {
        place->array = 40;
        place->array_index = s->job->array.first;
    }
    sbatch_convention.env(s->arena, s->job, place, flat, &site, &env);
    return env;
}

static void check(const struct pairs *env, const char *const (*wanted)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = pairs_get(env, wanted[i][0]);
        if (!wanted[i][1] ? value != NULL : !value || strcmp(value, wanted[i][1]) != 0)
            fail_msg("%s is %s, not %s", wanted[i][0], value ? value : "absent",
                     wanted[i][1] ? wanted[i][1] : "absent");
    }
}
#define CHECK(env, rows) check(env, rows, sizeof(rows) / sizeof *(rows))

static void test_two_by_two(void **state)
{
    static const char *const first[][2] = {
        { "SLURM_JOB_ID", "12" },
        { "SLURM_JOB_NAME", "two" },
        { "SLURM_JOB_NODELIST", "gpu[01-02]" },
        { "SLURM_NNODES", "2" },
        { "SLURM_NTASKS", "4" },
        { "SLURM_NTASKS_PER_NODE", "2" },
        { "SLURM_TASKS_PER_NODE", "2(x2)" },
        { "SLURM_CPUS_PER_TASK", "2" },
        { "SLURM_CPUS_ON_NODE", "4" },
        { "SLURM_JOB_CPUS_PER_NODE", "4(x2)" },
        { "SLURM_MEM_PER_NODE", "4096" },
        { "SLURM_SUBMIT_DIR", "/home/ada" },
        { "SLURM_JOB_PARTITION", "default" },
        { "SLURMD_NODENAME", "gpu01" },
        { "SLURM_PROCID", "0" },
        { "SLURM_RESTART_COUNT", NULL },
        { "SLURM_JOB_GPUS", NULL },
        { "MUSTER_STEP_NODES", "gpu01=127.0.1.1:30000,gpu02=127.0.1.2:30001" },
    };
    static const char *const second[][2] = { { "SLURM_NODEID", "1" },
                                             { "SLURMD_NODENAME", "gpu02" },
                                             { "SLURM_PROCID", NULL } };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH -J two -N2 --ntasks-per-node=2 -c2 -t 5 --mem=4G");
    struct pairs env = env_of(&s, 0, true);
    CHECK(&env, first);
    env = env_of(&s, 1, true);
    CHECK(&env, second);
    sample_end(&s);
}

/* The node says how many cores it has. */
static void test_whole_nodes(void **state)
{
    static const char *const rows[][2] = { { "SLURM_CPUS_ON_NODE", NULL },
                                           { "SLURM_CPUS_PER_TASK", "2" } };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH --exclusive -c2");
    struct pairs env = env_of(&s, 0, true);
    CHECK(&env, rows);
    sample_end(&s);
}

static void test_devices(void **state)
{
    static const char *const rows[][2] = {
        { "SLURM_GPUS_ON_NODE", "2" },   { "SLURM_JOB_GPUS", "0,1" },
        { "SLURM_GPUS_PER_NODE", NULL }, { "SLURM_NTASKS", NULL }, /* nothing was said of tasks */
        { "SLURM_TASKS_PER_NODE", "1" },
    };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH --gres=gpu:2");
    struct pairs env = env_of(&s, 0, true);
    CHECK(&env, rows);
    sample_end(&s);
}

static void test_same_machine(void **state)
{
    static const char *const rows[][2] = { { "SLURM_JOB_NODELIST", "n[1-3]" },
                                           { "SLURMD_NODENAME", "n2" } };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH -N3");
    struct pairs env = env_of(&s, 1, false);
    CHECK(&env, rows);
    sample_end(&s);
}

static void test_array(void **state)
{
    static const char *const rows[][2] = {
        { "SLURM_ARRAY_JOB_ID", "40" },    { "SLURM_ARRAY_TASK_ID", "2" },
        { "SLURM_ARRAY_TASK_MAX", "8" },   { "SLURM_ARRAY_TASK_MIN", "2" },
        { "SLURM_ARRAY_TASK_COUNT", "3" }, { "SLURM_ARRAY_TASK_STEP", "3" },
        { "SLURM_JOB_ID", "12" },
    };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH -a 2-9:3");
    struct pairs env = env_of(&s, 0, true);
    CHECK(&env, rows);
    sample_end(&s);
}

static void test_components(void **state)
{
    static const char *const rows[][2] = {
        { "SLURM_HET_SIZE", "2" },
        { "SLURM_JOB_NODELIST", "gpu01" },
        { "SLURM_JOB_NODELIST_HET_GROUP_1", "gpu[02-03]" },
        { "SLURM_NTASKS_HET_GROUP_0", "3" },
        { "SLURM_NTASKS_HET_GROUP_1", "2" },
        { "MUSTER_STEP_NODES",
          "gpu01=127.0.1.1:30000;gpu02=127.0.1.2:30001,gpu03=127.0.1.3:30002" },
    };
    struct sample s;
    (void)state;
    sample_read(&s, "#SBATCH -N1 -n3\n#SBATCH hetjob\n#SBATCH -N2 -n2");
    struct pairs env = env_of(&s, 0, true);
    CHECK(&env, rows);
    sample_end(&s);
}

static void test_ends(void **state)
{
    static const struct {
        struct ending ending;
        const char *phrase;
        enum end_class class;
    } ends[] = {
        { { .exited = true }, "COMPLETED", END_SUCCESS },
        { { .exited = true, .code = 3 }, "FAILED", END_USER },
        { { .signal = 9 }, "FAILED", END_USER },
        { { .by = BY_USER, .signal = 15 }, "CANCELLED", END_STOPPED },
        { { .by = BY_LIMIT, .signal = 15 }, "TIMEOUT", END_USER },
        { { .lost = true }, "NODE_FAIL", END_PLATFORM },
        { { .oom = true, .signal = 9 }, "OUT_OF_MEMORY", END_USER },
        { { .by = BY_CONFLICT }, "BOOT_FAIL", END_CONFLICT },
    };
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct end_words words = sbatch_convention.classify(NULL, &ends[i].ending);
        assert_string_equal(words.phrase, ends[i].phrase);
        assert_int_equal(words.class, ends[i].class);
    }
    assert_string_equal(sbatch_convention.job_word(JOB_QUEUED, false), "PENDING");
    assert_string_equal(sbatch_convention.job_word(JOB_SUCCEEDED, false), "COMPLETED");
    assert_string_equal(sbatch_convention.task_word(TASK_RUNNING), "RUNNING");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_by_two),   cmocka_unit_test(test_devices),
        cmocka_unit_test(test_same_machine), cmocka_unit_test(test_array),
        cmocka_unit_test(test_components),   cmocka_unit_test(test_ends),
        cmocka_unit_test(test_whole_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
