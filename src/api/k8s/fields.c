/* The fields that pods.c, cluster.c, kept_objects.c and jobs.c show, row by row. A test holds every
 * object that is shown against them. */
#include "api/k8s/fields.h"

#include "base/mem.h"

#include <string.h>

#define TEXT(key, about)      FIELD_SAME(TEXT, key, .doc = (about))
#define NUMBER(key, about)    FIELD_SAME(INT, key, .doc = (about))
#define FLAG(key, about)      FIELD_SAME(BOOL, key, .doc = (about))
#define TEXTS(key, about)     FIELD_SAME(WORDS, key, .doc = (about))
#define TEXT_MAP(key, about)  FIELD_SAME(PAIRS, key, .doc = (about))
#define PART(key, of, about)  FIELD_SAME(OBJECT, key, .table = (of), .doc = (about))
#define PARTS(key, of, about) FIELD_SAME(LIST, key, .table = (of), .doc = (about))
#define KIND(metadata_)                                                                            \
    TEXT("apiVersion", "group and version of the kind"), TEXT("kind", "name of the kind"),         \
        PART("metadata", metadata_, "what every object has")
#define STAMP(key, about) TEXT(key, about ", in UTC as RFC 3339 has it")

/* ---- metadata ---- */

static const struct field manager_fields[] = {
    TEXT("manager", "who applied it, as --field-manager says"),
    TEXT("operation", "Apply"),
    TEXT("apiVersion", "version of the object that was applied"),
    TEXT("fieldsType", "FieldsV1"),
    FIELD_SAME(TREE, "fieldsV1", .doc = "empty: single fields are not followed here"),
    FIELD_END,
};
static const struct field owner_fields[] = {
    TEXT("apiVersion", "group and version of the owner"),
    TEXT("kind", "kind of the owner: ElasticJob"),
    TEXT("name", "name of the job"),
    TEXT("uid", "uid of the job"),
    FLAG("controller", "true: the pods go with the job"),
    FLAG("blockOwnerDeletion", "true; nothing waits for it here"),
    FIELD_END,
};
#define WRITTEN                                                                                    \
    TEXT("generateName", "instead of a name, when it is made: six characters are put behind it"),  \
        TEXT("uid", "one for each object that ever was"),                                          \
        TEXT("resourceVersion",                                                                    \
             "grows with each change; a write that names an older one is refused"),                \
        STAMP("creationTimestamp", "when it was made"),                                            \
        STAMP("deletionTimestamp", "set while it is being stopped"),                               \
        NUMBER("deletionGracePeriodSeconds", "0 while it is being stopped"),                       \
        NUMBER("generation", "how often what is wanted of it was changed"),                        \
        PARTS("managedFields", manager_fields, "who used `apply --server-side`"),                  \
        PARTS("ownerReferences", owner_fields, "of a pod: its job"),                               \
        TEXTS("finalizers", "kept as they were sent; nothing waits for them")
#define NAMED                                                                                      \
    TEXT("name", "one of its kind in its namespace: lower case letters, digits, '-' and '.'"),     \
        TEXT_MAP("labels", "texts by which lists select"),                                         \
        TEXT_MAP("annotations", "texts that nobody selects by"), WRITTEN

static const struct field metadata_fields[] = {
    TEXT("namespace", "the project it belongs to; `default` stands for none"),
    NAMED,
    FIELD_END,
};
static const struct field wide_metadata_fields[] = { NAMED, FIELD_END };
static const struct field written_fields[] = { WRITTEN, FIELD_END };

/* ---- jobs ---- */

static const struct field job_condition_fields[] = {
    TEXT("type", "the phase"),
    TEXT("status", "True"),
    TEXT("reason", "the phase again, as DLRover names it: JobRunning"),
    TEXT("message", "one sentence: why it waits, what it does, how it ended"),
    FIELD_END,
};
static const struct field job_inner_fields[] = {
    PARTS("conditions", job_condition_fields, "one, the present"),
    STAMP("startTime", "when it was submitted"),
    STAMP("completionTime", "when it ended"),
    FIELD_END,
};
static const struct field job_status_fields[] = {
    TEXT("phase", "Running, Suspended, Restarting, Succeeded or Failed"),
    PART("status", job_inner_fields, "the same with times and reasons; the name is DLRover's"),
    FIELD_END,
};
const struct field kube_job_fields[] = {
    KIND(written_fields),
    PART("status", job_status_fields, "written by the server"),
    FIELD_END,
};
const struct field kube_group_fields[] = {
    KIND(written_fields),
    FIELD_SAME(TREE, "status", .doc = "not kept: `describe pod` says what a gang waits for"),
    FIELD_END,
};
const struct field kube_plan_fields[] = {
    KIND(metadata_fields),
    FIELD_SAME(TREE, "spec", .doc = "nothing of it is read, creating one is refused"),
    FIELD_END,
};

/* ---- pods ---- */

static const struct field resource_fields[] = {
    TEXT_MAP("requests", "what the task has of its node"),
    TEXT_MAP("limits", "its devices"),
    FIELD_END,
};
static const struct field container_fields[] = {
    TEXT("name", "main"),
    TEXT("image", "its image; `muster` when it runs in none"),
    TEXTS("command", "the program and its arguments"),
    PART("resources", resource_fields, "its share of the node"),
    FIELD_END,
};
static const struct field pod_spec_fields[] = {
    PARTS("containers", container_fields, "one"),
    TEXT("nodeName", "where it is placed; left out while it waits"),
    TEXT("restartPolicy", "Never: the job retries, with a new pod"),
    TEXT("schedulerName", "default-scheduler, as its events say"),
    FIELD_END,
};
static const struct field condition_fields[] = {
    TEXT("type", "PodScheduled or Ready"),
    TEXT("status", "True or False"),
    TEXT("reason", "Unschedulable, while it has no place"),
    FIELD_END,
};
static const struct field ip_fields[] = { TEXT("ip", "the address"), FIELD_END };
static const struct field waiting_fields[] = { TEXT("reason", "ContainerCreating"), FIELD_END };
static const struct field running_fields[] = { STAMP("startedAt", "since when"), FIELD_END };
static const struct field terminated_fields[] = {
    NUMBER("exitCode", "its exit status; 1 when it has none"),
    TEXT("reason", "Completed, Error, OOMKilled"),
    STAMP("startedAt", "when it started"),
    STAMP("finishedAt", "when it ended"),
    FIELD_END,
};
static const struct field state_fields[] = {
    PART("waiting", waiting_fields, "it has a place and is being started"),
    PART("running", running_fields, "it runs"),
    PART("terminated", terminated_fields, "it has ended"),
    FIELD_END,
};
static const struct field container_status_fields[] = {
    TEXT("name", "main"),
    FLAG("ready", "it runs"),
    FLAG("started", "it runs"),
    NUMBER("restartCount", "attempts of this task before this one"),
    TEXT("image", "as in spec"),
    TEXT("imageID", "empty"),
    PART("state", state_fields, "one of three"),
    FIELD_END,
};
static const struct field pod_status_fields[] = {
    TEXT("phase", "Pending, Running, Succeeded or Failed"),
    PARTS("conditions", condition_fields, "whether it has a place, whether it runs"),
    PARTS("containerStatuses", container_status_fields, "of `main`, once it has a place"),
    TEXT("podIP", "address of its node"),
    PARTS("podIPs", ip_fields, "the same"),
    TEXT("hostIP", "the same"),
    STAMP("startTime", "when its attempt started"),
    TEXT("qosClass", "Burstable"),
    FIELD_END,
};
const struct field kube_pod_fields[] = {
    KIND(metadata_fields),
    PART("spec", pod_spec_fields, "what runs and where; nothing of it can be changed"),
    PART("status", pod_status_fields, "how it goes"),
    FIELD_END,
};

/* ---- events ---- */

static const struct field about_fields[] = {
    TEXT("kind", "Pod or ElasticJob"),
    TEXT("namespace", "its namespace"),
    TEXT("name", "its name"),
    TEXT("uid", "its uid"),
    TEXT("apiVersion", "group and version of its kind"),
    FIELD_END,
};
static const struct field source_fields[] = { TEXT("component", "default-scheduler or muster"),
                                              FIELD_END };
const struct field kube_event_fields[] = {
    KIND(metadata_fields),
    PART("involvedObject", about_fields, "what it is about"),
    TEXT("type", "Normal or Warning"),
    TEXT("reason", "one word, for programs"),
    TEXT("message", "one sentence, for people"),
    PART("source", source_fields, "who says it"),
    STAMP("firstTimestamp", "when it happened first"),
    STAMP("lastTimestamp", "when it happened last"),
    NUMBER("count", "how often it happened"),
    FIELD_END,
};

/* ---- the cluster ---- */

static const struct field node_spec_fields[] = { FLAG("unschedulable", "true after `muster drain`"),
                                                 FIELD_END };
static const struct field node_condition_fields[] = {
    TEXT("type", "Ready"),
    TEXT("status", "True, or Unknown when its agent does not answer"),
    TEXT("reason", "KubeletReady or NodeStatusUnknown"),
    TEXT("message", "the same as a sentence"),
    STAMP("lastHeartbeatTime", "start of the server"),
    STAMP("lastTransitionTime", "start of the server"),
    FIELD_END,
};
static const struct field address_fields[] = { TEXT("type", "InternalIP"),
                                               TEXT("address", "where its tasks are reached"),
                                               FIELD_END };
static const struct field node_info_fields[] = { TEXT("kubeletVersion", "version of muster"),
                                                 FIELD_END };
static const struct field node_status_fields[] = {
    TEXT_MAP("capacity", "what it has: cpu, memory, ephemeral-storage, nvidia.com/gpu, pods"),
    TEXT_MAP("allocatable", "the same: nothing is held back"),
    PARTS("conditions", node_condition_fields, "one, Ready"),
    PARTS("addresses", address_fields, "one"),
    PART("nodeInfo", node_info_fields, "what runs it"),
    FIELD_END,
};
const struct field kube_node_fields[] = {
    KIND(wide_metadata_fields),
    PART("spec", node_spec_fields, "whether jobs may be placed there"),
    PART("status", node_status_fields, "what it has"),
    FIELD_END,
};

static const struct field namespace_spec_fields[] = { TEXTS("finalizers", "kubernetes"),
                                                      FIELD_END };
static const struct field namespace_status_fields[] = { TEXT("phase", "Active"), FIELD_END };
const struct field kube_namespace_fields[] = {
    KIND(wide_metadata_fields),
    PART("spec", namespace_spec_fields, "says nothing here"),
    PART("status", namespace_status_fields, "says nothing here"),
    FIELD_END,
};

static const struct field service_spec_fields[] = { TEXT("type", "ClusterIP"), FIELD_END };
const struct field kube_service_fields[] = {
    KIND(metadata_fields),
    PART("spec", service_spec_fields, "says nothing here"),
    FIELD_END,
};

/* ---- what is kept ---- */

const struct field kube_config_fields[] = {
    KIND(metadata_fields),
    TEXT_MAP("data", "texts by name"),
    TEXT_MAP("binaryData", "bytes by name, in base64"),
    FLAG("immutable", "kept as it was sent; it can be changed nevertheless"),
    FIELD_END,
};
const struct field kube_secret_fields[] = {
    KIND(metadata_fields),
    TEXT_MAP("data", "bytes by name, in base64; shown to their maker and to admins"),
    TEXT_MAP("stringData", "texts by name, when it is written; they are shown as `data`"),
    TEXT("type", "what it is for: Opaque, kubernetes.io/dockerconfigjson"),
    FLAG("immutable", "kept as it was sent; it can be changed nevertheless"),
    FIELD_END,
};
static const struct field claim_resource_fields[] = {
    TEXT_MAP("requests", "how much storage is asked for"), FIELD_END
};
static const struct field claim_spec_fields[] = {
    TEXTS("accessModes", "ReadWriteOnce, ReadWriteMany"),
    PART("resources", claim_resource_fields, "nothing is allocated by it"),
    TEXT("storageClassName", "says nothing here"),
    TEXT("volumeMode", "says nothing here"),
    TEXT("volumeName", "says nothing here"),
    FIELD_END,
};
static const struct field claim_status_fields[] = { TEXT("phase", "Bound"), FIELD_END };
const struct field kube_claim_fields[] = {
    KIND(metadata_fields),
    PART("spec", claim_spec_fields,
         "kept as it was sent: the server's setting `roots` says what pvc://NAMESPACE/NAME is"),
    PART("status", claim_status_fields, "written by the server"),
    FIELD_END,
};

/* ---- what nobody decodes ---- */

const char *kube_foreign_type(const char *name)
{
    static const struct {
        const char *type, *names; /* with a blank on both sides */
    } types[] = {
        { "string",
          " BatchScheduler apiVersion brainService creationTimestamp dnsPolicy divisor generateName "
          "hostname imagePullPolicy kind mountPropagation preemptionPolicy priorityClassName "
          "resourceVersion restartPolicy runtimeClassName schedulerName selfLink serviceAccount "
          "serviceAccountName subPathExpr subdomain terminationMessagePath "
          "terminationMessagePolicy uid containerName recursiveReadOnly " },
        { "integer",
          " activeDeadlineSeconds generation priority restartTimeout scheduleTimeoutSeconds "
          "terminationGracePeriodSeconds " },
        { "boolean", " automountServiceAccountToken enableDynamicSharding enableElasticScheduling "
                     "enableServiceLinks hostIPC hostNetwork hostPID hostUsers setHostnameAsFQDN "
                     "shareProcessNamespace stdinOnce " },
        { "[]string", " finalizers " },
        { "[]object",
          " claims envFrom ephemeralContainers hostAliases imagePullSecrets initContainers "
          "managedFields ownerReferences ports readinessGates resizePolicy resourceClaims "
          "schedulingGates tolerations topologySpreadConstraints volumeDevices " },
    };
    size_t n = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        for (const char *at = strstr(types[i].names, name); at; at = strstr(at + 1, name))
            if (at[-1] == ' ' && at[n] == ' ')
                return types[i].type;
    return "object";
}
