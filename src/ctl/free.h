/* What is free of each node, device by device, from the places that live jobs hold. */
#ifndef CTL_FREE_H
#define CTL_FREE_H

#include "ctl/ctl.h"

struct free_node {
    uint64_t *device; /* thousandths that are free of each */
    uint32_t n;
    uint32_t idle; /* devices nobody uses: the largest block of whole ones */
};
/* As many whole devices as can be had together, largest blocks first: a node with 7 idle ones has
 * one of 4, one of 2 and one of 1. */
enum { FREE_BLOCKS = 4 };
struct free_sum { /* of nodes that are up and not drained */
    uint64_t cpu_milli, memory, gpu_milli, idle;
    uint64_t blocks[FREE_BLOCKS]; /* of free_block_sizes */
};
extern const uint32_t free_block_sizes[FREE_BLOCKS]; /* 8, 4, 2, 1 */

/* In the cluster's order; in arena. */
struct free_node *free_nodes(const struct ctl *, struct arena *);
struct free_sum free_sum(const struct ctl *, const struct free_node *);
/* {cpu_milli, memory, gpu_milli, idle_gpus, blocks: {"8": n ...}} */
struct text_node *free_tree(struct arena *, const struct free_sum *, struct text_node *parent,
                            const char *key);

#endif
