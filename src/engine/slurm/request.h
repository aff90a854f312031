/* What a job's own allocation is asked to have: nodes, what of each, for how long, and what else
 * sbatch is to be told. Pure. */
#ifndef ENGINE_SLURM_REQUEST_H
#define ENGINE_SLURM_REQUEST_H

#include "engine/slurm/pilot.h"

struct job_spec;

/* Labels of place.labels that are for sbatch: nodes of the allocation have them too. */
#define REQUEST_LABELS(X)                                                                          \
    X("slurm/account", "--account")                                                                \
    X("slurm/qos", "--qos")                                                                        \
    X("slurm/constraint", "--constraint")                                                          \
    X("slurm/reservation", "--reservation")                                                        \
    X("slurm/licenses", "--licenses")
#define REQUEST_PARTITION "slurm/partition"

/* sinfo: its answer in SLURM_SINFO_FORMAT; NULL: there is none, then a node is asked for each task
 * (or group of tasks that share one). -1: the partition is not there, or has not as much. Texts in
 * arena. */
int slurm_make_request(struct arena *, const struct job_spec *, const char *sinfo,
                       struct pilot_ask *out, struct err *);

#endif
