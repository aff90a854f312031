/* What every task is told of itself, whatever its format: job, role, indexes, devices, and the
 * launcher's part of its environment. Pure; a variable that the job sets itself is left to it. */
#include "dialect/task_env.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dialect/gpu_share.h"

#include <stdarg.h>
#include <stdio.h>

struct making {
    struct arena *arena;
    const struct role *role;
    struct pairs *env;
};

__attribute__((format(printf, 3, 4))) static void put(const struct making *m, const char *name,
                                                      const char *fmt, ...)
{
    char value[512];
    va_list ap;
    if (pairs_get(&m->role->env, name))
        return;
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    pairs_set(m->env, m->arena, name, value);
}

static unsigned launchers_of(const struct task_host *host, const struct job_spec *job,
                             const struct role *role)
{
    unsigned found = dialect_launchers(host->dialects, job);
    if (job_launcher_set(&role->launcher))
        found |= LAUNCHER_TORCHRUN | LAUNCHER_DLROVER;
    return found;
}

static void put_launchers(const struct making *m, const struct task_host *host, unsigned promised)
{
    bool torchrun = promised & LAUNCHER_TORCHRUN, dlrover = promised & LAUNCHER_DLROVER;
    bool slurm = promised & LAUNCHER_SLURM;
    if (host->torchrun != TORCHRUN_JOB)
        torchrun = host->torchrun == TORCHRUN_ALWAYS;
    const char *words[] = { dlrover ? "dlrover" : NULL, torchrun ? "torchrun" : NULL,
                            slurm ? "slurm" : NULL };
    AUTO_BUF struct buf list = BUF_INIT(64);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i])
            buf_addf(&list, "%s%s", list.len ? " " : "", words[i]);
    if (list.len)
        put(m, "MUSTER_LAUNCHERS", "%s", buf_str(&list));
}

/* The tasks of the role are the nodes of one world. */
static void put_defaults(const struct making *m, const struct task_place *place)
{
    const struct launcher *l = &m->role->launcher;
    const uint32_t most = m->role->replicas - m->role->spares;
    if (m->role->replicas > 1)
        put(m, "PET_NNODES", "%u:%u", m->role->min ? m->role->min : most, most);
    if (m->role->python)
        put(m, "PET_NODE_RANK", "%u", place->index);
    if (m->role->python && l->ranks_per_node == 1)
        put(m, "PET_WARM", "off"); /* as large as the one rank that it would spare its imports */
    if (l->has_ranks_per_node)
        put(m, "PET_NPROC_PER_NODE", "%u", l->ranks_per_node);
    else if (job_launcher_set(l) && place->n_gpus > 0)
        put(m, "PET_NPROC_PER_NODE", "%u", place->n_gpus);
    if (l->has_max_restarts)
        put(m, "PET_MAX_RESTARTS", "%u", l->max_restarts);
    if (l->has_node_unit)
        put(m, "PET_NODE_UNIT", "%u", l->node_unit);
    if (l->node_check)
        put(m, "PET_NETWORK_CHECK", "1");
}

/* Which of them it is. */
static void put_array(const struct making *m, const struct job_place *place,
                      const struct job_array *array)
{
    if (!place->array)
        return;
    put(m, "MUSTER_ARRAY_JOB", "%llu", (unsigned long long)place->array);
    put(m, "MUSTER_ARRAY_INDEX", "%u", place->array_index);
    put(m, "MUSTER_ARRAY_COUNT", "%u", array->count);
    put(m, "MUSTER_ARRAY_FIRST", "%u", array->first);
    put(m, "MUSTER_ARRAY_LAST", "%u", job_array_index(array, array->count - 1));
    put(m, "MUSTER_ARRAY_STEP", "%u", array->step);
}

#define ORDER    "CUDA_DEVICE_ORDER"
#define GPUS_MAX (1u << 20)

/* The devices it was given, unless the job says itself which it wants to see. Numbers are the
 * driver's, and CUDA counts by speed unless it is told otherwise. Declared devices are no devices:
 * their numbers are told where nothing on the node reads them, and CUDA is shown none. */
static void put_gpus(const struct making *m, const struct task_place *place)
{
    const struct {
        const char *name, *nothing;
        bool any;
    } lists[] = {
        { "CUDA_VISIBLE_DEVICES", "", place->n_gpus > 0 && !place->gpus_declared },
        { "NVIDIA_VISIBLE_DEVICES", "none", place->n_gpus > 0 },
    };
    AUTO_BUF struct buf list = BUF_INIT(GPUS_MAX);
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        buf_puts(&list, i ? "," : "");
        if (place->gpu_names)
            buf_puts(&list, place->gpu_names[i]);
        else
            buf_addf(&list, "%u", place->gpus[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (!pairs_get(&m->role->env, lists[i].name))
            pairs_set(m->env, m->arena, lists[i].name,
                      lists[i].any ? buf_str(&list) : lists[i].nothing);
    if (lists[0].any && !pairs_get(&m->role->env, ORDER))
        pairs_set(m->env, m->arena, ORDER, "PCI_BUS_ID");
}

void task_env(const struct task_host *host, struct arena *arena, const struct dialect_task *task,
              struct pairs *env)
{
    const struct job_spec *job = task->job;
    const struct task_place *place = &task->place->tasks[task->flat];
    const struct making m = { .arena = arena, .role = &job->roles[place->role], .env = env };
    unsigned promised = launchers_of(host, job, m.role);
    put(&m, "MUSTER_JOB_NAME", "%s", job->name ? job->name : "");
    put(&m, "MUSTER_JOB_NUMBER", "%llu", (unsigned long long)task->place->number);
    put(&m, "MUSTER_ROLE", "%s", m.role->name);
    put(&m, "MUSTER_TASK_INDEX", "%u", place->index);
    put(&m, "MUSTER_TASK_NODE", "%s", place->node ? place->node : "");
    put(&m, "MUSTER_TASK_ADDRESS", "%s", place->address ? place->address : "");
    put(&m, "MUSTER_RESTART_COUNT", "%u", place->attempt ? place->attempt - 1 : 0);
    put_array(&m, task->place, &job->array);
    if (host->server)
        put(&m, "MUSTER_SERVER", "%s", host->server);
    put_launchers(&m, host, promised);
    if (promised & ~(unsigned)LAUNCHER_SLURM)
        put_defaults(&m, place);
    put_gpus(&m, place);
    if (place->gpu_share_milli) {
        const struct gpu_share share = { .milli = place->gpu_share_milli,
                                         .memory = host->gpu_memory,
                                         .mps = host->gpu_mps };
        gpu_share_env(&share, arena, &m.role->env, env);
    }
}
