/* What draining a node would mean: who runs there, and where the scheduler would put each now if it
 * had to leave. On a copy of the cluster, by the scheduler's own code. */
#include "explain/drain.h"

#include "answer/question.h"
#include "ctl/ctl.h"
#include "sched/wait_words.h"

#include <stdlib.h>

struct leaving { /* a job with tasks on the node */
    const struct sched_running *job;
    const struct job_row *row;
    struct task_place *held; /* its tasks elsewhere, then those that found a place */
    uint32_t n, n_held;      /* n: on the node */
};
struct draining {
    struct ctl *ctl;
    struct arena *arena;
    struct sched_snapshot snapshot; /* as it is */
    struct cluster *copy;
    uint32_t node;
};

static bool is_here(const struct draining *d, const struct held_places *held, uint32_t i)
{
    return held_places_node(held, d->snapshot.cluster, i) == d->node;
}

static bool collect(const struct draining *d, const struct sched_running *job, struct leaving *out)
{
    const struct held_places *held = &job->held;
    *out = (struct leaving){ .job = job, .row = question_row(d->ctl, job->id) };
    for (uint32_t i = 0; i < held->n; i++)
        out->n += is_here(d, held, i);
    if (out->n == 0 || !out->row)
        return false;
    out->held = ARENA_ARRAY(d->arena, held->n, struct task_place);
    for (uint32_t i = 0; i < held->n; i++) {
        uint32_t node = held_places_node(held, d->snapshot.cluster, i);
        if (node != UINT32_MAX && node != d->node)
            out->held[out->n_held++] = *held_places_place(held, i);
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct leaving *)a)->row->number,
             y = ((const struct leaving *)b)->row->number;
    return x < y ? -1 : x > y;
}

static struct leaving *all_leaving(const struct draining *d, size_t *n)
{
    const struct sched_snapshot *s = &d->snapshot;
    struct leaving *all = ARENA_ARRAY(d->arena, s->n_running, struct leaving);
    *n = 0;
    for (size_t i = 0; i < s->n_running; i++)
        *n += collect(d, &s->running[i], &all[*n]);
    if (*n)
        qsort(all, *n, sizeof *all, by_number);
    return all;
}

/* What the tasks of the node hold there would be free: their ports, for one. */
static void vacate(const struct draining *d, const struct leaving *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct held_places *held = &all[i].job->held;
        for (uint32_t k = 0; k < held->n; k++)
            if (is_here(d, held, k))
                cluster_give(d->copy, held->spec, held_places_place(held, k));
    }
    cluster_set_drained(d->copy, d->node, true);
}

/* One task by itself, beside those that found a place before it. */
static void ask_for(const struct draining *d, struct leaving *l, const struct task_place *from,
                    struct drained_task *out)
{
    const struct job_spec *spec = l->job->held.spec;
    const struct task_ref ref = { .role = (uint16_t)from->role, .index = from->index };
    const struct sched_more more = {
        .id = l->job->id, .spec = spec, .tasks = &ref, .n = 1, .held = l->held, .n_held = l->n_held
    };
    const struct sched_snapshot snapshot = { .cluster = d->copy, .more = &more, .n_more = 1 };
    const struct plan plan = sched_plan(&snapshot, ctl_now(d->ctl), d->arena);
    const struct plan_entry *entry = plan.n ? &plan.at[0] : NULL;
    if (entry && entry->kind == PLAN_MORE && entry->n_tasks == 1 &&
        cluster_take(d->copy, spec, &entry->tasks[0])) {
        l->held[l->n_held++] = entry->tasks[0];
        out->to = arena_strdup(d->arena, entry->tasks[0].node); /* of the copy */
    } else {
        out->why = entry && entry->reason.says ? wait_text(d->arena, &entry->reason)
                                               : "no node has room for it";
    }
}

static void add_job(const struct draining *d, struct leaving *l, struct drain_view *view)
{
    const struct held_places *held = &l->job->held;
    for (uint32_t i = 0; i < held->n; i++) {
        if (!is_here(d, held, i))
            continue;
        const struct task_place *place = held_places_place(held, i);
        struct drained_task *one = &view->at[view->n++];
        *one = (struct drained_task){ .name = l->row->name,
                                      .owner = l->row->owner,
                                      .queue = l->row->queue,
                                      .number = l->row->number,
                                      .task = arena_printf(d->arena, "%s/%u",
                                                           held->spec->roles[place->role].name,
                                                           place->index) };
        ask_for(d, l, place, one);
    }
}

int explain_drain(struct ctl *ctl, struct arena *arena, const char *name, struct drain_view *view,
                  struct err *err)
{
    struct draining d = { .ctl = ctl, .arena = arena };
    size_t n, tasks = 0;
    question_snapshot(ctl, arena, &d.snapshot);
    d.node = cluster_find(d.snapshot.cluster, name);
    if (d.node == UINT32_MAX) {
        err_set(err, ERR_NOT_FOUND, "no node \"%.100s\"", name);
        return err_remedy(err, REMEDY_LIST_NODES);
    }
    struct leaving *all = all_leaving(&d, &n);
    d.copy = cluster_clone(d.snapshot.cluster);
    vacate(&d, all, n);
    for (size_t i = 0; i < n; i++)
        tasks += all[i].n;
    *view = (struct drain_view){ .drained = cluster_node(d.snapshot.cluster, d.node).drained,
                                 .at = ARENA_ARRAY(arena, tasks, struct drained_task) };
    for (size_t i = 0; i < n; i++)
        add_job(&d, &all[i], view);
    cluster_destroy(d.copy);
    return 0;
}
