/* What is free of each node, device by device, from the places that live jobs hold. */
#ifndef ANSWER_FREE_DEVICES_H
#define ANSWER_FREE_DEVICES_H

#include "answer/cluster_views.h"
#include "ctl/contents.h"

struct free_node {
    uint64_t *device; /* thousandths that are free of each */
    uint32_t n;
    uint32_t idle; /* devices nobody uses: the largest block of whole ones */
};

/* In the cluster's order; in arena. */
struct free_node *free_nodes(const struct contents *, struct arena *);
struct free_sum free_sum(const struct contents *, const struct free_node *);

#endif
