/* srun. Each of its tasks is a task of the job, with the variables that Slurm would give it; those
 * of one node share a node. A launcher's line behind it (srun -N 2 torchrun --nnodes=2 ...) says
 * the same nodes once more, and is the job.
 *
 * Source of the options and of the variables: Slurm 22.05, srun(1). */
#include "cli/line/srun.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/shell_word.h"
#include "cli/line/number.h"
#include "cli/line/options.h"

#include <string.h>

enum {
    TASKS = 1,
    NODES,
    PER_NODE,
    CPUS,
    GPUS_TASK,
    GPUS_NODE,
    GPUS,
    GRES,
    MEMORY,
    MEMORY_CPU,
    TIME,
    QUEUE,
    NAME,
    EXPORT,
    CHDIR,
    LEFT,
    REFUSED,
};

static const struct line_option rows[] = {
    { "n ntasks", 1, TASKS },
    { "N nodes", 1, NODES },
    { "ntasks-per-node", 1, PER_NODE },
    { "c cpus-per-task", 1, CPUS },
    { "gpus-per-task", 1, GPUS_TASK },
    { "gpus-per-node", 1, GPUS_NODE },
    { "G gpus", 1, GPUS },
    { "gres", 1, GRES },
    { "mem", 1, MEMORY },
    { "mem-per-cpu", 1, MEMORY_CPU },
    { "t time", 1, TIME },
    { "p partition", 1, QUEUE },
    { "J job-name", 1, NAME },
    { "export", 1, EXPORT },
    { "D chdir", 1, CHDIR },
    { "u unbuffered l label K kill-on-bad-exit exclusive overlap exact s oversubscribe v verbose Q "
      "quiet",
      0, LEFT },
    { "A account q qos w nodelist x exclude C constraint mpi W wait cpu-bind gpu-bind mem-bind", 1,
      LEFT },
    { "m distribution hint threads-per-core o output e error i input comment mail-type mail-user",
      1, LEFT },
    { "ntasks-per-core ntasks-per-socket sockets-per-node cores-per-socket switches", 1, LEFT },
    { "jobid het-group multi-prog ntasks-per-gpu cpus-per-gpu mem-per-gpu r relative", 1, REFUSED },
    { "container-image container-mounts container-name container-workdir container", 1, REFUSED },
    { "pty", 0, REFUSED },
};
static const struct line_options options = { .launcher = "srun",
                                             .rows = rows,
                                             .n = ARRAY_LEN(rows),
                                             .unknown = LINE_UNKNOWN_REFUSED,
                                             .glued = true };

struct srun_options {
    const char *tasks, *nodes, *per_node, *cpus, *gpus_task, *gpus_node, *gpus, *memory,
        *memory_cpu, *chdir;
    uint32_t n_tasks, n_nodes, n_per_node, n_gpus; /* as they come out; n_gpus of a task */
};

/* gpu:4, gpu:a100:4, gpu: the number of one node. */
static const char *gres_gpus(const char *text)
{
    if (strncmp(text, "gpu", 3) != 0 || strchr(text, ',') || (text[3] && text[3] != ':'))
        return NULL;
    const char *colon = strrchr(text, ':');
    return colon && strspn(colon + 1, "0123456789") == strlen(colon + 1) ? colon + 1 : "1";
}

/* Type and number, as in a100:4. */
static const char *of_type(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon ? colon + 1 : text;
}

/* [days-]hours:minutes:seconds, minutes:seconds, minutes: as a duration of ours. */
static const char *duration(struct arena *a, const char *text, struct err *err)
{
    uint64_t part[3] = { 0 }, days = 0;
    const char *dash = strchr(text, '-');
    size_t n = 0;
    char *rest = arena_strdup(a, dash ? dash + 1 : text);
    bool fine = !dash || scan_u64(arena_strndup(a, text, (size_t)(dash - text)), 0, 3650, &days);
    for (char *word; fine && (word = strsep(&rest, ":")) != NULL; n++)
        fine = n < 3 && scan_u64(word, 0, 1000000, &part[n]);
    if (!fine || !n) {
        err_set(err, ERR_INPUT, "srun: --time is \"%.40s\"", text);
        err_hint(err, "90 (minutes), 1:30:00 or 2-00:00:00");
        return NULL;
    }
    /* With days or three parts the first one is hours, else minutes. */
    bool hours = dash || n == 3;
    uint64_t seconds = hours ? part[0] * 3600 + part[1] * 60 + part[2] : part[0] * 60 + part[1];
    seconds += days * 86400;
    return seconds ? arena_printf(a, "%llus", (unsigned long long)seconds) : "none";
}

static int take_gres(const struct line_match *f, struct srun_options *asked, struct err *err)
{
    asked->gpus_node = gres_gpus(f->value);
    if (asked->gpus_node)
        return 0;
    err_set(err, ERR_INPUT, "srun: --gres=%.60s", f->value);
    return err_hint(err, "--gres=gpu:N; other resources: a job file with resources");
}

/* ALL, NONE and names say what of the submitter's environment goes along; values are the job's. */
static void take_export(struct line_reader *r, const char *text)
{
    char *rest = arena_strdup(r->arena, text);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        char *equals = strchr(word, '=');
        if (!equals)
            continue;
        *equals = '\0';
        pairs_set(&r->out->env, r->arena, word, equals + 1);
    }
}

static int take_option(struct line_reader *r, const struct line_match *f,
                       struct srun_options *asked, struct err *err)
{
    struct line_job *out = r->out;
    switch (f->means) {
    case TASKS: asked->tasks = f->value; return 0;
    case NODES: asked->nodes = f->value; return 0;
    case PER_NODE: asked->per_node = f->value; return 0;
    case CPUS: asked->cpus = f->value; return 0;
    case GPUS_TASK: asked->gpus_task = of_type(f->value); return 0;
    case GPUS_NODE: asked->gpus_node = of_type(f->value); return 0;
    case GPUS: asked->gpus = of_type(f->value); return 0;
    case GRES: return take_gres(f, asked, err);
    case MEMORY: asked->memory = f->value; return 0;
    case MEMORY_CPU: asked->memory_cpu = f->value; return 0;
    case TIME: out->run_time = duration(r->arena, f->value, err); return out->run_time ? 0 : -1;
    case QUEUE: out->queue = f->value; return 0;
    case NAME: out->name = f->value; return 0;
    case EXPORT: take_export(r, f->value); return 0;
    case CHDIR: asked->chdir = f->value; return 0;
    case REFUSED:
        err_set(err, ERR_INPUT, "srun: %.40s has no counterpart in a job", f->name);
        return err_hint(err, "without it, or as a job file");
    default: line_say(r, "srun %s is left out: it has no effect here", f->name); return 0;
    }
}

/* ---- amounts ---- */

static int shape_of(struct srun_options *a, struct err *err)
{
    bool range = a->nodes && strchr(a->nodes, '-');
    if (range) {
        err_set(err, ERR_INPUT, "srun: --nodes=%.40s is a range", a->nodes);
        return err_hint(err, "--nodes=N");
    }
    if ((a->nodes && line_number("--nodes", a->nodes, 1, LINE_NODES_MOST, &a->n_nodes, err) < 0) ||
        (a->tasks && line_number("--ntasks", a->tasks, 1, JOB_MAX_TASKS, &a->n_tasks, err) < 0) ||
        (a->per_node && line_number("--ntasks-per-node", a->per_node, 1, LINE_RANKS_MOST,
                                    &a->n_per_node, err) < 0))
        return -1;
    if (!a->n_tasks)
        a->n_tasks = (a->n_nodes ? a->n_nodes : 1) * (a->n_per_node ? a->n_per_node : 1);
    if (a->n_per_node && !a->n_nodes)
        a->n_nodes = (a->n_tasks + a->n_per_node - 1) / a->n_per_node;
    if (a->n_nodes > a->n_tasks) {
        err_set(err, ERR_INPUT, "srun: %u tasks on %u nodes", a->n_tasks, a->n_nodes);
        return err_hint(err, "--ntasks of at least as many as --nodes");
    }
    if (a->n_nodes && !a->n_per_node)
        a->n_per_node = (a->n_tasks + a->n_nodes - 1) / a->n_nodes;
    return 0;
}

/* Devices of a node, or of all, are shared out to the tasks. */
static int devices_of(struct srun_options *a, struct err *err)
{
    const char *text = a->gpus_task ? a->gpus_task : a->gpus_node ? a->gpus_node : a->gpus;
    uint32_t n, by = a->gpus_task   ? 1
                     : a->gpus_node ? (a->n_per_node ? a->n_per_node : a->n_tasks)
                                    : a->n_tasks;
    if (!text)
        return 0;
    if (line_number("gpus", text, 0, LINE_RANKS_MOST * LINE_NODES_MOST, &n, err) < 0)
        return -1;
    if (n % by) {
        err_set(err, ERR_INPUT, "srun: %u devices are not shared out evenly to %u tasks", n, by);
        return err_hint(err, "--gpus-per-task N");
    }
    a->n_gpus = n / by;
    return 0;
}

/* Slurm's sizes: a bare number is in MiB, K M G T are binary. Of a node: shared out to its tasks.
 */
static const char *memory_of(struct arena *arena, const char *text, uint64_t share, uint64_t times,
                             struct err *err)
{
    uint64_t n = 0, unit = 20;
    size_t digits = strspn(text, "0123456789");
    static const char units[] = "KMGT";
    const char *at = text[digits] ? strchr(units, text[digits]) : NULL;
    if (at)
        unit = 10 * (uint64_t)(at - units + 1);
    if (!scan_u64(arena_strndup(arena, text, digits), 0, UINT32_MAX, &n) ||
        (text[digits] && (!at || text[digits + 1]))) {
        err_set(err, ERR_INPUT, "srun: a memory of \"%.40s\"", text);
        err_hint(err, "4000M or 16G");
        return NULL;
    }
    return arena_printf(arena, "%llu", (unsigned long long)((n << unit) * times / share));
}

static int amounts(struct line_reader *r, struct srun_options *a, struct err *err)
{
    struct line_job *out = r->out;
    uint32_t cpus = 1;
    if (devices_of(a, err) < 0 ||
        (a->cpus && line_number("--cpus-per-task", a->cpus, 1, 65536, &cpus, err) < 0))
        return -1;
    out->cpu = arena_printf(r->arena, "%u", cpus);
    if (a->n_gpus)
        out->gpu = arena_printf(r->arena, "%u", a->n_gpus);
    if (a->memory)
        out->memory = memory_of(r->arena, a->memory, a->n_per_node ? a->n_per_node : 1, 1, err);
    else if (a->memory_cpu)
        out->memory = memory_of(r->arena, a->memory_cpu, 1, cpus, err);
    return (a->memory || a->memory_cpu) && !out->memory ? -1 : 0;
}

/* ---- what a task runs ---- */

/* Ranks go to nodes in blocks, as srun's do by default. A task sees only its own devices, so that
 * its local index counts no device: with devices it is 0. */
static const char *variables(struct arena *arena, const struct srun_options *a)
{
    uint32_t each = a->n_per_node ? a->n_per_node : 1;
    uint32_t nodes = a->n_nodes ? a->n_nodes : a->n_tasks;
    bool shared = a->n_per_node && !a->n_gpus;
    AUTO_BUF struct buf text = BUF_INIT(4096);
    buf_addf(&text,
             "export SLURM_PROCID=\"$MUSTER_TASK_INDEX\" SLURM_NTASKS=%u SLURM_NPROCS=%u "
             "SLURM_NNODES=%u SLURM_JOB_NUM_NODES=%u SLURM_STEP_NUM_TASKS=%u\n",
             a->n_tasks, a->n_tasks, nodes, nodes, a->n_tasks);
    buf_addf(&text,
             "export SLURM_NODEID=$((MUSTER_TASK_INDEX / %u)) SLURM_LOCALID=%s "
             "SLURM_JOB_ID=\"$MUSTER_JOB_NUMBER\" SLURM_JOBID=\"$MUSTER_JOB_NUMBER\" "
             "SLURM_JOB_NAME=\"$MUSTER_JOB_NAME\" SLURMD_NODENAME=\"$MUSTER_TASK_NODE\" "
             "SLURM_LAUNCH_NODE_IPADDR=\"$MASTER_ADDR\"\n",
             each, shared ? arena_printf(arena, "$((MUSTER_TASK_INDEX %% %u))", each) : "0");
    if (a->cpus)
        buf_addf(&text, "export SLURM_CPUS_PER_TASK=%s\n", a->cpus);
    if (a->chdir) {
        buf_puts(&text, "cd ");
        shell_word(&text, a->chdir);
        buf_puts(&text, " || exit\n");
    }
    return arena_strdup(arena, buf_str(&text));
}

/* The launcher behind srun is started once on each node, or once. */
static int same_nodes(const struct srun_options *a, const struct line_job *inner, struct err *err)
{
    if (inner->kind == LINE_TASKS && inner->min <= a->n_tasks && a->n_tasks <= inner->max)
        return 0;
    err_set(err, ERR_INPUT, "srun starts %u tasks, and the launcher behind it is for %u node%s",
            a->n_tasks, inner->max, inner->max == 1 ? "" : "s");
    return err_hint(err, "the launcher's line without srun");
}

static int take_inner(struct line_reader *r, const struct srun_options *a, struct line_job *inner,
                      struct err *err)
{
    const struct line_job *out = r->out;
    if (same_nodes(a, inner, err) < 0)
        return -1;
    inner->name = out->name;
    inner->queue = out->queue;
    inner->run_time = out->run_time;
    inner->cpu = a->cpus ? out->cpu : NULL;
    inner->memory = out->memory;
    inner->gpu = out->gpu;
    inner->env = out->env;
    inner->said = out->said;
    *r->out = *inner;
    return 1;
}

/* 1: the line behind it is a launcher's, which is the job; 0: *argv is what each task runs. */
static int read_inner(struct line_reader *r, const struct srun_options *a,
                      const struct line_walk *w, struct words *argv, struct err *err)
{
    struct line_job inner;
    struct line_request asked = { .cpu = r->asked->cpu ? r->asked->cpu : a->cpus,
                                  .gpu = r->asked->gpu ? r->asked->gpu : r->out->gpu };
    if (r->read(r->arena, w->argc - w->at, w->argv + w->at, &asked, &inner, err) < 0)
        return -1;
    for (size_t i = 0; i < inner.env.n; i++)
        pairs_set(&r->out->env, r->arena, inner.env.at[i].name, inner.env.at[i].value);
    for (size_t i = 0; i < inner.said.n; i++)
        line_say(r, "%s", inner.said.at[i]);
    *argv = inner.argv;
    return inner.kind == LINE_PLAIN ? 0 : take_inner(r, a, &inner, err);
}

int line_srun(struct line_reader *r, struct err *err)
{
    struct line_walk w = { .of = &options, .argc = r->argc, .at = 1, .argv = r->argv };
    struct srun_options asked = { .tasks = NULL };
    struct line_match found;
    int rc;
    if (strcmp(line_base_name(r->argv[0]), "srun") != 0)
        return 0;
    while ((rc = line_next(&w, &found, err)) > 0)
        if (take_option(r, &found, &asked, err) < 0)
            return -1;
    if (rc < 0 || shape_of(&asked, err) < 0 || amounts(r, &asked, err) < 0)
        return -1;
    if (w.at >= w.argc) {
        err_set(err, ERR_INPUT, "srun: no program is given");
        return err_hint(err, "srun -n 8 PROGRAM");
    }
    struct words line;
    rc = read_inner(r, &asked, &w, &line, err);
    if (rc != 0)
        return rc;
    if (line_shape(r, asked.n_tasks, 0, err) < 0)
        return -1;
    line_keep_shell(r, variables(r->arena, &asked), &line);
    r->out->program = line;
    r->out->per_group = asked.n_per_node > 1 ? asked.n_per_node : 0;
    r->out->meets = true;
    return 1;
}
