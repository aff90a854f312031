/* Nodes that pilots are to get from Slurm, before they join: nodes "slurm-1" ... that are down, so
 * that jobs may wait for them, instead of being refused for a cluster that is too small. */
#ifndef ENGINE_SLURM_COMING_H
#define ENGINE_SLURM_COMING_H

#include "engine/slurm/partitions.h"
#include "engine/slurm/pilot.h"

struct coming_node {  /* what it will have at least */
    const char *name; /* until it has joined */
    uint64_t cpus, memory;
    uint32_t gpus;
    const char *why; /* it is not there yet; NULL: nobody waits for it any more */
};
struct coming_sink {
    void (*expect)(void *arg, const struct coming_node *);
    bool (*taken)(void *arg, const char *node); /* there is a node of that name */
    void *arg;
};
struct coming;
struct coming *coming_create(const struct coming_sink *);
void coming_destroy(struct coming *);
void coming_find(struct coming *); /* those of an earlier server, for which nobody may wait now */
/* The one at that place is of that pilot; shape: of its partition. false: there is no such place.
 */
bool coming_set(struct coming *, size_t place, const struct pilot *, const struct slurm_shape *);
void coming_clear(struct coming *, size_t from); /* that one and all behind it are none */

#endif
