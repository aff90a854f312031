/* Helpers of the scheduler's tests: clusters and jobs made of a few words, places that are taken
 * and given back, plans shown as text. */
#include "sched/test/world.h"
#include "sched/wait_words.h"

#include "base/buf.h"

#include <stdlib.h>

struct world world_create(const struct node_spec *nodes, size_t n)
{
    struct world w = { .arena = arena_create(), .cluster = cluster_create(15000, 15999, 15000) };
    for (size_t i = 0; i < n && nodes[i].name; i++)
        cluster_put(w.cluster, &nodes[i]);
    return w;
}

void world_destroy(struct world *w)
{
    cluster_destroy(w->cluster);
    arena_destroy(w->arena);
}

struct job_spec *world_job(struct arena *arena, const struct role *roles, size_t n)
{
    struct job_spec *job = ARENA_NEW(arena, struct job_spec);
    job->name = "job";
    job->roles = ARENA_ARRAY(arena, n, struct role);
    while (job->n_roles < n && roles[job->n_roles].name) {
        job->roles[job->n_roles] = roles[job->n_roles];
        job->n_roles++;
    }
    return job;
}

bool world_take(struct cluster *c, const struct job_spec *job, const struct plan_entry *e)
{
    for (uint32_t i = 0; i < e->n_tasks; i++)
        if (!cluster_take(c, job, &e->tasks[i])) {
            while (i-- > 0)
                cluster_give(c, job, &e->tasks[i]);
            return false;
        }
    return true;
}

void world_give(struct cluster *c, const struct job_spec *job, const struct plan_entry *e)
{
    for (uint32_t i = 0; i < e->n_tasks; i++)
        cluster_give(c, job, &e->tasks[i]);
}

static void show_list(struct buf *out, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_addf(out, "%s%u", i ? "," : "", at[i]);
}

const char *world_show(struct arena *arena, const struct job_spec *job, const struct plan_entry *e)
{
    if (e->kind == PLAN_WAIT)
        return e->reason.says ? wait_text(arena, &e->reason) : "(no text)";
    AUTO_BUF struct buf out = BUF_INIT(65536);
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const struct task_place *p = &e->tasks[i];
        buf_addf(&out, "%s%s/%u@%s", i ? " " : "", job->roles[p->role].name, p->index, p->node);
        if (p->n_gpus) {
            buf_puts(&out, "[");
            show_list(&out, p->gpus, p->n_gpus);
            buf_puts(&out, "]");
        }
        for (uint32_t k = 0; k < p->n_ports; k++) {
            buf_puts(&out, ":");
            show_list(&out, p->ports[k].numbers, p->ports[k].count);
        }
    }
    return arena_strdup(arena, buf_str(&out));
}

struct plan_entry world_try(struct world *w, const struct job_spec *job)
{
    struct sched_job waiting = { .id = 1, .spec = job };
    return sched_try(w->cluster, &waiting, 1000, w->arena);
}
