/* Which task of a step runs on which node. Pure. */
#ifndef STEP_LAYOUT_H
#define STEP_LAYOUT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

enum layout_order { LAYOUT_DEFAULT, LAYOUT_BLOCK, LAYOUT_CYCLIC, LAYOUT_PLANE };

struct layout_ask {
    uint32_t tasks, nodes;
    uint32_t per_node; /* most on one node; 0: as many as it takes */
    enum layout_order order;
    uint32_t plane; /* tasks of LAYOUT_PLANE that stay together */
};
struct layout {
    uint32_t *counts;  /* tasks of each node */
    uint32_t *node_of; /* of each task */
};
/* "block", "cyclic:block", "plane=4", "*" (its default); -1: no such order, err says which there
 * are. */
int layout_order(const char *text, struct layout_ask *, struct err *);
/* Fewer tasks than nodes are one each on the first ones. -1: per_node is too small. */
int layout_make(struct arena *, const struct layout_ask *, struct layout *, struct err *);
/* "2(x3),1" */
const char *layout_counts(struct arena *, const struct layout *, uint32_t nodes);

#endif
