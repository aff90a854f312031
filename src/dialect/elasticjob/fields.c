/* The fields of an ElasticJob file as tables: what is read, what has no effect, what is refused,
 * each with its reason. Strict decoding, the messages and the tables of doc/dialect-elasticjob.md
 * come from these rows.
 *
 * Source of the names: the custom resource's own types, and Kubernetes' PodSpec and Container. */
#include "dialect/elasticjob/records.h"

#include "base/buf.h"
#include "dialect/elasticjob/elasticjob.h"
#include "dialect/elasticjob/fates.h"
#include "dialect/elasticjob/names.h"
#include "job/job_fields.h"

enum { SPEC_MAX = 131071, NAME_MAX_BYTES = 253 };

/* ---- metadata ---- */

#define METADATA(T, member)                                                                        \
    FIELD(TEXT, "namespace", T, member.namespace, .min = 1, .max = JOB_NAME_MAX,                   \
          .doc = "`project`; `default` when left out"),                                            \
        FIELD(CUSTOM, "annotations", T, member.annotations, .hooks = &fate_texts,                  \
              .doc = "texts, numbers or lists; see *Gangs* and *Annotations of the job*"),         \
        QUIET("uid", "written by a server"), QUIET("resourceVersion", "written by a server"),      \
        QUIET("generation", "written by a server"),                                                \
        QUIET("creationTimestamp", "written by a server"),                                         \
        QUIET("managedFields", "written by a server"), QUIET("selfLink", "written by a server"),   \
        QUIET("ownerReferences", "written by a server"),                                           \
        QUIET("finalizers", "written by a server")

static const struct field job_metadata_fields[] = {
    FIELD(TEXT, "name", struct ej_spec, metadata.name, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_NAME_MAX, .chars = &fate_object_name, .doc = "the job's name"),
    METADATA(struct ej_spec, metadata),
    FIELD(PAIRS, "labels", struct ej_spec, metadata.labels, .max = 256, .doc = "`labels`"),
    REFUSED("generateName", "the name is needed as it is"),
    FIELD_END,
};

static const struct field pod_metadata_fields[] = {
    FIELD(TEXT, "name", struct ej_pod, metadata.name, .max = NAME_MAX_BYTES,
          .doc = "not used: tasks are named by role and index, there by type and id"),
    METADATA(struct ej_pod, metadata),
    FIELD(
        PAIRS, "labels", struct ej_pod, metadata.labels, .max = 256,
        .doc =
            "the role's pods carry them, under those that DLRover gives; those of PodGroups are read "
            "as well, see *Gangs*"),
    FIELD_END,
};

static const struct field group_metadata_fields[] = {
    FIELD(TEXT, "name", struct ej_pod_group, metadata.name, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_NAME_MAX, .doc = "name of the gang"),
    METADATA(struct ej_pod_group, metadata),
    FIELD(PAIRS, "labels", struct ej_pod_group, metadata.labels, .max = 256, .doc = "not used"),
    FIELD_END,
};

/* ---- containers ---- */

static const struct field field_ref_fields[] = {
    QUIET("apiVersion", "v1"),
    FIELD(TEXT, "fieldPath", struct ej_value_source, field, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "see *Environment of the pod*"),
    FIELD_END,
};
static const struct field resource_ref_fields[] = {
    QUIET("containerName", "there is one container"),
    QUIET("divisor", "1"),
    FIELD(TEXT, "resource", struct ej_value_source, resource, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "see *Environment of the pod*"),
    FIELD_END,
};
#define SECRET_NAME(key, st, member)                                                               \
    FIELD(TEXT, key, st, member, .flags = FIELD_REQUIRED, .min = 1, .max = 253,                    \
          .doc = "the front of `secrets[].name`: NAME/KEY")
static const struct field secret_key_fields[] = {
    SECRET_NAME("name", struct ej_secret, name),
    FIELD(TEXT, "key", struct ej_secret, key, .flags = FIELD_REQUIRED, .min = 1, .max = 253,
          .doc = "behind it"),
    FIELD(BOOL, "optional", struct ej_secret, optional, .doc = "`secrets[].optional`"),
    FIELD_END,
};
static const struct field secret_ref_fields[] = {
    SECRET_NAME("name", struct ej_secret, name),
    FIELD(BOOL, "optional", struct ej_secret, optional, .doc = "`secrets[].optional`"),
    FIELD_END,
};
static const struct field env_from_fields[] = {
    FIELD(TEXT, "prefix", struct ej_env_source, prefix, .max = 255, .doc = "`secrets[].env`"),
    FIELD(OBJECT, "secretRef", struct ej_env_source, secret, .table = secret_ref_fields,
          .has_offset = offsetof(struct ej_env_source, has_secret),
          .doc = "each key is a variable; one of `env` wins"),
    REFUSED("configMapRef", "there are no ConfigMaps; write the values under env"),
    FIELD_END,
};
static const struct field from_fields[] = {
    FIELD_SAME(OBJECT, "fieldRef", .table = field_ref_fields,
               .has_offset = offsetof(struct ej_value_source, has_field),
               .doc = "a fact of the pod"),
    FIELD_SAME(OBJECT, "resourceFieldRef", .table = resource_ref_fields,
               .has_offset = offsetof(struct ej_value_source, has_resource),
               .doc = "an amount of the pod"),
    REFUSED("configMapKeyRef", "there are no ConfigMaps; write the value"),
    FIELD(OBJECT, "secretKeyRef", struct ej_value_source, secret, .table = secret_key_fields,
          .has_offset = offsetof(struct ej_value_source, has_secret),
          .doc = "`secrets`: of whoever submits, see [secrets](secrets.md)"),
    REFUSED("fileKeyRef", "give the value"),
    FIELD_END,
};
static const struct field env_fields[] = {
    FIELD(TEXT, "name", struct ej_env, name, .flags = FIELD_REQUIRED, .min = 1, .max = 255,
          .chars = &env_chars, .doc = "the variable"),
    FIELD(TEXT, "value", struct ej_env, value, .max = SPEC_MAX,
          .doc = "any scalar as it is written; `$(NAME)` is replaced as Kubernetes does"),
    FIELD(OBJECT, "valueFrom", struct ej_env, from, .table = from_fields,
          .has_offset = offsetof(struct ej_env, has_from), .doc = "a value known at the start"),
    FIELD_END,
};
static const struct field amount_fields[] = {
    FIELD(PAIRS, "requests", struct ej_amounts, requests, .max = 64, .chars = &fate_resource_name,
          .doc = "what a task gets, see *Resources*"),
    FIELD(PAIRS, "limits", struct ej_amounts, limits, .max = 64, .chars = &fate_resource_name,
          .doc = "devices; cpu and memory only where there is no request"),
    IGNORED("claims", "devices are asked for by their names"),
    FIELD_END,
};
static const struct field volume_mount_fields[] = {
    FIELD(TEXT, "name", struct ej_volume_mount, name, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "one of `volumes`"),
    FIELD(TEXT, "mountPath", struct ej_volume_mount, at, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "`inputs.data[].at`"),
    FIELD(TEXT, "subPath", struct ej_volume_mount, sub_path, .doc = "put behind the volume's path"),
    FIELD(BOOL, "readOnly", struct ej_volume_mount, read_only, .doc = "`inputs.data[].read_only`"),
    IGNORED("mountPropagation", "mounts stay within the task"),
    IGNORED("recursiveReadOnly", "readOnly says it"),
    REFUSED("subPathExpr", "subPath without variables"),
    FIELD_END,
};
static const struct field container_fields[] = {
    FIELD(TEXT, "name", struct ej_container, name, .min = 1,
          .doc = "`main`, or the first one, is what runs"),
    FIELD(TEXT, "image", struct ej_container, image, .min = 1, .doc = "`image`"),
    QUIET("imagePullPolicy", "goes with the image"),
    FIELD(WORDS, "command", struct ej_container, command, .flags = FIELD_ARGS, .max = 4096,
          .doc = "`argv`, or `run` for a text that bash runs; needed, an image's entry point is "
                 "not known here"),
    FIELD(WORDS, "args", struct ej_container, args, .flags = FIELD_ARGS, .max = 4096,
          .doc = "behind `command`"),
    FIELD(TEXT, "workingDir", struct ej_container, work_dir, .min = 1,
          .doc = "`cd` in front of the command"),
    FIELD_MANY(LIST, "env", struct ej_container, env, n_env, .table = env_fields, .max = 4096,
               .place_offset = offsetof(struct ej_env, place),
               .doc = "`env`; names that the platform sets are left to it, with a warning"),
    FIELD_MANY(LIST, "envFrom", struct ej_container, from, n_from, .table = env_from_fields,
               .max = 64, .place_offset = offsetof(struct ej_env_source, place),
               .doc = "`secrets`, of Secrets"),
    FIELD(OBJECT, "resources", struct ej_container, resources, .table = amount_fields,
          .doc = "`resources`"),
    FIELD_MANY(LIST, "volumeMounts", struct ej_container, mounts, n_mounts,
               .table = volume_mount_fields, .max = 256,
               .place_offset = offsetof(struct ej_volume_mount, place), .doc = "`inputs.data`"),
    REFUSED("volumeDevices", "block devices are not handed to tasks"),
    QUIET("ports", "says nothing there either: every port of a task can be reached"),
    IGNORED("livenessProbe", "a task lives as long as its process"),
    IGNORED("readinessProbe", "a task is ready when it runs"),
    IGNORED("startupProbe", "a task is started when its process is"),
    IGNORED("lifecycle", "it is cleared there as well"),
    IGNORED("securityContext", "tasks run as the account of the job's owner"),
    IGNORED("restartPolicy", "restartCount decides"),
    IGNORED("resizePolicy", "resources of a running task stay"),
    QUIET("terminationMessagePath", "the last lines of output are kept"),
    QUIET("terminationMessagePolicy", "the last lines of output are kept"),
    FIELD(BOOL, "stdin", struct ej_container, open_stdin,
          .doc = "`stdin`: `muster attach` types into it"),
    IGNORED("stdinOnce", "stdin stays open after a client; `muster attach --eof` closes it"),
    FIELD(BOOL, "tty", struct ej_container, tty,
          .doc = "`tty`; warned without `stdin`, which it needs"),
    FIELD_END,
};

/* ---- volumes ---- */

static const struct field host_path_fields[] = {
    FIELD(TEXT, "path", struct ej_host_path, path, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "`inputs.data[].from`"),
    FIELD(TEXT, "type", struct ej_host_path, type,
          .doc = "nothing is made: what is missing on the node is said at submit"),
    FIELD_END,
};
static const struct field empty_dir_fields[] = {
    FIELD(TEXT, "medium", struct ej_empty_dir, medium, .doc = "`Memory`, or nothing"),
    FIELD(TEXT, "sizeLimit", struct ej_empty_dir, limit, .doc = "`resources.shm` for /dev/shm"),
    FIELD_END,
};
static const struct field claim_fields[] = {
    FIELD(TEXT, "claimName", struct ej_claim, name, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "`inputs.data[].from` is `pvc://NAMESPACE/CLAIM`, which a root of the server's "
                 "setting `roots` turns into a directory"),
    FIELD(BOOL, "readOnly", struct ej_claim, read_only, .doc = "`inputs.data[].read_only`"),
    FIELD_END,
};
static const struct field key_path_fields[] = {
    FIELD(TEXT, "key", struct ej_key_path, key, .flags = FIELD_REQUIRED, .min = 1, .max = 253,
          .doc = "which one"),
    FIELD(TEXT, "path", struct ej_key_path, path, .flags = FIELD_REQUIRED, .min = 1, .max = 253,
          .doc = "its file, without /"),
    IGNORED("mode", "files of secrets have mode 0400"),
    FIELD_END,
};
static const struct field secret_volume_fields[] = {
    SECRET_NAME("secretName", struct ej_secret_volume, name),
    FIELD_MANY(LIST, "items", struct ej_secret_volume, items, n_items, .table = key_path_fields,
               .max = 64, .place_offset = offsetof(struct ej_key_path, place),
               .doc = "these keys alone"),
    IGNORED("defaultMode", "files of secrets have mode 0400"),
    FIELD(BOOL, "optional", struct ej_secret_volume, optional, .doc = "`secrets[].optional`"),
    FIELD_END,
};
#define NO_VOLUME "mount it on the nodes and name the directory as hostPath"
static const struct field volume_fields[] = {
    FIELD(TEXT, "name", struct ej_volume, name, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "what volumeMounts call it"),
    FIELD(OBJECT, "hostPath", struct ej_volume, host, .table = host_path_fields,
          .has_offset = offsetof(struct ej_volume, has_host), .doc = "a directory of the node"),
    FIELD(OBJECT, "emptyDir", struct ej_volume, empty, .table = empty_dir_fields,
          .has_offset = offsetof(struct ej_volume, has_empty),
          .doc =
              "`medium: Memory` at /dev/shm is `resources.shm`; mounted elsewhere it is refused: "
              "the task's own directory is new and empty"),
    FIELD(OBJECT, "persistentVolumeClaim", struct ej_volume, claim, .table = claim_fields,
          .has_offset = offsetof(struct ej_volume, has_claim), .doc = "storage by name"),
    REFUSED("nfs", NO_VOLUME),
    REFUSED("csi", NO_VOLUME),
    REFUSED("cephfs", NO_VOLUME),
    REFUSED("glusterfs", NO_VOLUME),
    REFUSED("iscsi", NO_VOLUME),
    REFUSED("fc", NO_VOLUME),
    REFUSED("rbd", NO_VOLUME),
    REFUSED("flexVolume", NO_VOLUME),
    REFUSED("local", NO_VOLUME),
    REFUSED("ephemeral", NO_VOLUME),
    REFUSED("image", NO_VOLUME),
    REFUSED("configMap", "there are no ConfigMaps; put the file beside the program"),
    FIELD(OBJECT, "secret", struct ej_volume, secret, .table = secret_volume_fields,
          .has_offset = offsetof(struct ej_volume, has_secret),
          .doc = "`secrets`: each key is a file in memory, in a directory that is to be empty "
                 "without them"),
    REFUSED("downwardAPI", "give it as env with valueFrom.fieldRef"),
    REFUSED("projected", "name its sources one by one"),
    FIELD_END,
};

/* ---- the pod ---- */

#define NO_NET "tasks are on the network of their node"
static const struct field pod_spec_fields[] = {
    FIELD_MANY(LIST, "containers", struct ej_pod, containers, n_containers, .flags = FIELD_REQUIRED,
               .table = container_fields, .max = 64,
               .place_offset = offsetof(struct ej_container, place),
               .doc = "one runs; the others are named in a warning"),
    REFUSED("initContainers", "do it at the beginning of the command"),
    REFUSED("ephemeralContainers", "`muster exec` looks into a running task"),
    FIELD_MANY(LIST, "volumes", struct ej_pod, volumes, n_volumes, .table = volume_fields,
               .max = 256, .place_offset = offsetof(struct ej_volume, place),
               .doc = "see *Volumes*"),
    FIELD(CUSTOM, "restartPolicy", struct ej_pod, restart_policy, .hooks = &fate_restart,
          .doc = "that of the workers: `Always` also retries the fatal exit codes, see *Ends*"),
    FIELD(PAIRS, "nodeSelector", struct ej_pod, node_selector, .max = 256,
          .doc = "`place.labels`, of all roles together"),
    FIELD(TEXT, "nodeName", struct ej_pod, node_name, .min = 1,
          .doc = "`place.nodes`, of all roles together"),
    FIELD_SAME(CUSTOM, "affinity", .hooks = &fate_affinity,
               .doc = "preferences have no effect; what is required is refused, nodeSelector "
                      "says it"),
    IGNORED("tolerations", "nodes have no taints here"),
    IGNORED("topologySpreadConstraints", "`place.spread` of muster's own format says it"),
    IGNORED("priorityClassName", "it is replaced by the replica's `priority` there as well"),
    IGNORED("priority", "the replica's `priority` says it"),
    IGNORED("preemptionPolicy", "no job is ended for another"),
    IGNORED("terminationGracePeriodSeconds", "it is cleared there as well; 10 s here"),
    IGNORED("activeDeadlineSeconds",
            "`limits.run_time` bounds a whole job: --set limits.run_time="),
    QUIET("schedulerName", "muster is the scheduler, of gangs too"),
    QUIET("hostNetwork", NO_NET),
    QUIET("dnsPolicy", NO_NET),
    IGNORED("dnsConfig", NO_NET),
    IGNORED("hostAliases", NO_NET),
    IGNORED("hostname", NO_NET),
    IGNORED("subdomain", NO_NET),
    QUIET("setHostnameAsFQDN", NO_NET),
    QUIET("hostIPC", "tasks share memory with their node"),
    IGNORED("hostPID", "tasks see their own processes"),
    IGNORED("hostUsers", "tasks run as the account of the job's owner"),
    IGNORED("shareProcessNamespace", "there is one container"),
    QUIET("enableServiceLinks", "there are no services"),
    IGNORED("serviceAccountName", "tasks talk to no Kubernetes"),
    IGNORED("serviceAccount", "tasks talk to no Kubernetes"),
    QUIET("automountServiceAccountToken", "tasks talk to no Kubernetes"),
    IGNORED("imagePullSecrets", "images are not pulled by muster"),
    IGNORED("securityContext", "tasks run as the account of the job's owner"),
    IGNORED("runtimeClassName", "there is one runtime"),
    IGNORED("overhead", "nothing is added to what a task asks for"),
    IGNORED("os", "nodes run Linux"),
    IGNORED("readinessGates", "a task is ready when it runs"),
    REFUSED("schedulingGates", "`suspend: true` holds the job"),
    REFUSED("resourceClaims", "devices are asked for by their names under resources"),
    IGNORED("resources", "the container's are read"),
    FIELD_END,
};
static const struct field template_fields[] = {
    FIELD_SAME(OBJECT, "metadata", .table = pod_metadata_fields, .doc = "annotations of gangs"),
    FIELD_SAME(OBJECT, "spec", .table = pod_spec_fields, .flags = FIELD_REQUIRED, .doc = "the pod"),
    FIELD_END,
};

/* ---- replicas ---- */

static const struct field replica_fields[] = {
    FIELD(U32, "replicas", struct ej_replica, replicas, .max = JOB_MAX_TASKS,
          .has_offset = offsetof(struct ej_replica, has_replicas), .unit = "tasks",
          .doc = "`replicas`, see *How many*"),
    FIELD(OBJECT, "template", struct ej_replica, pod, .table = template_fields,
          .has_offset = offsetof(struct ej_replica, has_pod), .doc = "what each task is"),
    FIELD(U32, "restartCount", struct ej_replica, restart_count,
          .has_offset = offsetof(struct ej_replica, has_restart_count), .max = INT32_MAX,
          .doc = "`retry.unknown`; 3 when left out, 5 at most, as there; the largest of the roles "
                 "is the job's"),
    FIELD(CUSTOM, "autoScale", struct ej_replica, auto_scale, .def = true, .hooks = &fate_bool,
          .doc = "tasks are not added, taken or resized by an optimiser here; `true` is warned "
                 "about"),
    FIELD(TEXT, "priority", struct ej_replica, priority,
          .doc = "`high`: `priority: 8`, `low`: 2; a share of the replicas has no effect (with a "
                 "warning); the highest of the roles is the job's"),
    FIELD(CUSTOM, "criticalNodes", struct ej_replica, critical, .hooks = &fate_critical,
          .doc = "`all`, `none` or `index:count,...`: `done.failed`, see *Ends*"),
    IGNORED("restartPolicy", "there as well: that of template.spec is read"),
    IGNORED("restartTimeout", "nobody reads it there either"),
    IGNORED("BatchScheduler", "muster is the scheduler, of gangs too"),
    FIELD_END,
};
#define TYPE(word, type, ...)                                                                      \
    FIELD(OBJECT, word, struct ej_spec, types[type], .table = replica_fields,                      \
          .has_offset = offsetof(struct ej_spec, has[type]), __VA_ARGS__)
static const struct field type_fields[] = {
    TYPE("worker", EJ_WORKER, .flags = FIELD_REQUIRED, .doc = "role `worker`"),
    TYPE("ps", EJ_PS, .doc = "role `ps`, of ParameterServerStrategy"),
    TYPE("chief", EJ_CHIEF,
         .doc = "role `chief`, of ParameterServerStrategy; left out, one of the workers is it, as "
                "there"),
    TYPE("evaluator", EJ_EVALUATOR, .doc = "role `evaluator`, of ParameterServerStrategy"),
    TYPE(EJ_MASTER, EJ_TYPE_MASTER,
         .doc = "runs nothing, with a warning: the server itself is the job's master"),
    FIELD_END,
};

static const struct field spec_fields[] = {
    FIELD(TEXT, "distributionStrategy", struct ej_spec, strategy,
          .doc = "see *Strategies*; left out: ParameterServerStrategy"),
    FIELD(TEXT, "optimizeMode", struct ej_spec, optimize, .doc = "see *Strategies*"),
    FIELD(BOOL, "suspend", struct ej_spec, suspend,
          .has_offset = offsetof(struct ej_spec, has_suspend), .doc = "`suspend`"),
    FIELD(BOOL, "suspended", struct ej_spec, suspended,
          .has_offset = offsetof(struct ej_spec, has_suspended),
          .doc = "the same, with a warning: a key that only the master reads, in no definition"),
    FIELD_SAME(OBJECT, "replicaSpecs", .table = type_fields, .flags = FIELD_REQUIRED,
               .doc = "`roles`"),
    IGNORED("resourceLimits", "it is the optimiser's ceiling, not a limit of the job; nothing is "
                              "resized here"),
    IGNORED("brainService", "nobody reads it there either, and there is no Brain here"),
    IGNORED("envs", "nobody reads it there either; put it under env of the containers"),
    IGNORED("enableElasticScheduling", "it is in old definitions only"),
    IGNORED("enableDynamicSharding", "it is in old definitions only; data is not dealt out here"),
    FIELD_END,
};

const struct field ej_job_fields[] = {
    QUIET("apiVersion", EJ_API),
    QUIET("kind", EJ_KIND),
    FIELD_SAME(OBJECT, "metadata", .table = job_metadata_fields, .flags = FIELD_REQUIRED,
               .doc = "who it is"),
    FIELD_SAME(OBJECT, "spec", .table = spec_fields, .flags = FIELD_REQUIRED, .doc = "the job"),
    QUIET("status", "written by a server"),
    FIELD_END,
};

static const struct field group_spec_fields[] = {
    FIELD(U32, "minMember", struct ej_pod_group, min, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_MAX_TASKS, .unit = "tasks", .doc = "`gang[].min`"),
    IGNORED("minResources", "there as well: the tasks' own resources count"),
    IGNORED("scheduleTimeoutSeconds", "nothing is held while a gang waits"),
    FIELD_END,
};
const struct field ej_pod_group_fields[] = {
    QUIET("apiVersion", "scheduling.sigs.k8s.io/v1alpha1"),
    QUIET("kind", "PodGroup"),
    FIELD_SAME(OBJECT, "metadata", .table = group_metadata_fields, .flags = FIELD_REQUIRED,
               .doc = "its name"),
    FIELD_SAME(OBJECT, "spec", .table = group_spec_fields, .flags = FIELD_REQUIRED,
               .doc = "its size"),
    QUIET("status", "written by a server"),
    FIELD_END,
};

const char *ej_type_word(enum ej_type type)
{
    static const char *const words[EJ_TYPE_N] = { [EJ_PS] = "ps",
                                                  [EJ_CHIEF] = "chief",
                                                  [EJ_WORKER] = "worker",
                                                  [EJ_EVALUATOR] = "evaluator",
                                                  [EJ_TYPE_MASTER] = EJ_MASTER };
    return words[type];
}

/* ---- the page ---- */

void elasticjob_reference(struct buf *out)
{
    static const struct {
        const char *title;
        const struct field *table;
    } tables[] = {
        { "The document", ej_job_fields },
        { "`metadata`", job_metadata_fields },
        { "`spec`", spec_fields },
        { "`spec.replicaSpecs`", type_fields },
        { "`spec.replicaSpecs.*`", replica_fields },
        { "`…template.metadata`", pod_metadata_fields },
        { "`…template.spec`", pod_spec_fields },
        { "`…containers[]`", container_fields },
        { "`…containers[].env[]`", env_fields },
        { "`…env[].valueFrom`", from_fields },
        { "`…valueFrom.secretKeyRef`", secret_key_fields },
        { "`…containers[].envFrom[]`", env_from_fields },
        { "`…envFrom[].secretRef`", secret_ref_fields },
        { "`…containers[].resources`", amount_fields },
        { "`…containers[].volumeMounts[]`", volume_mount_fields },
        { "`…volumes[]`", volume_fields },
        { "`…volumes[].hostPath`", host_path_fields },
        { "`…volumes[].emptyDir`", empty_dir_fields },
        { "`…volumes[].persistentVolumeClaim`", claim_fields },
        { "`…volumes[].secret`", secret_volume_fields },
        { "`…volumes[].secret.items[]`", key_path_fields },
        { "`spec` of a PodGroup", group_spec_fields },
        { "Annotations of the job", ej_annotation_fields },
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        fate_table(out, tables[i].title, tables[i].table);
}
