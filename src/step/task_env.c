/* The environment comes from srun, as in Slurm; of this node are the variables that say where a
 * process of the job is and which devices it has. */
#include "step/task_env.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/pairs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A name that ends with _ stands for all that begin so. */
static const char *const of_the_node[] = { "MUSTER_",  "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR",
                                           "HOSTNAME", "VIRTUAL_ENV",     "SLURM_CPUS_ON_NODE" };
static const char *const of_devices[] = { "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                          "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                          "ZE_AFFINITY_MASK" };

const char *task_env_get(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static bool is_of_node(const char *entry)
{
    size_t name = strcspn(entry, "=");
    for (size_t i = 0; i < ARRAY_LEN(of_the_node); i++) {
        size_t n = strlen(of_the_node[i]);
        bool all = of_the_node[i][n - 1] == '_';
        if (strncmp(entry, of_the_node[i], n) == 0 && (all || name == n))
            return true;
    }
    return false;
}

static void set_entry(struct pairs *env, struct arena *a, const char *entry)
{
    size_t n = strcspn(entry, "=");
    if (entry[n])
        pairs_set(env, a, arena_strndup(a, entry, n), entry + n + 1);
}

/* ---- devices ---- */

/* Word i of "a,b,c"; NULL: there are fewer. */
static const char *word_at(struct arena *a, const char *list, uint32_t i)
{
    for (; *list && i > 0; i--) {
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return *list ? arena_strndup(a, list, strcspn(list, ",")) : NULL;
}

static uint32_t count_words(const char *list)
{
    uint32_t n = *list ? 1 : 0;
    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* The words that the step has, of which the task gets its part. */
static const char *choose(struct arena *a, const struct step_start *start, size_t local,
                          const char *list)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    uint32_t n = start->some_gpus ? (uint32_t)start->gpus.n : count_words(list);
    uint32_t first = 0, end = n;
    if (start->gpus_per_task) {
        first = (uint32_t)local * start->gpus_per_task;
        end = first + start->gpus_per_task;
    }
    for (uint32_t i = first; i < end && i < n; i++) {
        const char *word = word_at(a, list, start->some_gpus ? start->gpus.at[i] : i);
        if (word)
            buf_addf(&out, "%s%s", out.len ? "," : "", word);
    }
    return arena_strdup(a, buf_str(&out));
}

static void put_devices(struct pairs *env, struct arena *a, const struct step_start *start,
                        size_t local, char *const *own)
{
    for (size_t i = 0; i < ARRAY_LEN(of_devices); i++) {
        const char *list = task_env_get(own, of_devices[i]);
        if (list)
            pairs_set(env, a, of_devices[i], choose(a, start, local, list));
    }
    const char *numbers = task_env_get(own, "SLURM_JOB_GPUS");
    if (!numbers)
        return;
    struct step_start step = *start;
    step.gpus_per_task = 0;
    const char *of_step = choose(a, &step, 0, numbers);
    pairs_set(env, a, "SLURM_JOB_GPUS", numbers);
    pairs_set(env, a, "SLURM_STEP_GPUS", of_step);
    pairs_setf(env, a, "SLURM_GPUS_ON_NODE", "%u", count_words(of_step));
}

/* ---- processors ---- */

/* The task's part of those that this process may use. */
static void bind(const struct step_start *start, size_t local, struct task_program *out)
{
    cpu_set_t all;
    uint32_t wanted = start->cpus_per_task, skip = (uint32_t)local * wanted, taken = 0;
    CPU_ZERO(&out->cpus);
    if (!wanted || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && taken < wanted; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        CPU_SET(cpu, &out->cpus);
        taken++;
    }
    out->bound = taken == wanted; /* too few are left: it runs where it can */
}

/* ---- the whole ---- */

static void put_place(struct pairs *env, struct arena *a, const struct step_start *start,
                      size_t local)
{
    AUTO_BUF struct buf ranks = BUF_INIT(64 << 10);
    for (size_t i = 0; i < start->n_tasks; i++)
        buf_addf(&ranks, "%s%u", i ? "," : "", start->tasks[i].rank);
    pairs_setf(env, a, "SLURM_PROCID", "%u", start->tasks[local].rank);
    pairs_setf(env, a, "SLURM_LOCALID", "%zu", local);
    pairs_set(env, a, "SLURM_GTIDS", buf_str(&ranks));
}

static void put_path(struct pairs *env, struct arena *a, const struct step_start *start,
                     char *const *own)
{
    const char *path = task_env_get(own, "PATH");
    if (start->path_front && path)
        pairs_setf(env, a, "PATH", "%s%s%s", start->path_front, *start->path_front ? ":" : "",
                   path);
}

static char **entries(struct arena *a, const struct pairs *env)
{
    char **list = ARENA_ARRAY(a, env->n + 1, char *);
    for (size_t i = 0; i < env->n; i++)
        list[i] = arena_printf(a, "%s=%s", env->at[i].name, env->at[i].value);
    return list;
}

void task_program_make(struct arena *a, const struct step_start *start, size_t local,
                       char *const *own, struct task_program *out)
{
    const struct step_task *task = &start->tasks[local];
    const struct words *words = task->argv.n ? &task->argv : &start->argv;
    struct pairs env = { .n = 0 };
    *out = (struct task_program){ .argv = ARENA_ARRAY(a, words->n + 2, char *) };
    for (size_t i = 0; i < words->n; i++)
        out->argv[i] = arena_strdup(a, words->at[i]);
    if (words->n == 0)
        out->argv[0] = arena_strdup(a, "true");
    for (size_t i = 0; i < start->env.n; i++)
        if (!is_of_node(start->env.at[i]))
            set_entry(&env, a, start->env.at[i]);
    for (char *const *at = own; *at; at++)
        if (is_of_node(*at))
            set_entry(&env, a, *at);
    for (size_t i = 0; i < task->env.n; i++)
        set_entry(&env, a, task->env.at[i]);
    put_place(&env, a, start, local);
    put_path(&env, a, start, own);
    put_devices(&env, a, start, local, own);
    bind(start, local, out);
    out->env = entries(a, &env);
}
