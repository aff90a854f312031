/* What is due, in a heap by time. Entries are counted as they are added, so that those of one time
 * come out in the order in which they were added. */
#include "engine/sim/due.h"

#include "base/heap.h"

#include <stdlib.h>

void dues_fini(struct dues *dues)
{
    vec_fini(&dues->heap);
}

void due_add(struct dues *dues, struct due due)
{
    due.order = dues->added++;
    heap_push(&dues->heap, due);
}

const struct due *due_first(const struct dues *dues)
{
    return dues->heap.n ? &dues->heap.at[0] : NULL;
}

struct due due_take(struct dues *dues)
{
    struct due first;
    heap_take(&dues->heap, &first);
    return first;
}
