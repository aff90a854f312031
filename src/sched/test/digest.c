/* A hash over the fields of a plan, one by one: padding and pointers say nothing. Only builds of
 * the same sources are compared by it. */
#include "sched/test/digest.h"
#include "sched/wait_words.h"

#include "base/hash.h"

uint64_t digest_add(uint64_t digest, uint64_t number)
{
    return hash_add(digest, number);
}

static uint64_t add_text(uint64_t d, const char *text)
{
    return hash_add_text(digest_add(d, text != NULL), text);
}

static uint64_t add_place(uint64_t d, const struct task_place *p)
{
    d = add_text(digest_add(digest_add(d, p->role), p->index), p->node);
    for (uint32_t i = 0; i < p->n_gpus; i++)
        d = digest_add(d, p->gpus[i]);
    for (uint32_t i = 0; i < p->n_ports; i++)
        for (uint32_t k = 0; k < p->ports[i].count; k++)
            d = digest_add(d, p->ports[i].numbers[k]);
    return digest_add(d, p->n_gpus);
}

static uint64_t add_reason(uint64_t d, const struct wait_reason *r)
{
    const uint64_t numbers[] = { r->why,   r->need,  r->best,    r->short_by, r->total,
                                 r->ahead, r->queue, r->blocker, r->until_ms, r->at_ms };
    struct arena *arena = arena_create();
    const char *const texts[] = { r->resource, r->node,   r->role,
                                  r->level,    r->domain, wait_text(arena, r) };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        d = digest_add(d, numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        d = add_text(d, texts[i]);
    arena_destroy(arena);
    return d;
}

uint64_t digest_plan(uint64_t d, const struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *e = &p->at[i];
        const uint64_t numbers[] = { e->kind, e->job, e->n_tasks, e->at_ms, e->by, e->idle };
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            d = digest_add(d, numbers[k]);
        for (uint32_t k = 0; k < e->n_tasks; k++)
            d = add_place(d, &e->tasks[k]);
        d = add_reason(d, &e->reason);
    }
    return digest_add(d, p->n);
}
