/* The ends of roots of tasks: their namespaces let go of and their layers removed, by processes
 * beside the agent. */
#ifndef NODE_REMOVALS_H
#define NODE_REMOVALS_H

#include "node/view.h"

#include <uv.h>

struct removals_sink {
    void (*done)(void *arg); /* none is on its way any more */
    void *arg;
};
struct removals;
struct removals *removals_create(uv_loop_t *, struct removals_sink);
/* Waits for those that are on their way. NULL-safe. */
void removals_destroy(struct removals *);
/* Of the view, which is VIEW_INIT after it, and then of the tree at that path: nothing runs in
 * there any more. */
void removals_start(struct removals *, struct view *, const char *path);
bool removals_busy(const struct removals *);

#endif
