/* A binary heap of what is due. */
#include "engine/sim/due.h"

#include <stdlib.h>

static bool before(const struct due *a, const struct due *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void swap(struct due *a, struct due *b)
{
    struct due kept = *a;
    *a = *b;
    *b = kept;
}

void dues_fini(struct dues *dues)
{
    vec_fini(&dues->heap);
}

void due_add(struct dues *dues, struct due due)
{
    due.order = dues->added++;
    vec_push(&dues->heap, due);
    size_t i = dues->heap.n - 1;
    while (i > 0 && before(&dues->heap.at[i], &dues->heap.at[(i - 1) / 2])) {
        swap(&dues->heap.at[i], &dues->heap.at[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

const struct due *due_first(const struct dues *dues)
{
    return dues->heap.n ? &dues->heap.at[0] : NULL;
}

struct due due_take(struct dues *dues)
{
    struct due first = dues->heap.at[0];
    size_t n = --dues->heap.n, i = 0;
    dues->heap.at[0] = dues->heap.at[n];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&dues->heap.at[child + 1], &dues->heap.at[child]))
            child++;
        if (!before(&dues->heap.at[child], &dues->heap.at[i]))
            break;
        swap(&dues->heap.at[child], &dues->heap.at[i]);
    }
    return first;
}
