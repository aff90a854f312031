/* One unit of tasks on one node: does it fit, take it, give it back. */
#ifndef SCHED_FIT_H
#define SCHED_FIT_H

#include "sched/nodes.h"
#include "sched/placement.h"

#define FIT_ANY_DEVICE UINT32_MAX

/* May the group be on this node at all? It reaches the node (up, pin, apart, domain), and the node
 * suits it (names, labels, type, price), which changes only with what the node is. */
bool fit_allowed(const struct placement *, const struct group *, uint32_t node);
bool fit_suits(const struct placement *, const struct group *, uint32_t node);
static inline bool fit_reaches(const struct placement *placement, const struct group *g,
                               uint32_t node)
{
    if (!node_usable(&placement->cluster->nodes[node]) || (g->pin != UINT32_MAX && g->pin != node))
        return false;
    return !(g->apart && g->on[node]) &&
           (!placement->level || placement->level->of[node] == placement->domain);
}
/* How many more units the node holds, at most limit: exact for units of one task, otherwise not too
 * low. */
uint32_t fit_units(const struct placement *, const struct group *, uint32_t node, uint32_t limit);

/* Puts the group's next unit on the node. device: for a unit of one sharing task, the device to
 * use. false: nothing was taken. */
bool fit_put(struct placement *, struct group *, uint32_t node, uint32_t device);
/* Gives back everything that was taken after the first n seats. */
void fit_back(struct placement *, uint32_t n_seats);

#endif
