/* What the objects of each kind have, for `kubectl explain`: a table each, in the form of field
 * tables, but nothing is decoded by them. */
#ifndef API_K8S_FIELDS_H
#define API_K8S_FIELDS_H

#include "job/field.h"

/* Of kinds that a dialect reads: what a server adds, beside the dialect's own table. */
extern const struct field kube_job_fields[], kube_group_fields[];
extern const struct field kube_plan_fields[], kube_pod_fields[], kube_event_fields[],
    kube_node_fields[], kube_namespace_fields[], kube_service_fields[], kube_config_fields[],
    kube_secret_fields[], kube_claim_fields[];

/* JSON's type of a field of Kubernetes that nobody here decodes ("[]" in front: a list of those);
 * "object" when it is none that is known. */
const char *kube_foreign_type(const char *name);

#endif
