/* A node: what it has and where it is. */
#ifndef JOB_NODE_SPEC_H
#define JOB_NODE_SPEC_H

#include "base/pairs.h"
#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_report;
#define NODE_ENDS 1u /* lasts_ms of one where nothing is to start any more */
struct node_spec {   /* as declared or detected */
    const char *name;
    const char *address; /* IPv4 text; each virtual node has a loopback address of its own */
    const char *host;    /* physical host: nodes with the same host share its ports */
    uint64_t cpu_milli, memory, disk;
    uint32_t gpus;
    const char *gpu_type;      /* "" unknown; several models: joined by GPU_MODELS_APART */
    struct gpu_report *report; /* which devices those are; NULL: declared, only numbers. Not
                                * copied: it outlives the cluster */
    struct pairs labels;
    struct amounts custom;
    uint64_t price_milli; /* what a spot job has to bid; 0: nothing */
    const char *engine;   /* that gave it: "slurm"; NULL: as `machine` says */
    uint64_t lasts_ms; /* jobs there may last so long: its allocation ends then; 0: without end */
    uint64_t for_job;  /* the id of the job whose own allocation it is of; 0: of any job */
    uint32_t of_nodes; /* that the allocation has; 0: not known */
    bool early_images; /* images of jobs that wait can come to it: a host that knows how */
    bool machine;      /* found while the server runs: it comes, changes and goes */
    bool gone;         /* a machine that was: nothing fits there, its name may come again */
    bool declared;     /* said to be so by the configuration, may be larger than the machine */
};

/* Which engine it is of. */
static inline const char *node_engine(const struct node_spec *spec)
{
    return spec->engine ? spec->engine : spec->machine ? "machines" : "local";
}

#endif
