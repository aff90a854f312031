/* A part of the line is a program on nodes of one component or of several; ranks go on from part to
 * part. Where nothing is said a step has the job's tasks on all nodes of the first component.
 *
 * Inputs: options, variables of the job. Effects: messages for nodes, in the arena. */
#include "step/srun_plan.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/pairs.h"
#include "base/scan.h"
#include "step/multi_prog.h"
#include "step/task_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 20, CONFIG_MAX = 1 << 20 };

struct segment { /* a part of the line on one component */
    const struct srun_opts *opts;
    uint32_t group;
    const struct srun_node **nodes;
    uint32_t n_nodes, tasks, first;              /* first: rank */
    uint32_t cpus, gpus_per_task, gpus_per_node; /* 0: not said */
    struct layout layout;
};
struct planning {
    struct arena *arena;
    const struct srun_job *job;
    struct srun_plan *plan;
    struct segment *segments;
    size_t n;
    struct err *err;
};

/* ---- the job's nodes ---- */

static int read_node(struct arena *a, const char *text, size_t len, struct srun_node *out)
{
    char *copy = arena_strndup(a, text, len), *eq = strchr(copy, '='), *colon = strrchr(copy, ':');
    uint64_t port;
    if (!eq || !colon || colon < eq || !scan_u64(colon + 1, 1, 65535, &port))
        return -1;
    *eq = *colon = '\0';
    out->name = copy;
    out->address = eq + 1;
    out->port = (uint16_t)port;
    return 0;
}

int srun_job_read(struct arena *a, const char *nodes, char *const *env, struct srun_job *job,
                  struct err *err)
{
    *job = (struct srun_job){ .env = env, .groups = 1 };
    if (!nodes || !*nodes) {
        err_set(err, ERR_CANNOT, "this is not inside a job of a batch script");
        return err_hint(err, "a line that begins with srun can be submitted as a job");
    }
    size_t most = 1;
    for (const char *c = nodes; *c; c++)
        most += *c == ',' || *c == ';';
    job->nodes = ARENA_ARRAY(a, most, struct srun_node);
    for (const char *at = nodes; *at;) {
        size_t len = strcspn(at, ",;");
        struct srun_node *node = &job->nodes[job->n++];
        node->group = job->groups - 1;
        if (read_node(a, at, len, node) < 0)
            return err_set(err, ERR_CANNOT, "MUSTER_STEP_NODES has \"%.*s\", no node", (int)len,
                           at);
        job->groups += at[len] == ';';
        at += len;
        at += *at != '\0';
    }
    return 0;
}

/* ---- which nodes ---- */

static bool listed(struct arena *a, const char *list, const char *name)
{
    const char **names;
    size_t n;
    struct err err;
    if (hostlist_read(a, list, &names, &n, &err) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int wrong_nodes(const struct planning *p, const char *what, uint32_t have)
{
    err_set(p->err, ERR_INPUT, "%s, and the job has %u node%s there", what, have,
            have == 1 ? "" : "s");
    return err_hint(p->err, "Unable to create step: More processors requested than permitted");
}

/* Nodes of the component that --nodelist, --exclude and --relative leave. */
static int find_nodes(const struct planning *p, struct segment *s)
{
    uint32_t skip = 0;
    s->nodes = ARENA_ARRAY(p->arena, p->job->n, const struct srun_node *);
    if (srun_opts_number(s->opts, SRUN_RELATIVE, 0, &skip, p->err) < 0)
        return -1;
    for (size_t i = 0; i < p->job->n; i++) {
        const struct srun_node *node = &p->job->nodes[i];
        const char *only = s->opts->at[SRUN_NODELIST], *not = s->opts->at[SRUN_EXCLUDE];
        if (node->group != s->group || (only && !listed(p->arena, only, node->name)) ||
            (not &&listed(p->arena, not, node->name)))
            continue;
        if (skip > 0)
            skip--;
        else
            s->nodes[s->n_nodes++] = node;
    }
    return s->n_nodes ? 0 : wrong_nodes(p, "no node is left for the step", 0);
}

static uint64_t variable_number(const struct planning *p, const char *name, uint32_t group)
{
    uint64_t n = 0;
    const char *numbered = arena_printf(p->arena, "%s_HET_GROUP_%u", name, group);
    const char *text =
        p->job->groups > 1 ? task_env_get(p->job->env, numbered) : task_env_get(p->job->env, name);
    return text && scan_u64(text, 1, 1u << 20, &n) ? n : 0;
}

/* -N "2", "2-4": the least. */
static int asked_nodes(const struct planning *p, const struct segment *s, uint32_t *out)
{
    const char *text = s->opts->at[SRUN_NODES];
    uint64_t n;
    if (!text)
        return 0;
    if (!scan_u64(arena_strndup(p->arena, text, strcspn(text, "-")), 1, 1u << 20, &n))
        return err_set(p->err, ERR_INPUT, "--nodes=%.60s is no number of nodes", text);
    if (n > s->n_nodes)
        return wrong_nodes(p, arena_printf(p->arena, "--nodes=%.60s", text), s->n_nodes);
    *out = (uint32_t)n;
    return 0;
}

/* Nothing says how many: the job's number on all of its nodes, else what it has on a node. */
static uint32_t default_tasks(const struct planning *p, const struct segment *s, uint32_t use,
                              uint32_t per_node)
{
    uint32_t of_job = (uint32_t)variable_number(p, "SLURM_NTASKS", s->group), whole = 0;
    uint32_t each = (uint32_t)variable_number(p, "SLURM_NTASKS_PER_NODE", s->group);
    for (size_t i = 0; i < p->job->n; i++)
        whole += p->job->nodes[i].group == s->group;
    bool all = use == whole && of_job;
    if (per_node) /* a bound, as with Slurm: the job's own number counts where it fits */
        return all && of_job <= per_node * use ? of_job : per_node * use;
    if (all)
        return of_job;
    return each && of_job ? each * use : use;
}

static int count_tasks(const struct planning *p, struct segment *s)
{
    uint32_t tasks = 0, per_node = 0, nodes = 0;
    if (asked_nodes(p, s, &nodes) < 0 ||
        srun_opts_number(s->opts, SRUN_NTASKS, 1, &tasks, p->err) < 0 ||
        srun_opts_number(s->opts, SRUN_NTASKS_PER_NODE, 1, &per_node, p->err) < 0)
        return -1;
    uint32_t use = nodes ? nodes : s->n_nodes;
    s->tasks = tasks ? tasks : default_tasks(p, s, use, per_node);
    s->n_nodes = s->tasks < use ? s->tasks : use;
    struct layout_ask ask = { .tasks = s->tasks, .nodes = s->n_nodes, .per_node = per_node };
    const char *order = s->opts->at[SRUN_DISTRIBUTION];
    if (order && layout_order(order, &ask, p->err) < 0)
        return -1;
    if (s->tasks > STEP_TASKS_MAX * s->n_nodes)
        return err_set(p->err, ERR_INPUT, "more than %u tasks on a node", STEP_TASKS_MAX);
    return layout_make(p->arena, &ask, &s->layout, p->err);
}

/* ---- amounts ---- */

/* "2", "a100:2", and "gpu:a100:2" of --gres. */
static int devices(const struct planning *p, const struct segment *s, enum srun_id id,
                   uint32_t *out)
{
    const char *text = s->opts->at[id];
    uint64_t n;
    if (!text || strcmp(text, "none") == 0 || strcmp(text, "NONE") == 0)
        return 0;
    if (id == SRUN_GRES && strncmp(text, "gpu", 3) != 0)
        return 0; /* other resources are the job's */
    const char *last = strrchr(text, ':'), *number = last ? last + 1 : text;
    if (id == SRUN_GRES && !last)
        number = "1";
    if (!scan_u64(number, 0, 1024, &n))
        return err_set(p->err, ERR_INPUT, "--%s=%.60s is no number of devices", srun_opts_name(id),
                       text);
    *out = (uint32_t)n;
    return 0;
}

static int count_amounts(const struct planning *p, struct segment *s)
{
    uint32_t gpus = 0;
    s->cpus = (uint32_t)variable_number(p, "SLURM_CPUS_PER_TASK", s->group);
    if (srun_opts_number(s->opts, SRUN_CPUS_PER_TASK, 1, &s->cpus, p->err) < 0 ||
        devices(p, s, SRUN_GPUS_PER_TASK, &s->gpus_per_task) < 0 ||
        devices(p, s, SRUN_GPUS, &gpus) < 0 ||
        devices(p, s, SRUN_GPUS_PER_NODE, &s->gpus_per_node) < 0 ||
        devices(p, s, SRUN_GRES, &s->gpus_per_node) < 0)
        return -1;
    if (!s->cpus)
        s->cpus = 1;
    if (gpus && !s->gpus_per_node)
        s->gpus_per_node = (gpus + s->n_nodes - 1) / s->n_nodes;
    return 0;
}

/* ---- segments ---- */

/* "0,1", "0-2"; NULL: the first component. */
static int read_groups(const struct planning *p, const char *text, bool *wanted)
{
    if (!text) {
        wanted[0] = true;
        return 0;
    }
    const char **names;
    size_t n;
    if (hostlist_read(p->arena, arena_printf(p->arena, "[%s]", text), &names, &n, p->err) < 0)
        return err_set(p->err, ERR_INPUT, "--het-group=%.60s is no list of components", text);
    for (size_t i = 0; i < n; i++) {
        uint64_t group;
        if (!scan_u64(names[i], 0, p->job->groups - 1, &group))
            return err_set(p->err, ERR_INPUT, "--het-group=%.60s: the job has %u component%s", text,
                           p->job->groups, p->job->groups == 1 ? "" : "s");
        wanted[group] = true;
    }
    return 0;
}

static int add_segments(struct planning *p, const struct srun_opts *opts)
{
    bool *wanted = ARENA_ARRAY(p->arena, p->job->groups, bool);
    const char *mpi = opts->at[SRUN_MPI];
    if (opts->argv.n == 0) {
        err_set(p->err, ERR_INPUT, "there is no program");
        return err_hint(p->err, "srun -n 2 PROGRAM ARGS");
    }
    if (mpi && strcmp(mpi, "none") != 0) {
        err_set(p->err, ERR_CANNOT,
                "--mpi=%.40s cannot be had: it is a service of Slurm's own srun", mpi);
        return err_hint(p->err, "mpirun, or a launcher as torchrun");
    }
    if (read_groups(p, opts->at[SRUN_HET_GROUP], wanted) < 0)
        return -1;
    for (uint32_t group = 0; group < p->job->groups; group++) {
        struct segment *s = &p->segments[p->n];
        if (!wanted[group])
            continue;
        *s = (struct segment){ .opts = opts, .group = group, .first = p->plan->tasks };
        if (find_nodes(p, s) < 0 || count_tasks(p, s) < 0 || count_amounts(p, s) < 0)
            return -1;
        p->plan->tasks += s->tasks;
        p->n++;
    }
    return 0;
}

/* ---- environment ---- */

static bool is_slurm(const char *entry)
{
    return strncmp(entry, "SLURM", 5) == 0 || strncmp(entry, "MUSTER_", 7) == 0;
}

/* What of srun's environment goes along: --export. The PATH where only it was asked for stays, so
 * that programs are found. */
static struct words exported(const struct planning *p, const struct srun_opts *opts)
{
    const char *export = opts->at[SRUN_EXPORT];
    bool all = !export, none = false;
    size_t n = 0;
    while (p->job->env[n])
        n++;
    struct words env = { .at = ARENA_ARRAY(p->arena, n + strlen(export ? export : "") + 2,
                                           const char *) };
    for (const char *at = export; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t len = strcspn(at, ",");
        all |= (len == 3 && strncmp(at, "ALL", 3) == 0);
        none |=
            (len == 4 && strncmp(at, "NONE", 4) == 0) || (len == 3 && strncmp(at, "NIL", 3) == 0);
    }
    for (size_t i = 0; i < n; i++)
        if (all || is_slurm(p->job->env[i]) || (none && strncmp(p->job->env[i], "PATH=", 5) == 0))
            env.at[env.n++] = p->job->env[i];
    for (const char *at = export; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const char *one = arena_strndup(p->arena, at, strcspn(at, ","));
        const char *value = strchr(one, '=') ? NULL : task_env_get(p->job->env, one);
        if (strchr(one, '='))
            env.at[env.n++] = one;
        else if (value)
            env.at[env.n++] = arena_printf(p->arena, "%s=%s", one, value);
    }
    return env;
}

/* The PATH with which the script began is of its node. What was put in front goes along. */
static const char *path_front(const struct planning *p)
{
    const char *was = task_env_get(p->job->env, "MUSTER_STEP_PATH");
    const char *is = task_env_get(p->job->env, "PATH");
    size_t n = was ? strlen(was) : 0, m = is ? strlen(is) : 0;
    if (!was || !is || m < n || strcmp(is + m - n, was) != 0)
        return NULL;
    if (m == n)
        return "";
    return is[m - n - 1] == ':' ? arena_strndup(p->arena, is, m - n - 1) : NULL;
}

/* ---- messages ---- */

/* All nodes of the step share the words. */
static void add_target(struct planning *p, const struct segment *s, uint32_t node,
                       const struct words *env, const struct multi_prog *multi)
{
    struct srun_target *t = &p->plan->targets[p->plan->n];
    char here[4096];
    const char *dir = s->opts->at[SRUN_CHDIR];
    const char *bind = s->opts->at[SRUN_CPU_BIND];
    bool bound = bind && (strstr(bind, "cores") || strstr(bind, "threads") || strstr(bind, "rank"));
    if (!dir || *dir != '/') {
        const char *base = getcwd(here, sizeof here) ? here : "/";
        dir = dir ? arena_printf(p->arena, "%s/%s", base, dir) : arena_strdup(p->arena, base);
    }
    *t = (struct srun_target){ .node = s->nodes[node] };
    t->start = (struct step_start){ .argv = s->opts->argv,
                                    .env = *env,
                                    .dir = dir,
                                    .path_front = path_front(p),
                                    .gpus_per_task = s->gpus_per_task,
                                    .cpus_per_task = bound ? s->cpus : 0 };
    t->start.tasks = ARENA_ARRAY(p->arena, s->layout.counts[node], struct step_task);
    for (uint32_t i = 0; i < s->tasks; i++) {
        if (s->layout.node_of[i] != node)
            continue;
        struct step_task *task = &t->start.tasks[t->start.n_tasks];
        *task = (struct step_task){ .rank = s->first + i };
        if (multi)
            task->argv = multi_prog_of(p->arena, multi, task->rank);
        t->start.n_tasks++;
    }
    size_t *share = &p->plan->claimed[p->plan->n++];
    *share = SIZE_MAX;
    if (s->opts->at[SRUN_OVERLAP])
        return;
    uint32_t gpus = s->gpus_per_task ? s->gpus_per_task * s->layout.counts[node] : s->gpus_per_node;
    *share = p->plan->claim.n;
    p->plan->claim.shares[p->plan->claim.n++] =
        (struct step_share){ .node = (uint32_t)(s->nodes[node] - p->job->nodes),
                             .cpus = s->cpus * s->layout.counts[node],
                             .gpus = gpus };
}

static int add_targets(struct planning *p, const struct segment *s)
{
    struct words env = exported(p, s->opts);
    struct multi_prog multi;
    bool many = s->opts->at[SRUN_MULTI_PROG] != NULL;
    if (many && multi_prog_read(p->arena, s->opts->argv.at[0], p->plan->tasks, &multi, p->err) < 0)
        return -1;
    for (uint32_t node = 0; node < s->n_nodes; node++)
        if (s->layout.counts[node])
            add_target(p, s, node, &env, many ? &multi : NULL);
    return 0;
}

int srun_plan_make(struct arena *a, const struct srun_job *job, struct srun_opts *parts, size_t n,
                   struct srun_plan *plan, struct err *err)
{
    struct planning p = { .arena = a, .job = job, .plan = plan, .err = err };
    size_t most = n * job->groups;
    *plan = (struct srun_plan){ .n = 0 };
    p.segments = ARENA_ARRAY(a, most, struct segment);
    for (size_t i = 0; i < n; i++)
        if (add_segments(&p, &parts[i]) < 0)
            return -1;
    size_t nodes = 0;
    for (size_t i = 0; i < p.n; i++)
        nodes += p.segments[i].n_nodes;
    plan->targets = ARENA_ARRAY(a, nodes, struct srun_target);
    plan->claimed = ARENA_ARRAY(a, nodes, size_t);
    plan->claim.shares = ARENA_ARRAY(a, nodes, struct step_share);
    for (size_t i = 0; i < p.n; i++)
        if (add_targets(&p, &p.segments[i]) < 0)
            return -1;
    return 0;
}

/* ---- after the claim ---- */

struct step_facts {
    const char *nodes, *counts;
    const char *first; /* address of srun's node */
};

static void step_lists(struct arena *a, const struct srun_plan *plan, struct step_facts *out)
{
    AUTO_BUF struct buf list = BUF_INIT(LIST_MAX);
    const char **names = ARENA_ARRAY(a, plan->n, const char *);
    struct layout counts = { .counts = ARENA_ARRAY(a, plan->n, uint32_t) };
    for (size_t i = 0; i < plan->n; i++) {
        names[i] = plan->targets[i].node->name;
        counts.counts[i] = (uint32_t)plan->targets[i].start.n_tasks;
    }
    hostlist_write(&list, names, plan->n);
    out->nodes = arena_strdup(a, buf_str(&list));
    out->counts = layout_counts(a, &counts, (uint32_t)plan->n);
}

/* Words that are added to the environment of a target, which shares it with others. */
static void add_variables(struct arena *a, const struct srun_plan *plan, struct srun_target *t,
                          size_t node_id, const struct step_facts *facts)
{
    const struct words *before = &t->start.env;
    struct pairs add = { .n = 0 };
    const char *step = arena_printf(a, "%u", t->start.step);
    pairs_set(&add, a, "SLURM_STEP_ID", step);
    pairs_set(&add, a, "SLURM_STEPID", step);
    pairs_setf(&add, a, "SLURM_NODEID", "%zu", node_id);
    pairs_setf(&add, a, "SLURM_NTASKS", "%u", plan->tasks);
    pairs_setf(&add, a, "SLURM_NPROCS", "%u", plan->tasks);
    pairs_setf(&add, a, "SLURM_NNODES", "%zu", plan->n);
    pairs_set(&add, a, "SLURM_TASKS_PER_NODE", facts->counts);
    pairs_set(&add, a, "SLURM_STEP_NODELIST", facts->nodes);
    pairs_setf(&add, a, "SLURM_STEP_NUM_NODES", "%zu", plan->n);
    pairs_setf(&add, a, "SLURM_STEP_NUM_TASKS", "%u", plan->tasks);
    pairs_set(&add, a, "SLURM_STEP_TASKS_PER_NODE", facts->counts);
    pairs_set(&add, a, "SLURM_LAUNCH_NODE_IPADDR", facts->first);
    pairs_set(&add, a, "SLURM_SRUN_COMM_HOST", facts->first);
    struct words env = { .at = ARENA_ARRAY(a, before->n + add.n, const char *), .n = before->n };
    if (before->n)
        memcpy(env.at, before->at, before->n * sizeof *env.at);
    for (size_t i = 0; i < add.n; i++)
        env.at[env.n++] = arena_printf(a, "%s=%s", add.at[i].name, add.at[i].value);
    t->start.env = env;
}

void srun_plan_grant(struct arena *a, struct srun_plan *plan, const struct step_grant *grant)
{
    const char *own = getenv("MUSTER_TASK_ADDRESS");
    struct step_facts facts = { .first = own ? own : "127.0.0.1" };
    step_lists(a, plan, &facts);
    for (size_t i = 0; i < plan->n; i++) {
        struct srun_target *t = &plan->targets[i];
        size_t share = plan->claimed[i];
        t->start.step = grant->step;
        if (share < grant->n && plan->claim.shares[share].gpus) {
            t->start.some_gpus = true;
            t->start.gpus = grant->gpus[share];
        }
        add_variables(a, plan, t, i, &facts);
    }
}
