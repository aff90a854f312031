/* What draining a node would mean for what runs there. */
#ifndef EXPLAIN_DRAIN_H
#define EXPLAIN_DRAIN_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;

struct drained_task {                 /* one that would have to leave */
    const char *name, *owner, *queue; /* of its job */
    uint64_t number;
    const char *task;
    const char *to, *why; /* the node where it would go, or NULL and what keeps it from all */
};
struct drain_view {
    bool drained;            /* now */
    struct drained_task *at; /* by number */
    size_t n;
};
/* In arena. -1: no such node. */
int explain_drain(struct ctl *, struct arena *, const char *node, struct drain_view *,
                  struct err *);

#endif
