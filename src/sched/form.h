/* Nodes as they were described, one form each. */
#ifndef SCHED_FORM_H
#define SCHED_FORM_H

#include "base/arena.h"
#include "base/pairs.h"
#include "job/node_spec.h"

#include <stddef.h>
#include <stdint.h>

struct form { /* one node as it was last described; never changes */
    uint32_t refs;
    struct arena *arena;
    struct node_spec spec;
    uint32_t host;         /* position of its physical host */
    size_t gpu_at;         /* first of its device slots */
    uint32_t gpu_slots;    /* spec.gpus, or more when it had more before */
    size_t custom_at;      /* first of its custom slots */
    struct amounts custom; /* a slot each: what it has now; names it had before stay with 0 */
};
struct forms { /* of the nodes, by position */
    struct form *const *at;
    uint32_t n;
};

/* Position of a custom resource among the node's slots, or SIZE_MAX. */
size_t form_custom(const struct form *, const char *name);

#endif
