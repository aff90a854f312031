/* The fields of a CreateJob body, with the types, bounds and words that the API gives them. What
 * the fields mean together is in check.c, which of them have no effect here in notices.c.
 *
 * Source: the vendor's API metadata up to 2026; fields that came after the page of 2024 are known
 * so that they are answered by name. A row whose member is `other` is only known; nothing reads the
 * member. */
#include "dialect/dlc/create.h"

#include "job/job_fields.h"

#include <string.h>

enum { COMMAND_MAX = 65536, NAME_MAX_BYTES = 128, MINUTES_MAX = 52560000 };

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool role_ok(const char *s)
{
    return *s && s[strspn(s, ALNUM "-_")] == '\0' && *s != '-' && strlen(s) <= 64;
}
static const struct field_chars role_chars = {
    .ok = role_ok,
    .wanted = "letters, digits, - _, at most 64",
};

static const struct field_word oversold_words[] = { { "ForbiddenQuotaOverSold", 0 },
                                                    { "AcceptQuotaOverSold", 1 },
                                                    { "ForceQuotaOverSold", 2 },
                                                    { 0 } };
static const struct field_word reserved_words[] = {
    { "Always", 0 }, { "OnFailure", 1 }, { "OnSucceed", 2 }, { 0 }
};
static const struct field_word restart_words[] = {
    { "Always", 0 }, { "Never", 1 }, { "OnFailure", 2 }, { "ExitCode", 3 }, { 0 }
};
static const struct field_word success_words[] = {
    { "AllWorkers", 0 }, { "ChiefWorker", 1 }, { "Partial", 2 }, { 0 }
};
static const struct field_word access_words[] = { { "RO", 0 }, { "RW", 1 }, { 0 } };
static const struct field_word visible_words[] = { { "PRIVATE", 0 }, { "PUBLIC", 1 }, { 0 } };
static const struct field_word route_words[] = { { "eth0", 0 }, { "eth1", 1 }, { 0 } };
static const struct field_word strategy_words[] = { { "Auto", 0 }, { 0 } };
static const struct field_word phase_words[] = { { "Running", 0 }, { "Succeeded", 1 }, { 0 } };
static const struct field_word bid_words[] = { { "SpotWithPriceLimit", 0 }, { 0 } };

/* Known by name only. */
#define OTHER(key, st, text) FIELD(TREE, key, st, other, .doc = (text))

static const struct field resource_config_fields[] = {
    FIELD(TEXT, "CPU", struct dlc_resource, cpu, .doc = "cores, as text: 10"),
    FIELD(TEXT, "GPU", struct dlc_resource, gpu, .doc = "devices, as text: 2"),
    FIELD(TEXT, "Memory", struct dlc_resource, memory, .doc = "memory with its unit: 10Gi"),
    FIELD(TEXT, "SharedMemory", struct dlc_resource, shared_memory,
          .doc = "shared memory with its unit: 5Gi"),
    FIELD(TEXT, "GPUType", struct dlc_resource, gpu_type, .doc = "model of the devices"),
    FIELD_END,
};

static const struct field image_fields[] = {
    FIELD(TEXT, "DockerRegistry", struct dlc_image_config, registry, .doc = "registry"),
    FIELD(TEXT, "Username", struct dlc_image_config, username, .doc = "user"),
    FIELD(TEXT, "Password", struct dlc_image_config, password, .doc = "password"),
    FIELD(TEXT, "Auth", struct dlc_image_config, auth, .doc = "both in one text"),
    FIELD_END,
};

static const struct field spot_fields[] = {
    FIELD(WORD, "SpotStrategy", struct dlc_bid, strategy, .words = bid_words,
          .doc = "how is bid: SpotWithPriceLimit"),
    FIELD(MILLI, "SpotDiscountLimit", struct dlc_bid, discount_milli,
          .has_offset = offsetof(struct dlc_bid, has_discount), .max = 1000,
          .doc = "share of the list price: 0.1 to 0.9"),
    FIELD(TEXT, "SpotPriceLimit", struct dlc_bid, price, .doc = "price a minute"),
    FIELD_END,
};

static const struct field assign_fields[] = {
    FIELD(BOOL, "EnableAssignNode", struct dlc_assign, enable, .doc = "run on the named nodes"),
    FIELD(TEXT, "NodeNames", struct dlc_assign, names, .doc = "names of nodes: a,b"),
    FIELD(TREE, "AntiAffinityNodeNames", struct dlc_assign, anti, .doc = "nodes to stay away from"),
    FIELD(TREE, "HyperNodes", struct dlc_assign, hyper, .doc = "groups of nodes"),
    FIELD_END,
};

static const struct field local_fields[] = {
    FIELD(TEXT, "LocalPath", struct dlc_local_mount, from, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "path on the node"),
    FIELD(TEXT, "MountPath", struct dlc_local_mount, at, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "absolute path in the tasks"),
    FIELD(WORD, "MountMode", struct dlc_local_mount, mode, .words = access_words,
          .doc = "RO or RW"),
    FIELD_END,
};

static const struct field dependency_fields[] = {
    FIELD(TEXT, "Type", struct dlc_dependency, type, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "the role to wait for"),
    FIELD(WORD, "OnPhase", struct dlc_dependency, phase, .words = phase_words,
          .doc = "what its pods must have reached"),
    FIELD(U32, "MinReplicas", struct dlc_dependency, min, .doc = "how many of its pods"),
    FIELD_END,
};

static const struct field scaling_fields[] = {
    FIELD(U32, "MinReplicas", struct dlc_scaling, min, .max = JOB_MAX_TASKS, .doc = "least pods"),
    FIELD(U32, "MaxReplicas", struct dlc_scaling, max, .max = JOB_MAX_TASKS, .doc = "most pods"),
    OTHER("ScalingStrategy", struct dlc_scaling, "how it is scaled"),
    FIELD_END,
};

static const struct field pod_fields[] = {
    OTHER("InitContainers", struct dlc_spec, "containers that run before"),
    OTHER("SideCarContainers", struct dlc_spec, "containers that run beside"),
    OTHER("SharedVolumeMountPaths", struct dlc_spec, "volumes between them"),
    OTHER("PodLabels", struct dlc_spec, "labels of the pod"),
    OTHER("PodAnnotations", struct dlc_spec, "annotations of the pod"),
    OTHER("Lifecycle", struct dlc_spec, "hooks at start and end"),
    OTHER("MainContainerSecurityContext", struct dlc_spec, "rights of the container"),
    FIELD_END,
};

static const struct field spec_fields[] = {
    FIELD(TEXT, "Type", struct dlc_spec, type, .flags = FIELD_REQUIRED, .chars = &role_chars,
          .doc = "the role: Worker"),
    FIELD(TEXT, "Image", struct dlc_spec, image, .doc = "container image"),
    FIELD(OBJECT, "ImageConfig", struct dlc_spec, image_config, .table = image_fields,
          .doc = "credentials of the image's registry"),
    FIELD(U32, "PodCount", struct dlc_spec, pods, .max = JOB_MAX_TASKS, .def = 1,
          .unit = "pods of this role", .doc = "pods of this role; 0: none"),
    FIELD(TEXT, "EcsSpec", struct dlc_spec, ecs_spec, .doc = "instance type: ecs.g6.xlarge"),
    FIELD(OBJECT, "ResourceConfig", struct dlc_spec, resource, .table = resource_config_fields,
          .doc = "what each pod gets of a quota"),
    FIELD(BOOL, "UseSpotInstance", struct dlc_spec, use_spot, .doc = "spot capacity at any price"),
    FIELD(OBJECT, "SpotSpec", struct dlc_spec, spot, .table = spot_fields,
          .doc = "a bid for spot capacity"),
    FIELD(OBJECT, "AssignNodeSpec", struct dlc_spec, assign, .table = assign_fields,
          .doc = "nodes by name"),
    FIELD(WORD, "RestartPolicy", struct dlc_spec, restart, .words = restart_words,
          .doc = "what follows the end of a pod"),
    FIELD_MANY(LIST, "LocalMountSpecs", struct dlc_spec, mounts, n_mounts, .table = local_fields,
               .max = 256, .doc = "paths of the node in the tasks"),
    FIELD(BOOL, "IsChief", struct dlc_spec, is_chief, .doc = "the role whose end is the job's"),
    FIELD(BOOL, "ConsiderInSuccessPolicy", struct dlc_spec, considered,
          .doc = "counts for SuccessPolicy Partial"),
    FIELD_MANY(LIST, "StartupDependencies", struct dlc_spec, after, n_after,
               .table = dependency_fields, .max = 64, .doc = "roles that must run first"),
    FIELD(OBJECT, "AutoScalingSpec", struct dlc_spec, scaling, .table = scaling_fields,
          .doc = "a range of pods"),
    FIELD_SAME(OBJECT, "ExtraPodSpec", .table = pod_fields,
               .doc = "more containers, labels and hooks of a pod"),
    OTHER("ServiceSpec", struct dlc_spec, "services in front of the pods"),
    OTHER("SystemDisk", struct dlc_spec, "system disk"),
    OTHER("HyperNodeSchedulingConfig", struct dlc_spec, "groups of nodes"),
    OTHER("ElasticSpotSpecs", struct dlc_spec, "spot pods beside the others"),
    OTHER("OversoldType", struct dlc_spec, "idle capacity for this role"),
    OTHER("QuotaId", struct dlc_spec, "a quota for this role"),
    OTHER("Driver", struct dlc_spec, "driver for this role"),
    FIELD_END,
};

static const struct field source_fields[] = {
    FIELD(TEXT, "DataSourceId", struct dlc_source, id, .doc = "id of a data set: d-..."),
    FIELD(TEXT, "Uri", struct dlc_source, uri, .doc = "where the data is: oss://bucket/path"),
    FIELD(TEXT, "MountPath", struct dlc_source, at, .doc = "absolute path in the tasks: /mnt/data"),
    FIELD(TEXT, "DataSourceVersion", struct dlc_source, version, .doc = "version: v1"),
    FIELD(WORD, "MountAccess", struct dlc_source, access, .words = access_words, .doc = "RO or RW"),
    OTHER("Options", struct dlc_source, "mount options"),
    OTHER("EnableCache", struct dlc_source, "a cache in front of it"),
    OTHER("AccessPointId", struct dlc_source, "access point"),
    OTHER("RoleChain", struct dlc_source, "roles to read it with"),
    FIELD_END,
};

static const struct field code_fields[] = {
    FIELD(TEXT, "CodeSourceId", struct dlc_code, id, .doc = "id of a code source: code-..."),
    FIELD(TEXT, "Branch", struct dlc_code, branch, .doc = "branch"),
    FIELD(TEXT, "Commit", struct dlc_code, commit, .doc = "commit"),
    FIELD(TEXT, "MountPath", struct dlc_code, at, .doc = "absolute path in the tasks"),
    FIELD(BOOL, "IsSharedMountPath", struct dlc_code, shared, .doc = "one copy for all pods"),
    FIELD_END,
};

static const struct field vpc_fields[] = {
    FIELD(TEXT, "VpcId", struct dlc_vpc, vpc, .doc = "network"),
    FIELD(TEXT, "SwitchId", struct dlc_vpc, vswitch, .doc = "switch"),
    FIELD(TEXT, "SecurityGroupId", struct dlc_vpc, group, .doc = "security group"),
    FIELD(WORDS, "ExtendedCIDRs", struct dlc_vpc, cidrs, .max = 64, .doc = "more address ranges"),
    FIELD(WORD, "DefaultRoute", struct dlc_vpc, route, .words = route_words,
          .doc = "eth0: public gateway, eth1: own"),
    FIELD_END,
};

static const struct field env_fields[] = {
    FIELD(TEXT, "Key", struct dlc_env, key, .flags = FIELD_REQUIRED, .min = 1, .doc = "name"),
    FIELD(TEXT, "Value", struct dlc_env, value, .max = 131072, .doc = "value"),
    FIELD(BOOL, "Visible", struct dlc_env, visible, .doc = "shown to others"),
    FIELD_END,
};

static const struct field settings_fields[] = {
    FIELD(TREE, "AdvancedSettings", struct dlc_settings, advanced,
          .doc = "advanced settings of the framework"),
    FIELD(TEXT, "BusinessUserId", struct dlc_settings, business_user, .doc = "label of the caller"),
    FIELD(TEXT, "Caller", struct dlc_settings, caller, .doc = "label of the caller"),
    FIELD(TEXT, "PipelineId", struct dlc_settings, pipeline, .doc = "label of the caller"),
    FIELD(PAIRS, "Tags", struct dlc_settings, tags, .max = 200, .doc = "labels"),
    FIELD(BOOL, "EnableErrorMonitoringInAIMaster", struct dlc_settings, monitor,
          .doc = "automatic fault tolerance"),
    FIELD(TEXT, "ErrorMonitoringArgs", struct dlc_settings, monitor_args,
          .doc = "its arguments: --enable-job-restart=True"),
    FIELD(BOOL, "EnableSanityCheck", struct dlc_settings, sanity, .doc = "health check of nodes"),
    FIELD(TEXT, "SanityCheckArgs", struct dlc_settings, sanity_args, .doc = "its arguments"),
    FIELD(WORD, "OversoldType", struct dlc_settings, oversold, .words = oversold_words,
          .doc = "idle capacity of the quota"),
    FIELD(U32, "JobReservedMinutes", struct dlc_settings, reserved_minutes, .max = 525600,
          .doc = "minutes that resources are held after the end"),
    FIELD(WORD, "JobReservedPolicy", struct dlc_settings, reserved_policy, .words = reserved_words,
          .doc = "which ends are held"),
    FIELD(BOOL, "EnableCPUAffinity", struct dlc_settings, affinity, .doc = "pin tasks to cores"),
    FIELD(U32, "TerminationGracePeriodSeconds", struct dlc_settings, grace_s,
          .has_offset = offsetof(struct dlc_settings, has_grace), .max = 86400,
          .doc = "seconds between SIGTERM and SIGKILL"),
    FIELD(BOOL, "EnablePreemptibleJob", struct dlc_settings, preemptible,
          .doc = "may be ended for a more important job"),
    OTHER("EnablePriorityPreemption", struct dlc_settings, "may end less important jobs"),
    OTHER("EnableTideResource", struct dlc_settings, "tidal capacity"),
    OTHER("EnableRDMA", struct dlc_settings, "RDMA network"),
    OTHER("EnableOssAppend", struct dlc_settings, "append to objects"),
    OTHER("Driver", struct dlc_settings, "driver version"),
    OTHER("DisableEcsStockCheck", struct dlc_settings, "skip the stock check"),
    OTHER("AllocateAllRDMADevices", struct dlc_settings, "all RDMA devices"),
    OTHER("ModelConfig", struct dlc_settings, "model"),
    OTHER("DataJuicerConfig", struct dlc_settings, "DataJuicer"),
    OTHER("Shell", struct dlc_settings, "shell of the command"),
    OTHER("ElasticSpotJobMaxRestartTimes", struct dlc_settings, "restarts of spot pods"),
    OTHER("AllowUnschedulableNodes", struct dlc_settings, "nodes that are closed"),
    OTHER("EnableDSWDev", struct dlc_settings, "development instance"),
    FIELD_END,
};

const struct field dlc_create_fields[] = {
    FIELD(TEXT, "DisplayName", struct dlc_create, name, .flags = FIELD_REQUIRED, .min = 1,
          .max = NAME_MAX_BYTES, .chars = &job_name_chars, .doc = "name of the job: mnist-1"),
    FIELD(TEXT, "JobType", struct dlc_create, job_type, .flags = FIELD_REQUIRED, .min = 1,
          .max = 32, .doc = "PyTorchJob, TFJob, MPIJob ..."),
    FIELD_MANY(LIST, "JobSpecs", struct dlc_create, specs, n_specs, .flags = FIELD_REQUIRED,
               .table = spec_fields, .place_offset = offsetof(struct dlc_spec, place),
               .max = JOB_MAX_ROLES, .doc = "a list with a role each"),
    FIELD(TEXT, "UserCommand", struct dlc_create, command, .flags = FIELD_REQUIRED | FIELD_LONG,
          .min = 1, .max = COMMAND_MAX, .doc = "shell text for every pod: python train.py"),
    FIELD(TEXT, "WorkspaceId", struct dlc_create, workspace, .max = JOB_NAME_MAX,
          .doc = "workspace"),
    FIELD(TEXT, "ResourceId", struct dlc_create, resource, .max = JOB_NAME_MAX, .doc = "quota"),
    FIELD(U32, "Priority", struct dlc_create, priority,
          .has_offset = offsetof(struct dlc_create, has_priority), .min = 1, .max = 9, .def = 1,
          .unit = "9 comes first", .doc = "1 to 9, 9 comes first"),
    FIELD_MANY(LIST, "DataSources", struct dlc_create, sources, n_sources, .table = source_fields,
               .max = 256, .doc = "data sets and mounts"),
    FIELD(OBJECT, "CodeSource", struct dlc_create, code, .table = code_fields, .doc = "code"),
    FIELD(PAIRS, "Envs", struct dlc_create, envs, .max = DLC_ENVS_MAX, .chars = &env_chars,
          .doc = "environment variables, at most 20"),
    FIELD_MANY(LIST, "CustomEnvs", struct dlc_create, custom_envs, n_custom_envs,
               .table = env_fields, .max = DLC_ENVS_MAX, .doc = "environment variables"),
    FIELD(WORDS, "ThirdpartyLibs", struct dlc_create, libs, .max = 1024,
          .doc = "requirements as pip has them"),
    FIELD(TEXT, "ThirdpartyLibDir", struct dlc_create, lib_dir,
          .doc = "directory with requirements.txt"),
    FIELD(OBJECT, "UserVpc", struct dlc_create, vpc, .table = vpc_fields, .doc = "own network"),
    FIELD(U64, "JobMaxRunningTimeMinutes", struct dlc_create, max_minutes, .max = MINUTES_MAX,
          .has_offset = offsetof(struct dlc_create, has_max_minutes),
          .doc = "minutes until the job is stopped; 0: no limit; left out: 30 hours"),
    FIELD(OBJECT, "Settings", struct dlc_create, settings, .table = settings_fields,
          .doc = "settings"),
    FIELD(WORD, "SuccessPolicy", struct dlc_create, success, .words = success_words,
          .doc = "whose success is the job's"),
    FIELD(WORD, "Accessibility", struct dlc_create, access, .words = visible_words,
          .doc = "PRIVATE or PUBLIC"),
    FIELD(TEXT, "Description", struct dlc_create, description, .max = COMMAND_MAX,
          .doc = "for people"),
    FIELD(WORD, "SchedulingStrategy", struct dlc_create, strategy, .words = strategy_words,
          .doc = "Auto"),
    OTHER("ElasticSpec", struct dlc_create, "elastic training"),
    OTHER("Options", struct dlc_create, "mount tuning"),
    OTHER("DebuggerConfigContent", struct dlc_create, "debugger"),
    OTHER("CredentialConfig", struct dlc_create, "roles of the instance"),
    OTHER("TemplateId", struct dlc_create, "a template"),
    OTHER("TemplateVersion", struct dlc_create, "version of the template"),
    FIELD_END,
};
