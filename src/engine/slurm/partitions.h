/* What the nodes of Slurm's partitions have, as sinfo says it in SLURM_SINFO_FORMAT: processors,
 * memory, GPUs by type, for how long, and which. */
#ifndef ENGINE_SLURM_PARTITIONS_H
#define ENGINE_SLURM_PARTITIONS_H

#include "base/arena.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

struct slurm_shape { /* what each node of a partition has at least */
    const char *partition;
    uint64_t cpus, memory; /* bytes */
    uint32_t gpus, nodes;  /* how many nodes there are of that */
    const char *gpu_type; /* as Slurm calls those that were asked for; "": any, or it has no word */
    uint64_t time_ms;     /* that an allocation may have; 0: any */
};
struct slurm_gpus { /* of a node, at least */
    uint32_t n;
    struct words types; /* any of these models (job/gpu_model.h); none: any */
};
/* partition "": the default one. Of its nodes with at least those GPUs; where several types would
 * do, of the one that is called as it was asked for, else of the one that most nodes have. gpus
 * NULL: of all nodes. false: there is none. */
bool slurm_read_shape(struct arena *, const char *text, const char *partition,
                      const struct slurm_gpus *, struct slurm_shape *);
#define SLURM_TYPES_MAX 32
/* The types of GPUs there, SLURM_TYPES_MAX at most, in arena; none: Slurm tells none apart. */
struct words slurm_gpu_types(struct arena *, const char *text, const char *partition);
/* The names of its nodes, in arena; none: the answer does not name them. */
struct words slurm_nodes(struct arena *, const char *text, const char *partition);
/* Is there one of that name? */
bool slurm_has_partition(struct arena *, const char *text, const char *partition);

#endif
