/* Heaps of node classes by rank, one for each shape of task. Entries of classes that are gone stay
 * in a heap until they come up, so removing a class costs nothing here. */
#include "sched/class_ranking.h"

#include "base/mem.h"

bool rank_better(const struct node_score *a, const struct node_score *b)
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

struct class_rankings *class_rankings_create(void)
{
    return mem_new(sizeof(struct class_rankings));
}

void class_rankings_forget(struct class_rankings *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        free(f->at[i].heap);
    f->n = f->oldest = 0;
}

void class_rankings_destroy(struct class_rankings *f)
{
    if (f)
        class_rankings_forget(f);
    free(f);
}

struct class_ranking *class_rankings_find(struct class_rankings *f, const struct shape *shape)
{
    struct class_ranking *ranking;
    for (uint32_t i = 0; i < f->n; i++)
        if (shape_compare(&f->at[i].shape, shape) == 0)
            return &f->at[i];
    if (f->n < CLASS_RANKINGS) {
        ranking = &f->at[f->n++];
    } else {
        ranking = &f->at[f->oldest];
        f->oldest = (f->oldest + 1) % CLASS_RANKINGS;
        free(ranking->heap);
    }
    *ranking = (struct class_ranking){ .shape = *shape };
    return ranking;
}

void class_ranking_push(struct class_ranking *f, const struct ranking_entry *e)
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

struct ranking_entry class_ranking_pop(struct class_ranking *f)
{
    struct ranking_entry top = f->heap[0], moved = f->heap[--f->n];
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
