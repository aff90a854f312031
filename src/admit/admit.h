/* Can this server ever run this job? Every canonical field that nothing here executes is refused
 * with its reason, or accepted with a warning that the submitter sees. */
#ifndef ADMIT_ADMIT_H
#define ADMIT_ADMIT_H

#include "base/report.h"
#include "job/job.h"
#include "job/runtime.h"
#include "sched/plan.h"

/* Adds refusals (errors) and warnings; 0 when nothing was refused. got: how images are run. root:
 * of the text that the job was read from, for the places of what is refused; or NULL. */
int admit_features(unsigned engine_caps, enum job_runtime got, const struct job_spec *,
                   const struct text_node *root, struct report *);
/* Only what every server refuses, whatever its engine does. 0 or -1. */
int admit_anywhere(const struct job_spec *, const struct text_node *root, struct report *);
bool admit_names_image(const struct job_spec *);
/* One that names an image, and is not to run on the host. checks: why it cannot be run on the
 * server's own machine; NULL: it can. elsewhere: there are, or will be, other machines for it,
 * which say themselves what they cannot. 0 when nothing was refused. */
int admit_image(const struct runtime_checks *checks, enum job_runtime asked, bool elsewhere,
                const struct job_spec *, struct report *);
/* A level that the nodes do not have: refused when it is required, else a warning. */
int admit_topology(const struct cluster *, const struct job_spec *, struct report *);
/* Can nodes be asked for, for this job alone? */
bool admit_asks_nodes(unsigned engine_caps, const struct job_spec *);
/* Fits the empty cluster? The refusal says the numbers and what to type instead. */
int admit_size(const struct cluster *, const struct job_spec *, struct report *);
/* It may wait for nodes that hold it: said, because a slip would wait for ever. */
void admit_warn_size(const struct cluster *, const struct job_spec *, struct report *);

#endif
