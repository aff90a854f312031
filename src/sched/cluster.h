/* Nodes, what they have and what is taken: integer accounting that the planner clones and the core
 * keeps. */
#ifndef SCHED_CLUSTER_H
#define SCHED_CLUSTER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/pairs.h"
#include "job/node_spec.h"
#include "job/place.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster; /* owns copies of its nodes */
struct cluster *cluster_create(uint32_t port_first, uint32_t port_last, uint32_t port_start);
/* Cheap: a pass works on one and throws it away. */
struct cluster *cluster_clone(const struct cluster *);
void cluster_destroy(struct cluster *);

/* Adds or replaces (by name; what is taken stays taken). Returns the node's position. */
uint32_t cluster_put(struct cluster *, const struct node_spec *);
void cluster_set_up(struct cluster *, uint32_t node, bool up);
void cluster_set_drained(struct cluster *, uint32_t node, bool drained);
uint32_t cluster_count(const struct cluster *);
/* The levels of the topology, outermost first: names of labels, such as zone and rack. A node's
 * domain at a level is the value of that label; a single node is the innermost. ERR_INPUT, and
 * nothing changed, when a domain of the nodes there are lies in two wider ones. */
int cluster_set_levels(struct cluster *, const struct words *, struct err *);
bool cluster_has_level(const struct cluster *, const char *name); /* "node": always */
uint32_t cluster_find(const struct cluster *, const char *name);  /* UINT32_MAX when unknown */

/* Single tasks go where the potential rises least; NULL: to the fullest node. Not owned: it
 * outlives the cluster and its clones, which share it. What it learns between two decisions counts
 * from the next one on. */
struct potential;
void cluster_set_potential(struct cluster *, struct potential *);
/* What a task of the role is in a mix. The types in it are positions among those of the nodes.
 * false: no such role. */
struct shape;
bool cluster_shape(const struct cluster *, const struct job_spec *, uint32_t role, struct shape *);
/* The kinds of the nodes, and of those the types that a shape names by position. Until the next
 * change of a node's form. */
struct kinds;
const struct kinds *cluster_kinds(const struct cluster *);

struct node_view {
    const struct node_spec *spec;
    bool up, drained;
    uint64_t cpu_used, memory_used, disk_used, gpu_used_milli;
    uint32_t tasks;
};
struct node_view cluster_node(const struct cluster *, uint32_t node);

/* A device that is not given out any more, or again: what tasks have of it they keep. */
void cluster_close_device(struct cluster *, uint32_t node, uint32_t device, bool closed);
bool cluster_device_is_closed(const struct cluster *, uint32_t node, uint32_t device);

/* What tasks have of the node's devices. In a node_view a closed one counts as used. */
uint64_t cluster_gpu_held(const struct cluster *, uint32_t node);

/* Takes what a placed task holds (role of the job says how much; node by place->node). false and
 * nothing taken when it does not fit: capacity, a device over 1000 milli or closed, or a port
 * already held on that physical host. */
bool cluster_take(struct cluster *, const struct job_spec *, const struct task_place *);
/* What the records say that it holds already, also of closed devices, and of a node that has less
 * by now, or is gone: what is taken stays taken. false: a device or a port is another task's. */
bool cluster_take_again(struct cluster *, const struct job_spec *, const struct task_place *);
void cluster_give(struct cluster *, const struct job_spec *, const struct task_place *);
/* A port seen taken from outside: not given out on that host until the time passes. */
void cluster_block_port(struct cluster *, uint32_t node, uint32_t port, uint64_t until_ms);
void cluster_expire_blocks(struct cluster *, uint64_t now_ms);
uint64_t cluster_unblocks(const struct cluster *); /* when the next block ends; UINT64_MAX: none */

#endif
