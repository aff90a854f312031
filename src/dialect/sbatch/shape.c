/* What a component asks for, counted out for each node.
 *
 * Role: options -> nodes, tasks, and the resources of one node. Slurm gives a job nodes of possibly
 * different sizes; here all nodes of a component are alike, each as large as the fullest one.
 * Inputs: values. Effects: problems in the report. */
#include "dialect/sbatch/script.h"
#include "dialect/sbatch/values.h"

#include "base/hostlist.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum { CPU_MAX = 1000000, MIB_SHIFT = 20 };

struct counting {
    const struct sb_reader *r;
    const struct sb_part *part;
    struct sb_shape *out;
    uint64_t gpus, gpus_per_node, gpus_per_task; /* 0: not said */
};

/* A count of an option, at least 1; 0 when it is not said or is none (then that was reported). */
static uint64_t count_of(const struct counting *c, enum sb_id id)
{
    uint64_t n;
    if (!sb_has(c->part, id))
        return 0;
    if (sb_count(sb_text(c->part, id), &n) && n >= 1 && n <= CPU_MAX)
        return n;
    report_hint(c->r->report, sb_fail(c->r, c->part, id, "is no number of at least 1"), "4");
    return 0;
}

/* ---- devices ---- */

static void take_type(const struct counting *c, enum sb_id id, const char *type)
{
    if (type && c->out->gpu_type && strcasecmp(type, c->out->gpu_type) != 0)
        sb_warn(c->r, c->part, id, "is another model than %.40s, which counts", c->out->gpu_type);
    else if (type)
        c->out->gpu_type = type;
}

static uint64_t gpus_of(const struct counting *c, enum sb_id id)
{
    struct sb_gres gres;
    if (!sb_has(c->part, id))
        return 0;
    if (!sb_gpus(c->r->arena, sb_text(c->part, id), &gres) || gres.count > CPU_MAX) {
        report_hint(c->r->report, sb_fail(c->r, c->part, id, "is no number of devices"),
                    "4, or a100:4");
        return 0;
    }
    take_type(c, id, gres.type);
    return gres.count;
}

static void read_gres(struct counting *c)
{
    struct sb_gres list[SB_GRES_MAX];
    if (!sb_has(c->part, SBO_GRES))
        return;
    size_t n = sb_gres(c->r->arena, sb_text(c->part, SBO_GRES), list);
    if (n == SIZE_MAX) {
        report_hint(c->r->report, sb_fail(c->r, c->part, SBO_GRES, "is no list of resources"),
                    "gpu:2, or gpu:a100:2,licence:1");
        return;
    }
    c->out->custom.at = ARENA_ARRAY(c->r->arena, n, struct amount);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, "gpus") == 0) {
            report_hint(c->r->report,
                        sb_fail(c->r, c->part, SBO_GRES, "names gpus, as --gpus does"),
                        "gpu:1, or gpu:a100:1");
        } else if (strcmp(list[i].name, "gpu") == 0 && list[i].count <= CPU_MAX) {
            c->gpus_per_node += list[i].count;
            take_type(c, SBO_GRES, list[i].type);
        } else if (list[i].count && list[i].count <= CPU_MAX) {
            c->out->custom.at[c->out->custom.n++] =
                (struct amount){ .name = list[i].name, .milli = list[i].count * 1000 };
        }
    }
}

static const char *const models[] = { "a10",   "a100",    "a30",     "a40",   "b200",
                                      "gh200", "h100",    "h200",    "h800",  "a800",
                                      "k80",   "l4",      "l40",     "l40s",  "mi100",
                                      "mi200", "mi210",   "mi250",   "mi300", "p100",
                                      "p40",   "rtx6000", "rtx8000", "t4",    "v100" };

static bool is_model(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (strcasecmp(word, models[i]) == 0)
            return true;
    return false;
}

static void read_constraint(const struct counting *c)
{
    const char *text = sb_text(c->part, SBO_CONSTRAINT);
    if (!text)
        return;
    if (is_model(text))
        take_type(c, SBO_CONSTRAINT, text);
    else
        report_hint(c->r->report,
                    sb_warn(c->r, c->part, SBO_CONSTRAINT, "has no effect: nodes have no features"),
                    "--gres=gpu:MODEL:N asks for a model, --nodelist for nodes; with `--engine "
                    "slurm` Slurm is asked for it");
}

/* ---- nodes and tasks ---- */

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return b ? (a + b - 1) / b : a;
}

static uint64_t listed_nodes(const struct counting *c)
{
    const char **names, *text = sb_text(c->part, SBO_NODELIST);
    struct err err;
    size_t n;
    return text && hostlist_read(c->r->arena, text, &names, &n, &err) == 0 ? n : 0;
}

static uint64_t read_nodes(const struct counting *c, uint64_t tasks, uint64_t per_node)
{
    uint64_t min, max, listed = listed_nodes(c);
    if (!sb_has(c->part, SBO_NODES)) {
        if (listed)
            return listed;
        if (c->gpus && c->gpus_per_node)
            return divide_up(c->gpus, c->gpus_per_node);
        return tasks && per_node ? divide_up(tasks, per_node) : 1;
    }
    if (!sb_range(sb_text(c->part, SBO_NODES), &min, &max) || min < 1 || max < min ||
        max > JOB_MAX_TASKS) {
        report_hint(c->r->report, sb_fail(c->r, c->part, SBO_NODES, "is no number of nodes"),
                    "2, or 2-4");
        return 1;
    }
    if (max > min)
        report_hint(c->r->report,
                    sb_warn(c->r, c->part, SBO_NODES, "is a range, %llu are taken",
                            (unsigned long long)min),
                    "Slurm takes more where there are more");
    return min;
}

/* How many tasks, and how many on a node, where they are said by way of devices. */
static void say_tasks(struct counting *c, uint64_t *tasks, uint64_t *per_node)
{
    *tasks = count_of(c, SBO_NTASKS);
    *per_node = count_of(c, SBO_NTASKS_PER_NODE);
    uint64_t per_gpu = count_of(c, SBO_NTASKS_PER_GPU);
    if (!*tasks && c->gpus && per_gpu)
        *tasks = c->gpus * per_gpu;
    if (!*tasks && !*per_node && c->gpus && c->gpus_per_task)
        *tasks = c->gpus / c->gpus_per_task;
    if (!*per_node && c->gpus_per_node && per_gpu)
        *per_node = c->gpus_per_node * per_gpu;
}

static void check_tasks(const struct counting *c, uint64_t per_node)
{
    const struct sb_shape *out = c->out;
    bool placed = per_node || sb_has(c->part, SBO_NODES) || c->r->n_parts > 1;
    if (out->tasks > 1 && out->nodes == 1 && !placed)
        report_hint(c->r->report, sb_warn(c->r, c->part, SBO_NTASKS, "all run on one node"),
                    "--nodes=N spreads them; Slurm takes as many nodes as it needs");
    if (per_node && out->per_node > per_node)
        sb_fail(c->r, c->part, SBO_NTASKS_PER_NODE, "on %u nodes are fewer than the %u tasks",
                out->nodes, out->tasks);
}

static void count_tasks(struct counting *c)
{
    struct sb_shape *out = c->out;
    uint64_t tasks, per_node;
    say_tasks(c, &tasks, &per_node);
    uint64_t nodes = read_nodes(c, tasks, per_node);
    if (tasks && tasks < nodes) {
        sb_warn(c->r, c->part, SBO_NODES, "is more than the %llu tasks, %llu nodes are taken",
                (unsigned long long)tasks, (unsigned long long)tasks);
        nodes = tasks;
    }
    if (!tasks && per_node)
        tasks = nodes * per_node;
    if (tasks > JOB_MAX_TASKS || nodes > JOB_MAX_TASKS) {
        sb_fail(c->r, c->part, tasks > JOB_MAX_TASKS ? SBO_NTASKS : SBO_NODES,
                "is more than the %u that a job may have", JOB_MAX_TASKS);
        tasks = nodes = 1;
    }
    out->nodes = (uint32_t)nodes;
    out->tasks = (uint32_t)tasks;
    out->per_node = (uint32_t)(tasks ? divide_up(tasks, nodes) : 1);
    check_tasks(c, per_node);
}

/* ---- amounts of a node ---- */

static void count_devices(const struct counting *c)
{
    struct sb_shape *out = c->out;
    uint64_t gpus = c->gpus_per_node;
    if (!gpus && c->gpus) {
        gpus = divide_up(c->gpus, out->nodes);
        if (gpus * out->nodes != c->gpus)
            sb_warn(c->r, c->part, SBO_GPUS, "does not divide by %u nodes, each gets %llu",
                    out->nodes, (unsigned long long)gpus);
    }
    if (!gpus)
        gpus = c->gpus_per_task * out->per_node;
    out->gpu = gpus;
}

static void count_cpus(const struct counting *c)
{
    struct sb_shape *out = c->out;
    uint64_t per_task = count_of(c, SBO_CPUS_PER_TASK), per_gpu = count_of(c, SBO_CPUS_PER_GPU);
    uint64_t least = count_of(c, SBO_MINCPUS);
    if (per_task && per_gpu)
        sb_fail(c->r, c->part, SBO_CPUS_PER_GPU, "and --cpus-per-task exclude each other");
    out->cpus_per_task = (uint32_t)per_task;
    uint64_t cpus = (per_task ? per_task : 1) * out->per_node;
    if (per_gpu && out->gpu)
        cpus = per_gpu * out->gpu;
    if (sb_has(c->part, SBO_OVERCOMMIT))
        cpus = 1;
    out->cpu = cpus > least ? cpus : least;
    if (out->cpu > CPU_MAX) {
        sb_fail(c->r, c->part, SBO_CPUS_PER_TASK, "is more than a node can have");
        out->cpu = 1;
    }
    if (!sb_has(c->part, SBO_EXCLUSIVE))
        return;
    out->cpu = 0;
    report_hint(c->r->report,
                sb_warn(c->r, c->part, SBO_EXCLUSIVE,
                        "lifts the limit of cores, and keeps nobody "
                        "else from the nodes"),
                "ask for what the job needs: --cpus-per-task, --mem, --gpus-per-node");
}

static uint64_t memory_of(const struct counting *c, enum sb_id id, uint64_t times)
{
    uint64_t bytes = 0;
    if (!sb_has(c->part, id))
        return 0;
    if (!sb_memory(sb_text(c->part, id), &bytes))
        report_hint(c->r->report, sb_fail(c->r, c->part, id, "is no amount of memory"),
                    "a whole number with K, M, G or T: 64G, 1500M");
    if (times && bytes > (UINT64_MAX >> 1) / times)
        sb_fail(c->r, c->part, id, "is more than a node can have");
    return bytes * times;
}

/* A node whose cores have no limit has no number of cores to multiply with. */
static void lift_memory(const struct counting *c)
{
    sb_warn(c->r, c->part, SBO_MEM_PER_CPU, "limits nothing with --exclusive");
    c->out->memory = 0;
}

static void count_memory(const struct counting *c)
{
    static const enum sb_id ways[] = { SBO_MEM, SBO_MEM_PER_CPU, SBO_MEM_PER_GPU };
    struct sb_shape *out = c->out;
    const uint64_t times[] = { 1, out->cpu ? out->cpu : 1, out->gpu };
    size_t said = 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (!sb_has(c->part, ways[i]))
            continue;
        if (said++)
            sb_fail(c->r, c->part, ways[i],
                    "and another of --mem, --mem-per-cpu, --mem-per-gpu exclude each other");
        out->memory = memory_of(c, ways[i], times[i]);
        if (ways[i] == SBO_MEM_PER_CPU && sb_has(c->part, SBO_EXCLUSIVE) && out->memory)
            lift_memory(c);
    }
    out->disk = memory_of(c, SBO_TMP, 1);
}

void sb_shape(const struct sb_reader *r, const struct sb_part *part, struct sb_shape *out)
{
    *out = (struct sb_shape){ .nodes = 1, .per_node = 1 };
    struct counting c = { .r = r, .part = part, .out = out };
    read_gres(&c);
    read_constraint(&c);
    c.gpus = gpus_of(&c, SBO_GPUS);
    uint64_t node = gpus_of(&c, SBO_GPUS_PER_NODE);
    if (node)
        c.gpus_per_node = node;
    c.gpus_per_task = gpus_of(&c, SBO_GPUS_PER_TASK);
    if (c.gpus_per_task && sb_has(part, SBO_NTASKS_PER_GPU))
        sb_fail(r, part, SBO_NTASKS_PER_GPU, "and --gpus-per-task exclude each other");
    if (c.gpus && c.gpus_per_node && sb_has(part, SBO_GPUS_PER_NODE) && c.gpus % c.gpus_per_node)
        sb_fail(r, part, SBO_GPUS, "is no multiple of --gpus-per-node");
    count_tasks(&c);
    count_devices(&c);
    count_cpus(&c);
    count_memory(&c);
}
