/* The inside of a cluster, for this folder: what is taken of each node, and the primitives that
 * take and give. */
#ifndef SCHED_NODES_H
#define SCHED_NODES_H

#include "job/place.h"
#include "sched/layout.h"
#include "sched/node_class.h"
#include "sched/ports.h"
#include "sched/task_request.h"
#include "sched/topology.h"

struct node { /* taken */
    uint64_t cpu, memory, disk;
    uint32_t gpu_milli;
    uint32_t idle_gpus; /* devices nobody uses */
    uint32_t tasks;
    bool up, drained;
};

struct cluster {
    struct layout *layout;
    struct node *nodes;
    uint16_t *gpu;         /* milli taken, a slot per device */
    uint64_t *custom;      /* milli taken, a slot per node and name */
    struct ports **ports;  /* per physical host; NULL: all free */
    uint32_t *ports_users; /* clusters that share them, until one of them changes one */
    uint64_t unblocks_ms;  /* no port that is blocked comes free before */
    struct node_classes *classes;
    struct port_range pool;
    uint32_t port_start;
};

static inline const struct form *cluster_form(const struct cluster *c, uint32_t node)
{
    return c->layout->forms[node];
}
static inline bool node_usable(const struct node *n)
{
    return n->up && !n->drained;
}
static inline uint64_t less(uint64_t a, uint64_t b) /* a - b, not below 0 */
{
    return a > b ? a - b : 0;
}
static inline uint64_t plus(uint64_t a, uint64_t b) /* a + b, not above the most */
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
static inline uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

const struct topology *cluster_topology(const struct cluster *); /* good until a node is put */
/* The same nodes with nothing taken, all of them up and in use. */
struct cluster *cluster_clone_empty(const struct cluster *);
/* All nodes up and undrained, what is taken stays. */
void cluster_revive(struct cluster *);
const struct ports *cluster_ports(const struct cluster *, uint32_t node);
struct ports *cluster_own_ports(struct cluster *, uint32_t node);

/* Cpu, memory, disk and custom amounts of one more task. */
bool node_has_amounts(const struct cluster *, uint32_t node, const struct task_request *);
/* UINT32_MAX: it is on none of these nodes. */
uint32_t place_node(const struct cluster *, const struct task_place *);
/* Takes exactly what place says (devices, ports) and want says (amounts); all or nothing. */
bool node_hold(struct cluster *, uint32_t node, const struct task_request *,
               const struct task_place *);
void node_drop(struct cluster *, uint32_t node, const struct task_request *,
               const struct task_place *);
/* Undoes node_drop, also where a device is closed or the node has less than its tasks hold. */
void node_hold_back(struct cluster *, uint32_t node, const struct task_request *,
                    const struct task_place *);

/* Between clones of one cluster: what is taken of the node (and of its host's ports) as it is in
 * `from`; or of each thing whichever is more. What a job finds free after raising is free in both.
 */
void node_copy(struct cluster *to, const struct cluster *from, uint32_t node);
void node_raise(struct cluster *to, const struct cluster *from, uint32_t node);

#endif
