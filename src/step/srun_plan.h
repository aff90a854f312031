/* What srun is to do: which tasks run on which node, with what. Pure but for files of --multi-prog.
 */
#ifndef STEP_SRUN_PLAN_H
#define STEP_SRUN_PLAN_H

#include "step/layout.h"
#include "step/srun_opts.h"
#include "wire/step.h"

struct srun_node { /* of the job */
    const char *name, *address;
    uint16_t port;
    uint32_t group; /* component */
};
struct srun_job {
    struct srun_node *nodes;
    size_t n;
    uint32_t groups;
    char *const *env; /* of srun */
};
struct srun_target { /* a node with tasks of the step */
    const struct srun_node *node;
    struct step_start start;
};
struct srun_plan {
    struct srun_target *targets;
    size_t n;
    uint32_t tasks;
    struct step_claim claim; /* no shares: nothing is held */
    size_t *claimed;         /* of each target: its share; SIZE_MAX: it holds no devices */
};

/* $MUSTER_STEP_NODES, "n1=10.0.0.1:20001,...;...". -1: srun is not inside a job of a batch script.
 */
int srun_job_read(struct arena *, const char *nodes, char *const *env, struct srun_job *,
                  struct err *);
/* Everything but the step's number and its devices, which the claim brings. */
int srun_plan_make(struct arena *, const struct srun_job *, struct srun_opts *parts, size_t n,
                   struct srun_plan *, struct err *);
/* The variables of the step: after its claim was granted. */
void srun_plan_grant(struct arena *, struct srun_plan *, const struct step_grant *);

#endif
