/* What nodes are, apart from what is taken: shared by a cluster and its clones, copied on the first
 * change. */
#ifndef SCHED_LAYOUT_H
#define SCHED_LAYOUT_H

#include "base/map.h"
#include "sched/cluster.h"

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

struct kinds;
struct node_classes;
struct topology;
struct layout {
    uint32_t refs;
    struct form **forms;
    uint32_t n, cap;
    uint32_t n_hosts;
    size_t n_gpu, n_custom;     /* slots given out */
    struct smap *nodes, *hosts; /* name -> position + 1 */
    struct words levels;        /* of the topology, outermost first */
    struct kinds *kinds;        /* made by layout_settle(); NULL after a change */
    struct topology *topology;  /* the same */
    struct node_classes *empty; /* of nodes with nothing taken, once somebody asked; or NULL */
};

struct layout *layout_create(void);
struct layout *layout_copy(const struct layout *); /* shares the forms */
void layout_unshare(struct layout *);              /* NULL-safe */
void layout_set_levels(struct layout *, const struct words *);
/* Makes what follows from all forms together; nothing to do unless something changed. */
void layout_settle(struct layout *);
/* Adds or replaces by name; returns the position. The physical host of a known node stays what it
 * was. */
uint32_t layout_put(struct layout *, const struct node_spec *);
uint32_t layout_find(const struct layout *, const char *name); /* UINT32_MAX when unknown */
/* Position of a custom resource among the node's slots, or SIZE_MAX. */
size_t form_custom(const struct form *, const char *name);

#endif
