/* What nodes are, apart from what is taken: shared by a cluster and its clones, copied on the first
 * change. */
#ifndef SCHED_LAYOUT_H
#define SCHED_LAYOUT_H

#include "base/map.h"
#include "sched/form.h"

struct kinds;
struct node_classes;
struct topology;
struct layout {
    uint32_t refs;
    struct form **forms;
    uint32_t n, cap;
    uint32_t n_hosts;
    size_t n_gpu, n_custom;           /* slots given out */
    struct string_map *nodes, *hosts; /* name -> position + 1 */
    struct words levels;              /* of the topology, outermost first */
    struct kinds *kinds;              /* made by layout_settle(); NULL after a change */
    struct topology *topology;        /* the same */
    struct node_classes *empty; /* of nodes with nothing taken, once somebody asked; or NULL */
};

static inline struct forms forms_of(const struct layout *l)
{
    return (struct forms){ .at = l->forms, .n = l->n };
}

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

#endif
