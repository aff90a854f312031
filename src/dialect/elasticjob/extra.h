/* Our part of job_spec.extra: what no field of the canonical job says. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_EXTRA_H
#define DIALECT_ELASTICJOB_EXTRA_H

#include "job/job.h"

#define EJ_EXTRA "elasticjob" /* its key */
#define EJ_PODS  "pods"       /* in it: labels and annotations of the templates, by role */

/* What the templates of a role had of its own, "labels" or "annotations"; NULL: nothing. */
const struct text_node *ej_pod_metadata(const struct job_spec *, const char *role, const char *key);
/* Texts and flags of it by key; NULL or false when absent. */
const char *ej_extra_text(const struct job_spec *, const char *key);
bool ej_extra_flag(const struct job_spec *, const char *key);

#endif
