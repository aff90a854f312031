/* What nodes have and what is taken of it, kept beside the scheduler's own accounts for measuring:
 * amounts in use and how much of what is free is of use to nobody. */
#ifndef SIM_CLUSTER_USAGE_H
#define SIM_CLUSTER_USAGE_H

#include "job/job.h"
#include "sched/cluster.h"

struct ask { /* one task's */
    uint64_t cpu_milli, memory, gpu_milli;
    struct words types;
    uint64_t weight; /* tasks like it */
};
struct task_usage {
    uint32_t node;
    uint64_t cpu_milli, memory, gpu_milli;
    uint32_t n_gpus;
    uint32_t gpus[];
};
struct cluster_usage_sums {
    uint64_t gpu_all, cpu_all;   /* milli, of nodes that are up */
    uint64_t gpu_used, cpu_used; /* milli */
};

struct cluster_usage;
/* asks: what is typical; those without GPUs do not matter. */
struct cluster_usage *cluster_usage_create(const struct node_spec *, size_t n, const struct ask *,
                                           size_t n_asks);
void cluster_usage_destroy(struct cluster_usage *); /* NULL-safe */
/* node: its name. The hold is given to cluster_usage_give, or freed with the usage. NULL: no such
 * node. */
struct task_usage *cluster_usage_take(struct cluster_usage *, const char *node, const struct ask *,
                                      const uint32_t *gpus, uint32_t n_gpus);
void cluster_usage_give(struct cluster_usage *, struct task_usage *); /* frees it */
bool cluster_usage_set_up(struct cluster_usage *, const char *node,
                          bool up); /* false: no such node */
struct cluster_usage_sums cluster_usage_sums(const struct cluster_usage *);
/* Of a million parts of the free GPUs, how many a task drawn from the asks could not use where they
 * are: its node has too little of something else or is of another type, or what is free of the
 * device, or of devices together, is too small. 0 when none is free. */
uint32_t cluster_usage_fragmented(struct cluster_usage *);

#endif
