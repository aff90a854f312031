/* Which processors each rank of a node may use, by the rules of torchrun's --numa-binding: the node
 * (or socket, share of cores, core complex) of the device whose index is the rank's. */
#ifndef LAUNCH_RANK_BIND_H
#define LAUNCH_RANK_BIND_H

#include "base/arena.h"
#include "launch/settings.h"

#include <sched.h>

/* One set per rank, in the arena; NULL for BIND_NONE, or where the machine does not say what
 * hangs where. root: "" for this machine (tests give a tree of their own). Without NVIDIA devices
 * the ranks are spread evenly over the nodes. */
const cpu_set_t *rank_bind_make(struct arena *, enum binding, uint32_t ranks, const char *root);

#endif
