/* The SLURM_* variables of a job, and where its nodes are.
 *
 * Role: facts of a placed job -> variables, as the batch shell of Slurm 22.05 has them. What a task
 * of srun has besides is added by srun and by the node that starts it.
 *
 * Inputs: the canonical job, its placement. Effects: variables added to out, in the arena.
 *
 * Caveats: a node of Slurm is a task here. Where several tasks lie on one machine their names have
 * to differ all the same, so they are n1, n2 ... then; all names resolve in the tasks' /etc/hosts.
 * LIST_MAX bounds the lists that grow with the job. */
#include "dialect/sbatch/convention.h"

#include "base/buf.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "dialect/place_cache.h"
#include "dialect/sbatch/batch.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 120000, MIB_SHIFT = 20 };

struct script_job {
    const struct job_spec *job;
    const struct job_place *place;
};

struct writer {
    struct arena *arena;
    struct script_job placed;
    const struct task_place *task;
    struct pairs *out;
};

/* ---- names ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool all_differ(struct arena *arena, const struct job_place *place)
{
    const char **names = ARENA_ARRAY(arena, place->n, const char *);
    for (uint32_t i = 0; i < place->n; i++)
        names[i] = place->tasks[i].node ? place->tasks[i].node : "";
    qsort(names, place->n, sizeof *names, by_text);
    for (uint32_t i = 0; i < place->n; i++)
        if (!*names[i] || (i && strcmp(names[i], names[i - 1]) == 0))
            return false;
    return true;
}

static const void *make_names(struct arena *arena, const void *arg)
{
    const struct job_place *place = arg;
    const char **names = ARENA_ARRAY(arena, place->n, const char *);
    bool own = all_differ(arena, place);
    for (uint32_t i = 0; i < place->n; i++)
        names[i] = own ? place->tasks[i].node : arena_printf(arena, "n%u", i + 1);
    return names;
}

static const char *const *names_of(struct arena *arena, const struct job_place *place)
{
    return place_cache_get(place, arena, "sbatch.names", make_names, place);
}

const char *sb_host(struct arena *arena, const struct dialect_task *task)
{
    return names_of(arena, task->place)[task->flat];
}

/* ---- components ---- */

static const struct text_node *parts_of(const struct job_spec *job)
{
    const struct text_node *ours = job->extra ? text_get(job->extra, BATCH_EXTRA) : NULL;
    const struct text_node *parts = ours ? text_get(ours, BATCH_PARTS) : NULL;
    return parts && parts->kind == TEXT_LIST && parts->count ? parts : NULL;
}

/* A role is a component; where there are fewer of these the last has the other roles too. */
static uint32_t component_of(const struct job_spec *job, uint32_t role)
{
    const struct text_node *parts = parts_of(job);
    return parts && role >= parts->count ? (uint32_t)parts->count - 1 : role;
}

static const struct text_node *part_of(const struct job_spec *job, uint32_t component)
{
    const struct text_node *parts = parts_of(job), *part = parts ? parts->first : NULL;
    while (part && component-- > 0)
        part = part->next;
    return part;
}

struct group { /* a component with its tasks */
    struct script_job placed;
    uint32_t component, first, n;
};

/* The component's first task is that of its first role, which has the component's number. */
static struct group group_of(const struct script_job *placed, uint32_t component)
{
    const struct job_spec *job = placed->job;
    struct group g = { .placed = *placed,
                       .component = component,
                       .first = job_task_flat(job, component, 0) };
    for (uint32_t role = component; role < job->n_roles && component_of(job, role) == component;
         role++)
        g.n += job->roles[role].replicas;
    return g;
}

/* ---- lists ---- */

static uint32_t step_port(const struct task_place *task)
{
    for (uint32_t i = 0; i < task->n_ports; i++)
        if (strcmp(task->ports[i].label, BATCH_PORT) == 0 && task->ports[i].count)
            return task->ports[i].numbers[0];
    return 0;
}

/* "n1=10.0.0.1:20001,n2=...;..." for srun, the components apart by semicolons. NULL: too long. */
static const void *make_addresses(struct arena *arena, const void *arg)
{
    const struct script_job *p = arg;
    const char *const *names = names_of(arena, p->place);
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < p->place->n && !text.overflow; i++) {
        const struct task_place *task = &p->place->tasks[i];
        bool next = i > 0 && component_of(p->job, task->role) !=
                                 component_of(p->job, p->place->tasks[i - 1].role);
        const char *between = i == 0 ? "" : next ? ";" : ",";
        buf_addf(&text, "%s%s=%s:%u", between, names[i], task->address ? task->address : "",
                 step_port(task));
    }
    return text.overflow ? NULL : arena_strdup(arena, buf_str(&text));
}

static const void *make_nodelist(struct arena *arena, const void *arg)
{
    const struct group *g = arg;
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    hostlist_write(&text, names_of(arena, g->placed.place) + g->first, g->n);
    return text.overflow ? NULL : arena_strdup(arena, buf_str(&text));
}

static const char *nodelist(struct arena *arena, const struct group *g)
{
    const char *key = arena_printf(arena, "sbatch.nodelist.%u", g->component);
    return place_cache_get(g->placed.place, arena, key, make_nodelist, g);
}

const char *sb_spread(struct arena *arena, uint32_t tasks, uint32_t nodes)
{
    uint32_t each = tasks / nodes, more = tasks % nodes, less = nodes - more;
    const char *first = more > 1    ? arena_printf(arena, "%u(x%u)", each + 1, more)
                        : more == 1 ? arena_printf(arena, "%u", each + 1)
                                    : "";
    const char *rest =
        less > 1 ? arena_printf(arena, "%u(x%u)", each, less) : arena_printf(arena, "%u", each);
    return more ? arena_printf(arena, "%s,%s", first, rest) : rest;
}

/* ---- values ---- */

static void put(const struct writer *w, const char *name, const char *value)
{
    pairs_set(w->out, w->arena, name, value ? value : "");
}

static void put_number(const struct writer *w, const char *name, uint64_t n)
{
    pairs_setf(w->out, w->arena, name, "%llu", (unsigned long long)n);
}

/* The same of a component, with its number behind the name. */
struct target {
    const struct writer *w;
    const char *behind; /* "", "_HET_GROUP_1" */
};

static void add(const struct target *t, const char *name, const char *value)
{
    put(t->w, arena_printf(t->w->arena, "%s%s", name, t->behind), value);
}

static void add_number(const struct target *t, const char *name, uint64_t n)
{
    add(t, name, arena_printf(t->w->arena, "%llu", (unsigned long long)n));
}

static void add_list(const struct target *t, const char *name, const char *list)
{
    if (list)
        add(t, name, list);
    else
        place_leave_out(t->w->placed.place, name);
}

/* ---- groups of variables ---- */

static uint32_t cpus_of(const struct group *g, uint32_t node)
{
    const struct task_place *task = &g->placed.place->tasks[g->first + node];
    uint64_t milli = g->placed.job->roles[task->role].resources.cpu_milli;
    return milli ? (uint32_t)((milli + 999) / 1000) : 1;
}

/* "4(x2),1": the nodes in their order. */
static const void *make_cpus(struct arena *arena, const void *arg)
{
    const struct group *g = arg;
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0, n; i < g->n; i += n) {
        for (n = 1; i + n < g->n && cpus_of(g, i + n) == cpus_of(g, i);)
            n++;
        buf_addf(&text, "%s%u", i ? "," : "", cpus_of(g, i));
        if (n > 1)
            buf_addf(&text, "(x%u)", n);
    }
    return arena_strdup(arena, buf_str(&text));
}

/* A task for each core where nothing says how many. */
static const void *make_tasks(struct arena *arena, const void *arg)
{
    const struct group *g = arg;
    uint64_t tasks = text_number(part_of(g->placed.job, g->component), "tasks");
    uint32_t cores = 0;
    for (uint32_t i = 0; i < g->n; i++)
        cores += cpus_of(g, i);
    return sb_spread(arena, tasks && tasks < UINT32_MAX ? (uint32_t)tasks : cores, g->n);
}

static void add_part(const struct target *t, const struct group *g)
{
    struct arena *a = t->w->arena;
    const struct text_node *part = part_of(g->placed.job, g->component);
    uint64_t tasks = text_number(part, "tasks");
    const char *list = nodelist(a, g);
    const char *cpus = arena_printf(a, "sbatch.cpus.%u", g->component);
    const char *each = arena_printf(a, "sbatch.tasks.%u", g->component);
    add_list(t, "SLURM_JOB_NODELIST", list);
    add_list(t, "SLURM_NODELIST", list);
    add_number(t, "SLURM_JOB_NUM_NODES", g->n);
    add_number(t, "SLURM_NNODES", g->n);
    add(t, "SLURM_JOB_CPUS_PER_NODE", place_cache_get(g->placed.place, a, cpus, make_cpus, g));
    if (tasks) {
        add_number(t, "SLURM_NTASKS", tasks);
        add_number(t, "SLURM_NPROCS", tasks);
    }
    add(t, "SLURM_TASKS_PER_NODE", place_cache_get(g->placed.place, a, each, make_tasks, g));
    const struct text_node *env = part ? text_get(part, "env") : NULL;
    for (const struct text_node *one = env ? env->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR)
            add(t, one->key, one->str);
}

static void add_parts(const struct writer *w)
{
    const struct job_spec *job = w->placed.job;
    uint32_t n = component_of(job, (uint32_t)job->n_roles - 1) + 1;
    for (uint32_t i = 0; i < n; i++) {
        struct group g = group_of(&w->placed, i);
        struct target plain = { w, "" };
        struct target numbered = { w, arena_printf(w->arena, "_HET_GROUP_%u", i) };
        if (g.n && i == 0)
            add_part(&plain, &g);
        if (g.n && n > 1) {
            add_part(&numbered, &g);
            add_number(&numbered, "SLURM_JOB_ID", w->placed.place->number);
        }
    }
    if (n > 1)
        put_number(w, "SLURM_HET_SIZE", n);
}

static void put_array(const struct writer *w)
{
    const struct job_place *place = w->placed.place;
    const struct job_array *array = &w->placed.job->array;
    if (!place->array || !array->count)
        return;
    put_number(w, "SLURM_ARRAY_JOB_ID", place->array);
    put_number(w, "SLURM_ARRAY_TASK_ID", place->array_index);
    put_number(w, "SLURM_ARRAY_TASK_COUNT", array->count);
    put_number(w, "SLURM_ARRAY_TASK_MIN", array->first);
    put_number(w, "SLURM_ARRAY_TASK_MAX", job_array_index(array, array->count - 1));
    put_number(w, "SLURM_ARRAY_TASK_STEP", array->step);
}

static void put_devices(const struct writer *w)
{
    AUTO_BUF struct buf list = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < w->task->n_gpus; i++)
        buf_addf(&list, "%s%u", i ? "," : "", w->task->gpus[i]);
    if (w->task->n_gpus == 0)
        return;
    put(w, "SLURM_JOB_GPUS", buf_str(&list));
    put_number(w, "SLURM_GPUS_ON_NODE", w->task->n_gpus);
}

static void put_job(const struct writer *w, const struct site *site)
{
    const struct job_spec *job = w->placed.job;
    const struct job_place *place = w->placed.place;
    put_number(w, "SLURM_JOB_ID", place->number);
    put_number(w, "SLURM_JOBID", place->number);
    put(w, "SLURM_JOB_NAME", job->name);
    const char *partition = pairs_get(&job->placing.labels, "slurm/partition");
    partition = partition ? partition : job->queue;
    put(w, "SLURM_JOB_PARTITION", partition && *partition ? partition : "default");
    if (job->project)
        put(w, "SLURM_JOB_ACCOUNT", job->project);
    if (place->owner && *place->owner)
        put(w, "SLURM_JOB_USER", place->owner);
    put(w, "SLURM_CLUSTER_NAME", "muster");
    if (site && site->work_dir)
        put(w, "SLURM_SUBMIT_DIR", site->work_dir);
    if (place->generation > 1)
        put_number(w, "SLURM_RESTART_COUNT", place->generation - 1);
    if (job->limits.run_time_ms.has)
        put_number(w, "MUSTER_STEP_TIME", job->limits.run_time_ms.value / 1000);
    put_array(w);
}

static void put_node(const struct writer *w, uint32_t flat)
{
    const struct job_spec *job = w->placed.job;
    const struct resources *res = &job->roles[w->task->role].resources;
    const char *addresses =
        place_cache_get(w->placed.place, w->arena, "sbatch.addresses", make_addresses, &w->placed);
    put(w, "SLURMD_NODENAME", names_of(w->arena, w->placed.place)[flat]);
    put(w, "SLURM_TOPOLOGY_ADDR", names_of(w->arena, w->placed.place)[flat]);
    put(w, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
    put_number(w, "SLURM_NODEID", flat - job_task_flat(job, component_of(job, w->task->role), 0));
    if (res->cpu_milli)
        put_number(w, "SLURM_CPUS_ON_NODE", (res->cpu_milli + 999) / 1000);
    else /* all that it has: muster-step counts them */
        place_leave_out(w->placed.place, "SLURM_CPUS_ON_NODE");
    put_devices(w);
    if (addresses)
        put(w, "MUSTER_STEP_NODES", addresses);
    else
        place_leave_out(w->placed.place, "MUSTER_STEP_NODES");
    put_number(w, "MUSTER_STEP_PORT", step_port(w->task));
}

/* "4/2x3;1/0x1": cores and devices of a node, times nodes, by component; 0 cores: no limit. */
static void put_room(const struct writer *w)
{
    const struct job_spec *job = w->placed.job;
    AUTO_BUF struct buf room = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct resources *res = &job->roles[i].resources;
        buf_addf(&room, "%s%llu/%llux%u", i ? ";" : "",
                 (unsigned long long)(res->cpu_milli + 999) / 1000,
                 (unsigned long long)res->gpu_milli / 1000, job->roles[i].replicas);
    }
    put(w, "MUSTER_STEP_ROOM", buf_str(&room));
}

/* The batch shell counts as the first task of a step. */
static void put_batch(const struct writer *w)
{
    static const char *const zero[] = { "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS" };
    for (size_t i = 0; i < ARRAY_LEN(zero); i++)
        put(w, zero[i], "0");
    put(w, "ENVIRONMENT", "BATCH");
    put(w, "MUSTER_STEP_FIRST", "1");
    put_room(w);
}

void sb_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
            uint32_t flat, const struct site *site, struct pairs *out)
{
    struct writer w = {
        .arena = arena, .placed = { job, place }, .task = &place->tasks[flat], .out = out
    };
    put_job(&w, site);
    add_parts(&w);
    put_node(&w, flat);
    if (flat == 0)
        put_batch(&w);
}
