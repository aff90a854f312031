/* Can this server ever run this job? Every canonical field that nothing here executes is refused
 * with its reason, or accepted with a warning that the submitter sees. */
#ifndef CTL_ADMIT_H
#define CTL_ADMIT_H

#include "ctl/ctl.h"

/* Adds refusals (errors) and warnings; 0 when nothing was refused. root: of the text that the job
 * was read from, for the places of what is refused; or NULL. */
int admit_features(unsigned engine_caps, const struct job_spec *, const struct text_node *root,
                   struct report *);
/* Only what every server refuses, whatever its engine does. 0 or -1. */
int admit_anywhere(const struct job_spec *, const struct text_node *root, struct report *);
/* How its images are run: what is settled is put into the job. setting: of a job that says nothing.
 * no_images: why none can be run; NULL: they can. 0 when nothing was refused. */
int admit_runtime(enum job_runtime setting, const char *no_images, struct job_spec *,
                  struct report *);
/* A level that the nodes do not have: refused when it is required, else a warning. */
int admit_topology(const struct cluster *, const struct job_spec *, struct report *);
/* Can nodes be asked for, for this job alone? */
bool admit_asks_nodes(unsigned engine_caps, const struct job_spec *);
/* Fits the empty cluster? The refusal says the numbers and what to type instead. */
int admit_size(const struct cluster *, const struct job_spec *, struct report *);

#endif
