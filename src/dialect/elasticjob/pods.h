/* Pods of jobs as the format's clients know them. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_PODS_H
#define DIALECT_ELASTICJOB_PODS_H

#include "dialect/dialect.h"

extern const struct pod_words ej_pods;
/* The pod's number: its index, and more with every relaunch. */
uint32_t ej_pod_id(const struct role *, const struct task_place *);
const char *ej_pod_name(struct arena *, const struct job_spec *, const struct task_place *);
/* The annotations that say a role's gang and topology, as Koordinator writes them. */
void ej_gang_notes(struct arena *, const struct job_spec *, const struct role *, struct pairs *out);

#endif
