/* Heaps of shelves by rank, one for each shape of task. Entries of shelves that are gone stay in a
 * heap until they come up, so removing a shelf costs nothing here. */
#include "sched/front.h"

#include "base/mem.h"

bool rank_better(const struct grade *a, const struct grade *b)
{
    if (a->units != b->units)
        return a->units > b->units;
    if (a->price != b->price)
        return a->price < b->price;
    if (a->filled != b->filled)
        return a->filled < b->filled;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu;
    if (a->cpu != b->cpu)
        return a->cpu < b->cpu;
    return a->memory != b->memory ? a->memory < b->memory : a->node < b->node;
}

struct fronts *fronts_create(void)
{
    return mem_new(sizeof(struct fronts));
}

void fronts_forget(struct fronts *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        free(f->at[i].heap);
    f->n = f->oldest = 0;
}

void fronts_destroy(struct fronts *f)
{
    if (f)
        fronts_forget(f);
    free(f);
}

struct front *fronts_find(struct fronts *f, const struct shape *shape)
{
    struct front *front;
    for (uint32_t i = 0; i < f->n; i++)
        if (shape_compare(&f->at[i].shape, shape) == 0)
            return &f->at[i];
    if (f->n < FRONTS) {
        front = &f->at[f->n++];
    } else {
        front = &f->at[f->oldest];
        f->oldest = (f->oldest + 1) % FRONTS;
        free(front->heap);
    }
    *front = (struct front){ .shape = *shape };
    return front;
}

void front_push(struct front *f, const struct front_entry *e)
{
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 64;
        f->heap = mem_resize(f->heap, f->cap * sizeof *f->heap);
    }
    uint32_t i = f->n++;
    for (; i > 0 && rank_better(&e->rank, &f->heap[(i - 1) / 2].rank); i = (i - 1) / 2)
        f->heap[i] = f->heap[(i - 1) / 2];
    f->heap[i] = *e;
}

struct front_entry front_pop(struct front *f)
{
    struct front_entry top = f->heap[0], moved = f->heap[--f->n];
    uint32_t i = 0;
    for (uint32_t child = 1; child < f->n; child = 2 * i + 1) {
        if (child + 1 < f->n && rank_better(&f->heap[child + 1].rank, &f->heap[child].rank))
            child++;
        if (!rank_better(&f->heap[child].rank, &moved.rank))
            break;
        f->heap[i] = f->heap[child];
        i = child;
    }
    f->heap[i] = moved;
    return top;
}
