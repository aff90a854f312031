/* What is free of each node, device by device, from the places that live jobs hold. */
#ifndef CTL_FREE_DEVICES_H
#define CTL_FREE_DEVICES_H

#include "ctl/cluster_views.h"
#include "ctl/ctl.h"

struct free_node {
    uint64_t *device; /* thousandths that are free of each */
    uint32_t n;
    uint32_t idle; /* devices nobody uses: the largest block of whole ones */
};

/* In the cluster's order; in arena. */
struct free_node *free_nodes(const struct ctl *, struct arena *);
struct free_sum free_sum(const struct ctl *, const struct free_node *);

#endif
