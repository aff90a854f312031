/* What would make a job fit that is larger than the cluster: nodes to declare, or a smaller
 * request. Both are tried before they are said. Pure. */
#ifndef ADMIT_DECLARE_H
#define ADMIT_DECLARE_H

#include "sched/plan.h"

/* Nodes in the short form of the setting `nodes`: those that are declared already, and such that
 * the job finds room. NULL: no declared nodes of one machine hold it (they share its ports, for
 * one), or they cannot be written in that form. */
const char *declare_nodes(struct arena *, const struct cluster *, const struct job_spec *);
/* An assignment that makes the job fit, "roles.worker.resources.gpu=1"; what asks for devices is
 * never offered none. NULL: none was found. */
const char *declare_smaller(struct arena *, const struct cluster *, const struct job_spec *,
                            const struct wait_reason *);

#endif
