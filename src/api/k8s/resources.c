/* The resources as one table: discovery, the paths, the columns and what is done with each come
 * from these rows. */
#include "api/k8s/resource.h"

#include "api/k8s/cluster.h"
#include "api/k8s/fields.h"
#include "api/k8s/job_write.h"
#include "api/k8s/jobs.h"
#include "api/k8s/kept_objects.h"
#include "api/k8s/pods.h"
#include "base/mem.h"

#include <string.h>

#define JOBS .group = KUBE_GROUP, .version = "v1alpha1", .namespaced = true
#define CORE .group = "", .version = "v1", .core = true
#define PODS .of_jobs = true, .namespaced = true
#define KEPT                                                                                       \
    .namespaced = true, .wakes = "object.", .verbs = KUBE_ALL, .each = things_each,                \
    .create = things_create, .change = things_change, .remove = things_remove

static const struct kube_resource resources[] = {
    { JOBS, .plural = "elasticjobs", .singular = "elasticjob", .kind = "ElasticJob", .all = true,
      .of_jobs = true, .is_job = true, .verbs = KUBE_ALL, .columns = table_job,
      .cells = table_job_cells, .each = jobs_each, .create = jobs_create, .change = jobs_change,
      .remove = jobs_remove, .fields = kube_job_fields,
      .doc = "A job of tasks that run together. What becomes of each field in muster's own format "
             "is `quoted`; doc/dialect-elasticjob.md says more." },
    { JOBS, .plural = "scaleplans", .singular = "scaleplan", .kind = "ScalePlan",
      .verbs = KUBE_READ | KUBE_CREATE, .columns = table_job, .cells = table_job_cells,
      .each = none_each, .wakes = "never", .create = plans_create, .fields = kube_plan_fields,
      .doc = "Retired: there are none, and creating one is refused. Set replicas of the "
             "ElasticJob." },
    { .group = KUBE_GROUP_PODS,
      .version = "v1alpha1",
      .plural = "podgroups",
      .singular = "podgroup",
      .kind = "PodGroup",
      .brief = "pg",
      .columns = table_group,
      .cells = table_group_cells,
      KEPT,
      .fields = kube_group_fields,
      .doc = "A gang: pods that start together or not at all. It is read with the job whose "
             "templates name it, when that is created." },
    { CORE, .plural = "pods", .singular = "pod", .kind = "Pod", .brief = "po", .all = true, PODS,
      .verbs = KUBE_READ, .columns = table_pod, .cells = table_pod_cells, .each = pods_each,
      .fields = kube_pod_fields,
      .instead = "pods are made by their jobs; `muster restart` runs a job's tasks again",
      .doc = "The last attempt of a task, or what stands for the job's master. Jobs make them." },
    { CORE, .plural = "events", .singular = "event", .kind = "Event", .brief = "ev", PODS,
      .verbs = KUBE_READ, .columns = table_event, .cells = table_event_cells,
      .each = pod_events_each, .fields = kube_event_fields,
      .instead = "events are written by the server",
      .doc = "What happened to a pod or a job, as long as it is shown." },
    { CORE, .plural = "nodes", .singular = "node", .kind = "Node", .brief = "no",
      .verbs = KUBE_READ, .columns = table_node, .cells = table_node_cells, .each = nodes_each,
      .fields = kube_node_fields, .instead = "`muster drain` keeps jobs from a node",
      .doc = "A machine that tasks are placed on." },
    { CORE, .plural = "namespaces", .singular = "namespace", .kind = "Namespace", .brief = "ns",
      .implied = true, .wakes = "submitted object.", .verbs = KUBE_ALL & ~(unsigned)KUBE_COLLECTION,
      .columns = table_namespace, .cells = table_namespace_cells, .each = namespaces_each,
      .create = namespaces_create, .change = things_change, .remove = namespaces_remove,
      .fields = kube_namespace_fields,
      .doc = "A project. It is there as soon as one is named; one that is made has labels and is "
             "listed also while it is empty." },
    { CORE, .plural = "services", .singular = "service", .kind = "Service", .brief = "svc",
      .namespaced = true, .all = true, .verbs = KUBE_READ, .columns = table_service,
      .cells = table_service_cells, .each = none_each, .wakes = "never",
      .fields = kube_service_fields, .doc = "There are none: tasks reach each other by name." },
    { CORE, .plural = "configmaps", .singular = "configmap", .kind = "ConfigMap", .brief = "cm",
      .columns = table_data, .cells = table_data_cells, KEPT, .fields = kube_config_fields,
      .doc = "Texts that are kept as they were sent. Jobs cannot use them." },
    { CORE, .plural = "secrets", .singular = "secret", .kind = "Secret", .columns = table_secret,
      .cells = table_secret_cells, KEPT, .fields = kube_secret_fields,
      .doc = "Bytes that are kept and shown to their maker and to admins. Jobs cannot use them." },
    { CORE, .plural = "persistentvolumeclaims", .singular = "persistentvolumeclaim",
      .kind = "PersistentVolumeClaim", .brief = "pvc", .columns = table_claim,
      .cells = table_claim_cells, KEPT, .fields = kube_claim_fields,
      .doc = "A name of storage. pvc://NAMESPACE/NAME in the server's setting `roots` says what "
             "it stands for, whether or not the object is there." },
};

const struct kube_resource *kube_resources(size_t *n)
{
    *n = ARRAY_LEN(resources);
    return resources;
}

const struct kube_resource *kube_resource(const char *group, const char *version,
                                          const char *plural)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (strcmp(resources[i].group, group) == 0 && strcmp(resources[i].version, version) == 0 &&
            strcmp(resources[i].plural, plural) == 0)
            return &resources[i];
    return NULL;
}

const char *kube_version(struct arena *arena, const struct kube_resource *of)
{
    return *of->group ? arena_printf(arena, "%s/%s", of->group, of->version) : of->version;
}
