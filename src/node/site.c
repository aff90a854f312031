/* Counts the holders of a batch of launches. Launches are shared by their tasks and freed, with
 * their arena, with the last of them. */
#include "node/site.h"

#include "base/arena.h"

#include <stdlib.h>

void batch_hold(struct batch *batch)
{
    batch->holders++;
}

void batch_drop(struct batch *batch)
{
    if (!batch || --batch->holders > 0)
        return;
    arena_destroy(batch->arena);
    free(batch);
}
