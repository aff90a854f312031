/* What draining a node would mean: who runs there, and where the scheduler would put each now if it
 * had to leave. On a copy of the cluster, by the scheduler's own code. */
#include "ctl/core.h"

#include "base/mem.h"

#include <string.h>

struct leaving { /* the tasks of one job that are on the node */
    struct live_job *job;
    struct task_ref *refs;
    struct task_place *others; /* its tasks elsewhere */
    uint32_t n, n_others;
};

static bool collect(struct arena *arena, struct live_job *job, const char *node,
                    struct leaving *out)
{
    *out = (struct leaving){ .job = job };
    for (uint32_t pass = 0; pass < 2; pass++) {
        out->n = out->n_others = 0;
        for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++) {
            const struct live_task *task = &job->tasks[flat];
            if (!task->taken)
                continue;
            bool here = strcmp(task->place.node, node) == 0;
            if (pass && here)
                out->refs[out->n] = (struct task_ref){ .role = (uint16_t)task->place.role,
                                                       .index = task->place.index };
            else if (pass)
                out->others[out->n_others] = task->place;
            out->n += here;
            out->n_others += !here;
        }
        if (pass == 0) {
            out->refs = ARENA_ARRAY(arena, out->n, struct task_ref);
            out->others = ARENA_ARRAY(arena, out->n_others, struct task_place);
        }
    }
    return out->n > 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct leaving *)a)->job->row.number,
             y = ((const struct leaving *)b)->job->row.number;
    return x < y ? -1 : x > y;
}

static struct leaving *all_leaving(struct ctl *ctl, struct arena *arena, const char *node,
                                   size_t *n)
{
    struct leaving *all = ARENA_ARRAY(arena, live_count(ctl->live), struct leaving);
    size_t cursor = 0;
    struct live_job *job;
    *n = 0;
    while (live_next(ctl->live, &cursor, &job))
        *n += collect(arena, job, node, &all[*n]);
    if (*n)
        qsort(all, *n, sizeof *all, by_number);
    return all;
}

static const struct task_place *found(const struct plan_entry *entry, const struct task_ref *ref)
{
    for (uint32_t i = 0; entry && i < entry->n_tasks; i++)
        if (entry->tasks[i].role == ref->role && entry->tasks[i].index == ref->index)
            return &entry->tasks[i];
    return NULL;
}

static void put_job(struct arena *arena, const struct leaving *l, const struct plan_entry *entry,
                    struct text_node *list)
{
    const struct job_row *row = &l->job->row;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct task_place *place = found(entry, &l->refs[i]);
        struct text_node *one = text_map(arena, list, NULL);
        text_int(arena, one, "number", (int64_t)row->number);
        text_str(arena, one, "name", row->name);
        text_str(arena, one, "owner", row->owner);
        text_str(arena, one, "queue", row->queue);
        text_str(arena, one, "task",
                 arena_printf(arena, "%s/%u", l->job->spec->roles[l->refs[i].role].name,
                              l->refs[i].index));
        if (place)
            text_str(arena, one, "to", place->node);
        else
            text_str(arena, one, "why",
                     entry && entry->reason.text ? entry->reason.text : "no node has room for it");
    }
}

/* Without what its own tasks hold on the node: those ports and amounts would be free. */
static struct cluster *without(struct ctl *ctl, uint32_t node, const struct leaving *all, size_t n)
{
    struct cluster *copy = cluster_clone(ctl->cluster);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < all[i].n; k++) {
            uint32_t flat = live_flat(all[i].job, all[i].refs[k]);
            cluster_give(copy, all[i].job->spec, &all[i].job->tasks[flat].place);
        }
    cluster_set_drained(copy, node, true);
    return copy;
}

static const struct plan_entry *entry_of(const struct plan *plan, uint64_t job)
{
    for (size_t i = 0; i < plan->n; i++)
        if (plan->at[i].job == job && plan->at[i].kind == PLAN_MORE)
            return &plan->at[i];
    return NULL;
}

struct text_node *ctl_drain_tree(struct ctl *ctl, struct arena *arena, const char *name,
                                 struct err *err)
{
    uint32_t node = cluster_find(ctl->cluster, name);
    size_t n;
    if (node == UINT32_MAX) {
        err_set(err, ERR_NOT_FOUND, "no node \"%.100s\"", name);
        err_hint(err, "muster nodes");
        return NULL;
    }
    const struct leaving *all = all_leaving(ctl, arena, name, &n);
    struct sched_more *more = ARENA_ARRAY(arena, n, struct sched_more);
    for (size_t i = 0; i < n; i++)
        more[i] = (struct sched_more){ .id = all[i].job->row.id,
                                       .spec = all[i].job->spec,
                                       .tasks = all[i].refs,
                                       .n = all[i].n,
                                       .held = all[i].others,
                                       .n_held = all[i].n_others };
    struct cluster *copy = without(ctl, node, all, n);
    struct sched_snapshot snapshot = { .cluster = copy, .more = more, .n_more = n };
    const struct plan plan = sched_plan(&snapshot, core_now(ctl), arena);
    struct text_node *root = text_map(arena, NULL, NULL);
    text_str(arena, root, "name", name);
    text_bool(arena, root, "drained", cluster_node(ctl->cluster, node).drained);
    text_bool(arena, root, "dry_run", true);
    struct text_node *list = text_list(arena, root, "tasks");
    for (size_t i = 0; i < n; i++)
        put_job(arena, &all[i], entry_of(&plan, all[i].job->row.id), list);
    cluster_destroy(copy);
    return root;
}
