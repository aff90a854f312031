/* Facts of a placed job that environments are made of: who runs where with which ports and devices.
 */
#ifndef JOB_PLACE_H
#define JOB_PLACE_H

#include "job/ids.h"
#include "job/job.h"

#define PORT_MAX_LABELS 64

struct placed_port {
    const char *label;
    uint32_t *numbers;
    uint32_t count;
};

/* One task's place. ports is parallel to the role's ports[]; for dialects that add labels, to their
 * role's list after adding. */
struct task_place {
    uint32_t role, index;
    uint32_t attempt;    /* from 1 */
    const char *node;    /* node name */
    uint32_t hint;       /* where the node was among all when it was chosen, from 1; 0: unknown */
    const char *address; /* IPv4 text the peers use */
    uint32_t *gpus;      /* device numbers */
    const char **gpu_names; /* what CUDA knows them by; NULL: their numbers */
    uint32_t n_gpus;
    bool gpus_declared;       /* only numbers: no devices of the node */
    uint32_t gpu_share_milli; /* < 1000 when sharing gpus[0] */
    struct placed_port *ports;
    uint32_t n_ports;
};

struct place_cache;

/* A whole generation, tasks in flat order (roles in order, index ascending). */
struct job_place {
    uint64_t id, number;
    uint64_t array;       /* number of its array; 0: none */
    uint32_t array_index; /* in it */
    uint32_t generation;
    const char *owner;
    struct task_place *tasks;
    uint32_t n;
    struct place_cache *once; /* dialect/place_cache.h; NULL: every task makes everything anew */
};

#endif
