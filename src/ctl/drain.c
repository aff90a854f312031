/* What draining a node would mean: who runs there, and where the scheduler would put each now if it
 * had to leave. On a copy of the cluster, by the scheduler's own code. */
#include "ctl/cluster_views.h"
#include "ctl/core.h"

#include "base/mem.h"

#include <string.h>

struct leaving { /* a job with tasks on the node */
    struct live_job *job;
    struct task_place *held; /* its tasks elsewhere, then those that found a place */
    uint32_t n, n_held;      /* n: on the node */
};
struct draining {
    struct ctl *ctl;
    struct arena *arena;
    struct cluster *copy;
    const char *node;
};

static bool is_here(const struct live_task *task, const char *node)
{
    return task->taken && strcmp(task->place.node, node) == 0;
}

static bool collect(const struct draining *d, struct live_job *job, struct leaving *out)
{
    *out = (struct leaving){ .job = job };
    if (!job->tasks)
        return false;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        out->n += is_here(&job->tasks[flat], d->node);
    if (out->n == 0)
        return false;
    out->held = ARENA_ARRAY(d->arena, job->row.tasks, struct task_place);
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (job->tasks[flat].taken && !is_here(&job->tasks[flat], d->node))
            out->held[out->n_held++] = job->tasks[flat].place;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct leaving *)a)->job->row.number,
             y = ((const struct leaving *)b)->job->row.number;
    return x < y ? -1 : x > y;
}

static struct leaving *all_leaving(const struct draining *d, size_t *n)
{
    struct leaving *all = ARENA_ARRAY(d->arena, live_count(d->ctl->live), struct leaving);
    size_t cursor = 0;
    struct live_job *job;
    *n = 0;
    while (live_next(d->ctl->live, &cursor, &job))
        *n += collect(d, job, &all[*n]);
    if (*n)
        qsort(all, *n, sizeof *all, by_number);
    return all;
}

/* What the tasks of the node hold there would be free: their ports, for one. */
static void vacate(const struct draining *d, const struct leaving *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t flat = 0; flat < all[i].job->row.tasks; flat++)
            if (is_here(&all[i].job->tasks[flat], d->node))
                cluster_give(d->copy, all[i].job->spec, &all[i].job->tasks[flat].place);
    cluster_set_drained(d->copy, cluster_find(d->copy, d->node), true);
}

/* One task by itself, beside those that found a place before it. */
static void ask_for(const struct draining *d, struct leaving *l, uint32_t flat,
                    struct drained_task *out)
{
    const struct task_place *from = &l->job->tasks[flat].place;
    const struct task_ref ref = { .role = (uint16_t)from->role, .index = from->index };
    const struct sched_more more = { .id = l->job->row.id,
                                     .spec = l->job->spec,
                                     .tasks = &ref,
                                     .n = 1,
                                     .held = l->held,
                                     .n_held = l->n_held };
    const struct sched_snapshot snapshot = { .cluster = d->copy, .more = &more, .n_more = 1 };
    const struct plan plan = sched_plan(&snapshot, core_now(d->ctl), d->arena);
    const struct plan_entry *entry = plan.n ? &plan.at[0] : NULL;
    if (entry && entry->kind == PLAN_MORE && entry->n_tasks == 1 &&
        cluster_take(d->copy, l->job->spec, &entry->tasks[0])) {
        l->held[l->n_held++] = entry->tasks[0];
        out->to = arena_strdup(d->arena, entry->tasks[0].node); /* of the copy */
    } else {
        out->why = entry && entry->reason.text ? entry->reason.text : "no node has room for it";
    }
}

static void add_job(const struct draining *d, struct leaving *l, struct drain_view *view)
{
    const struct job_row *row = &l->job->row;
    char name[160];
    for (uint32_t flat = 0; flat < row->tasks; flat++) {
        if (!is_here(&l->job->tasks[flat], d->node))
            continue;
        struct drained_task *one = &view->at[view->n++];
        *one = (struct drained_task){ .name = row->name,
                                      .owner = row->owner,
                                      .queue = row->queue,
                                      .number = row->number,
                                      .task = arena_strdup(d->arena,
                                                           live_task_name(name, l->job, flat)) };
        ask_for(d, l, flat, one);
    }
}

int ctl_drain_view(struct ctl *ctl, struct arena *arena, const char *name, struct drain_view *view,
                   struct err *err)
{
    struct draining d = { .ctl = ctl, .arena = arena, .node = name };
    uint32_t node = cluster_find(ctl->cluster, name);
    size_t n, tasks = 0;
    if (node == UINT32_MAX) {
        err_set(err, ERR_NOT_FOUND, "no node \"%.100s\"", name);
        return err_remedy(err, REMEDY_LIST_NODES);
    }
    struct leaving *all = all_leaving(&d, &n);
    d.copy = cluster_clone(ctl->cluster);
    vacate(&d, all, n);
    for (size_t i = 0; i < n; i++)
        tasks += all[i].n;
    *view = (struct drain_view){ .drained = cluster_node(ctl->cluster, node).drained,
                                 .at = ARENA_ARRAY(arena, tasks, struct drained_task) };
    for (size_t i = 0; i < n; i++)
        add_job(&d, &all[i], view);
    cluster_destroy(d.copy);
    return 0;
}
