/* What drivers say of the devices of nodes, for answers. */
#ifndef ANSWER_DEVICES_H
#define ANSWER_DEVICES_H

#include "ctl/contents.h"

#include <stdint.h>

struct node_spec;
struct task_place;
struct text_node;

/* place->n_gpus numbers as the driver has them, in arena; of declared devices their positions. */
uint32_t *devices_numbers(const struct contents *, struct arena *, const struct task_place *);
/* What the driver says of each of a node that has a report, as a list in arena. */
struct text_node *devices_tree(const struct contents *, struct arena *, const struct node_spec *);
/* The same of those of a place; NULL: it has none, or none that a driver knows. */
struct text_node *devices_of_place(const struct contents *, struct arena *,
                                   const struct task_place *);

#endif
