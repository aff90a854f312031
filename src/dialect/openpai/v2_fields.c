/* The fields of protocol version 2 as tables: what is read, what has no effect, what is refused,
 * each with its reason. Strict decoding, the messages and the tables of doc/dialect-openpai.md come
 * from these rows.
 *
 * Source of the names and bounds: the schema that the servers enforced. */
#include "dialect/openpai/openpai.h"
#include "dialect/openpai/v2.h"

#include "base/buf.h"
#include "job/fate.h"
#include "job/job_fields.h"
#include "job/place.h"

enum { PORTS_MAX = 10000, DEVICES_MAX = 1000, CPUS_MAX = 1000000, MB_MAX = 1 << 30 };

/* ---- names ---- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static bool job_name_ok(const char *s)
{
    return *s && *s != '-' && s[strspn(s, LETTERS DIGITS "_-")] == '\0';
}
static const struct field_chars job_chars = { .ok = job_name_ok,
                                              .wanted = "letters, digits, _ and -, no - in front" };

static bool identifier_ok(const char *s)
{
    return *s && strlen(s) <= JOB_NAME_MAX && !strchr(DIGITS, *s) &&
           s[strspn(s, LETTERS DIGITS "_")] == '\0';
}
static const struct field_chars identifier_chars = {
    .ok = identifier_ok, .wanted = "letters, digits and _, no digit in front"
};

/* Early releases took '-' too: v2_check() warns. */
static bool role_name_ok(const char *s)
{
    return *s && strlen(s) <= JOB_NAME_MAX && !strchr(DIGITS "-", *s) &&
           s[strspn(s, LETTERS DIGITS "_-")] == '\0';
}
static const struct field_chars role_chars = { .ok = role_name_ok,
                                               .wanted =
                                                   "letters, digits and _, no digit in front" };

/* ---- values in forms that plain rows do not take ---- */

static int decode_constant(const struct field_context *in, const struct text_node *node, void *base)
{
    const char *want = in->row->def_text;
    (void)base;
    bool text = node->kind == TEXT_STR || node->kind == TEXT_INT;
    if (text && strcmp(node->str, want) == 0)
        return 0;
    struct problem *p = text ? field_bad_value(in, node, "%.40s, not %s", node->str, want)
                             : field_bad_value(in, node, "not %s", want);
    report_hint(in->report, p, "%s", in->row->doc);
    return -1;
}
static const struct field_hooks constant = { .decode = decode_constant, .value = "a word" };

static int decode_map(const struct field_context *in, const struct text_node *node, void *base)
{
    (void)base;
    if (node->kind == TEXT_MAP)
        return 0;
    report_hint(in->report, field_bad_value(in, node, "%s, not a map", text_kind_word(node->kind)),
                "name: value");
    return -1;
}
static const struct field_hooks any_map = { .decode = decode_map, .value = "a map" };

/* Any whole number; what it means is the reader's. */
static int decode_count(const struct field_context *in, const struct text_node *node, void *base)
{
    struct v2_count *into = (struct v2_count *)(void *)((char *)base + in->row->offset);
    if (node->kind == TEXT_INT && node->integer >= INT32_MIN && node->integer <= INT32_MAX) {
        *into = (struct v2_count){ .given = true, .n = node->integer };
        return 0;
    }
    struct problem *p =
        node->str && node->kind != TEXT_STR
            ? field_bad_value(in, node, "%.40s, not a whole number", node->str)
            : field_bad_value(in, node, "%s, not a whole number", text_kind_word(node->kind));
    report_hint(in->report, p, "%s", in->row->unit);
    return -1;
}
static const struct field_hooks count = { .decode = decode_count, .value = "a whole number" };

static int decode_port(const struct field_context *in, const struct text_node *node, void *base)
{
    static const struct field number = { .name = "",
                                         .type = FIELD_U32,
                                         .offset = offsetof(struct port_request, count),
                                         .size = sizeof(uint32_t),
                                         .min = 1,
                                         .max = PORTS_MAX,
                                         .unit = "ports of this label" };
    struct field_position at = { .up = in->at, .key = node->key };
    struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
    if (!identifier_ok(node->key)) {
        struct problem *p = report_error(in->report, node->key_place, "",
                                         "\"%.40s\" is no label of ports", node->key);
        report_hint(in->report, p, "%s", identifier_chars.wanted);
        return -1;
    }
    return field_value_decode(&inner, &number, node, base);
}

static int decode_ports(const struct field_context *in, const struct text_node *node, void *base)
{
    struct v2_role *role = base;
    int rc = 0;
    if (node->kind != TEXT_MAP || node->count == 0 || node->count > PORT_MAX_LABELS - 2) {
        report_hint(in->report,
                    field_bad_value(in, node, "not a map of 1 to %d labels", PORT_MAX_LABELS - 2),
                    "label: number of ports");
        return -1;
    }
    role->ports = ARENA_ARRAY(in->arena, node->count + 2, struct port_request);
    for (const struct text_node *port = node->first; port; port = port->next) {
        struct port_request *want = &role->ports[role->n_ports++];
        want->label = arena_strdup(in->arena, port->key);
        rc |= decode_port(in, port, want);
    }
    return rc;
}
static const struct field_hooks ports = { .decode = decode_ports, .value = "labels: counts" };

/* ---- prerequisites ---- */

static const struct field_word prerequisite_types[] = {
    { "dockerimage", 0 }, { "script", 0 }, { "output", 0 }, { "data", 0 }, { 0 }
};
static const struct field prerequisite_fields[] = {
    FIELD(TEXT, "name", struct v2_prerequisite, name, .flags = FIELD_REQUIRED, .min = 1, .max = 255,
          .doc = "what roles call it; once for each type"),
    FIELD(WORD, "type", struct v2_prerequisite, type, .flags = FIELD_REQUIRED,
          .words = prerequisite_types, .doc = "`dockerimage`, `script`, `output` or `data`"),
    QUIET("uri", "of a `dockerimage`: `image` of the roles that name it; of the others: for "
                 "templates, nothing is fetched, as there"),
    QUIET("auth",
          "of a `dockerimage`: `username`, `password`, `registryuri`; checked and not kept, "
          "with a warning: no registry is asked here"),
    QUIET("plugin", "`com.microsoft.pai.runtimeplugin.cmd`: its callbacks, see *Commands*; others "
                    "are refused where a role names them"),
    QUIET("callbacks", "`event` `taskStarts` or `taskSucceeds` and `commands`"),
    QUIET("require", "names of prerequisites that come before it"),
    QUIET("protocolVersion", "2"),
    QUIET("version", "for templates"),
    QUIET("contributor", "for templates"),
    QUIET("description", "for templates"),
    FIELD_END,
};

/* ---- roles ---- */

static const struct field completion_fields[] = {
    FIELD(CUSTOM, "minFailedInstances", struct v2_role, min_failed, .hooks = &count,
          .unit = "failed tasks that fail the job; -1: never",
          .doc = "`done.failed`; 1 when left out, null or 0; -1: `never`"),
    FIELD(CUSTOM, "minSucceededInstances", struct v2_role, min_succeeded, .hooks = &count,
          .unit = "succeeded tasks that end the job; -1: all of them",
          .doc = "`done.succeeded`; all tasks *of the role* when left out or 0, so that the first "
                 "role that is through ends the job, as there; -1 or null: `all`"),
    FIELD(CUSTOM, "minFailedTaskCount", struct v2_role, min_failed, .hooks = &count,
          .unit = "failed tasks that fail the job; -1: never",
          .doc = "as `minFailedInstances`: its name in the first files of version 2"),
    FIELD(CUSTOM, "minSucceededTaskCount", struct v2_role, min_succeeded, .hooks = &count,
          .unit = "succeeded tasks that end the job; -1: all of them",
          .doc = "as `minSucceededInstances`: its name in the first files of version 2"),
    FIELD_END,
};
static const struct field container_fields[] = {
    FIELD(U32, "shmMB", struct v2_role, shm_mb, .max = MB_MAX,
          .has_offset = offsetof(struct v2_role, has_shm), .unit = "MB",
          .doc = "`resources.shm`; 512"),
    IGNORED("infiniband", "devices of the node are there anyway"),
    FIELD_END,
};
static const struct field resource_fields[] = {
    FIELD(U32, "cpu", struct v2_role, cpu, .flags = FIELD_REQUIRED, .max = CPUS_MAX,
          .unit = "CPUs for one task", .doc = "CPUs of one task: `resources.cpu`"),
    FIELD(U32, "memoryMB", struct v2_role, memory_mb, .flags = FIELD_REQUIRED, .max = MB_MAX,
          .unit = "MB for one task",
          .doc = "MB of one task: `resources.memory`; a MB is 1,048,576 bytes"),
    FIELD(U32, "gpu", struct v2_role, gpu, .flags = FIELD_REQUIRED, .max = DEVICES_MAX,
          .unit = "GPUs for one task", .doc = "GPUs of one task: `resources.gpu`"),
    FIELD(CUSTOM, "ports", struct v2_role, ports, .hooks = &ports,
          .doc = "`ports`: label and count, any free ones; `http` and `ssh` are added, one each"),
    FIELD_END,
};
static const struct field role_table[] = {
    FIELD(U32, "instances", struct v2_role, instances, .def = 1, .min = 1, .max = JOB_MAX_TASKS,
          .unit = "tasks of this role", .doc = "`replicas`; 1"),
    FIELD_SAME(OBJECT, "completion", .table = completion_fields, .doc = "`done`"),
    FIELD(CUSTOM, "taskRetryCount", struct v2_role, retry, .hooks = &count,
          .unit = "retries of one task",
          .doc = "with `gangAllocation: false`: retries of a task, the largest of the roles is the "
                 "job's; else without effect, as there"),
    FIELD(TEXT, "dockerImage", struct v2_role, image, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "name of a prerequisite of type `dockerimage`: `image`"),
    FIELD(TEXT, "data", struct v2_role, data, .min = 1, .doc = "of type `data`: `$data`"),
    FIELD(TEXT, "output", struct v2_role, output, .min = 1, .doc = "of type `output`: `$output`"),
    FIELD(TEXT, "script", struct v2_role, script, .min = 1, .doc = "of type `script`: `$script`"),
    FIELD(WORDS, "prerequisites", struct v2_role, prerequisites, .max = 256,
          .doc = "names; their callbacks run before and after, see *Commands*"),
    FIELD_SAME(OBJECT, "extraContainerOptions", .flags = FIELD_OPEN, .table = container_fields,
               .doc = "other keys pass, as there"),
    FIELD_SAME(OBJECT, "resourcePerInstance", .flags = FIELD_REQUIRED, .table = resource_fields,
               .doc = "cpu, memoryMB, gpu and ports of one task"),
    FIELD(WORDS, "commands", struct v2_role, commands, .flags = FIELD_REQUIRED | FIELD_ARGS,
          .max = 4096, .doc = "texts for bash, one after the other: `run`, see *Commands*"),
    FIELD_END,
};

/* ---- deployments ---- */

static const struct field steps_fields[] = {
    FIELD(WORDS, "preCommands", struct v2_steps, before, .flags = FIELD_ARGS, .max = 4096,
          .doc = "before the role's commands"),
    FIELD(WORDS, "postCommands", struct v2_steps, after, .flags = FIELD_ARGS, .max = 4096,
          .doc = "after them, when they succeeded"),
    FIELD_END,
};
static const struct field deployment_fields[] = {
    FIELD(TEXT, "name", struct v2_deployment, name, .flags = FIELD_REQUIRED, .min = 1, .max = 255,
          .doc = "what `defaults.deployment` calls it; the others are checked and not used"),
    FIELD_MANY(MAP, "taskRoles", struct v2_deployment, roles, n_roles, .flags = FIELD_REQUIRED,
               .table = steps_fields, .key_offset = offsetof(struct v2_steps, name),
               .place_offset = offsetof(struct v2_steps, place), .max = JOB_MAX_ROLES,
               .doc = "a role that the job has not is warned about"),
    FIELD_END,
};
static const struct field default_fields[] = {
    FIELD(TEXT, "deployment", struct v2_job, deployment, .min = 1, .doc = "one of `deployments`"),
    FIELD(TEXT, "virtualCluster", struct v2_job, queue, .max = JOB_NAME_MAX,
          .doc = "`queue`; \"\": the default one"),
    FIELD_END,
};

/* ---- extras ---- */

static const struct field_word priority_words[] = {
    { "oppo", 1 }, { "test", 5 }, { "prod", 8 }, { "crit", 9 }, { 0 }
};
static const struct field_word failure_words[] = { { "ignore", 0 }, { "fail", 1 }, { 0 } };

static const struct field hived_role_fields[] = {
    FIELD(TEXT, "skuType", struct v2_hived_role, sku_type,
          .doc = "`resources.gpu_type` of a role with GPUs; null: any"),
    IGNORED("pinnedCellId",
            "there are no reserved cells; `place.nodes` of muster's own format names "
            "nodes"),
    IGNORED("affinityGroupName", "all tasks of a job start together; nearness is not asked for"),
    QUIET("skuNumber", "it was computed anew there as well"),
    QUIET("skuNum", "an older name of skuNumber"),
    FIELD_END,
};
static const struct field hived_fields[] = {
    FIELD(ENUM, "jobPriorityClass", struct v2_extras, priority, .words = priority_words,
          .doc = "`priority`: `oppo` 1, `test` 5, `prod` 8, `crit` 9"),
    FIELD_MANY(MAP, "taskRoles", struct v2_extras, hived, n_hived, .flags = FIELD_OPEN,
               .table = hived_role_fields, .key_offset = offsetof(struct v2_hived_role, name),
               .place_offset = offsetof(struct v2_hived_role, place), .max = JOB_MAX_ROLES,
               .doc = "by role"),
    IGNORED("gangReleaseEnable", "a gang's resources are free when its last task has ended"),
    IGNORED("lazyPreemptionEnable", "no job is ended for another"),
    IGNORED("ignoreK8sSuggestedNodes", "there are none to ignore"),
    FIELD_END,
};
static const struct field plugin_fields[] = {
    FIELD(TEXT, "plugin", struct v2_plugin, plugin, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "see *Plugins*"),
    FIELD_SAME(CUSTOM, "parameters", .hooks = &any_map, .doc = "see *Plugins*"),
    FIELD(WORD, "failurePolicy", struct v2_plugin, on_failure, .words = failure_words,
          .doc =
              "`ignore`: a plugin that is not here is warned about; `fail`, or left out: refused"),
    FIELD(WORDS, "taskroles", struct v2_plugin, roles, .max = JOB_MAX_ROLES,
          .doc = "only these roles"),
    FIELD_END,
};
static const struct field storage_fields[] = {
    FIELD(TEXT, "name", struct v2_storage, name, .flags = FIELD_REQUIRED, .min = 1, .max = 255,
          .chars = &name_chars,
          .doc = "`inputs.data[].from` is `storage://NAME`, which a root of the server's setting "
                 "`roots` turns into a directory; without one the job is refused"),
    FIELD(TEXT, "mountPath", struct v2_storage, at, .min = 1,
          .doc = "`inputs.data[].at`; `/mnt/NAME`"),
    QUIET("share", "all tasks mount the same directory"),
    FIELD_END,
};
static const struct field notification_fields[] = {
    FIELD(BOOL, "running", struct v2_extras, running, .doc = "`notify`"),
    FIELD(BOOL, "succeeded", struct v2_extras, succeeded, .doc = "`notify`"),
    FIELD(BOOL, "stopped", struct v2_extras, stopped, .doc = "`notify`"),
    FIELD(BOOL, "failed", struct v2_extras, failed, .doc = "`notify`"),
    FIELD(BOOL, "retried", struct v2_extras, retried, .doc = "`notify`"),
    FIELD_END,
};
static const struct field extra_fields[] = {
    FIELD(BOOL, "gangAllocation", struct v2_extras, gang, .def = true,
          .doc = "true: all tasks start together; `false`: as room appears (`gang` with `min: 1`), "
                 "and tasks are retried one by one"),
    FIELD_SAME(OBJECT, "hivedScheduler", .flags = FIELD_OPEN, .table = hived_fields,
               .doc = "HiveD's settings"),
    FIELD_MANY(LIST, V2_PLUGINS, struct v2_extras, plugins, n_plugins, .table = plugin_fields,
               .place_offset = offsetof(struct v2_plugin, place), .max = 256,
               .doc = "see *Plugins*"),
    FIELD_MANY(LIST, "storages", struct v2_extras, storages, n_storages, .flags = FIELD_OPEN,
               .table = storage_fields, .place_offset = offsetof(struct v2_storage, place),
               .has_offset = offsetof(struct v2_extras, has_storages), .max = 256,
               .doc = "`inputs.data`; an empty list meant the user's default storages, there are "
                      "none here"),
    FIELD_SAME(OBJECT, "jobStatusChangeNotification", .flags = FIELD_OPEN,
               .table = notification_fields,
               .doc = "who is told what; the server says that nobody is"),
    QUIET("submitFrom", "which client made it; kept"),
    FIELD_END,
};

/* ---- the document ---- */

const struct field v2_job_fields[] = {
    FIELD_SAME(CUSTOM, "protocolVersion", .flags = FIELD_REQUIRED, .hooks = &constant,
               .def_text = "2", .doc = "2, also as text"),
    FIELD(TEXT, "name", struct v2_job, name, .flags = FIELD_REQUIRED, .min = 1, .max = JOB_NAME_MAX,
          .chars = &job_chars,
          .doc = "`name`; letters, digits, `_` and `-`, at most 128 (there: 255)"),
    FIELD_SAME(CUSTOM, "type", .flags = FIELD_REQUIRED, .hooks = &constant, .def_text = "job",
               .doc = "`job`"),
    QUIET("version", "kept"),
    QUIET("contributor", "kept"),
    FIELD(TEXT, "description", struct v2_job, description, .max = 1 << 20, .doc = "`description`"),
    FIELD_MANY(LIST, "prerequisites", struct v2_job, prerequisites, n_prerequisites,
               .flags = FIELD_OPEN, .table = prerequisite_fields,
               .place_offset = offsetof(struct v2_prerequisite, place), .max = 1024,
               .doc = "what roles name; the servers did not require it"),
    FIELD_SAME(CUSTOM, "parameters", .hooks = &any_map, .doc = "values for templates; kept"),
    FIELD_SAME(CUSTOM, "secrets", .hooks = &any_map,
               .doc = "values for templates of commands and of `auth`; nobody reads them again "
                      "(`***`), see *Secrets*"),
    FIELD(U32, "jobRetryCount", struct v2_job, retry, .max = 1000000, .unit = "retries of the job",
          .doc = "`retry`, see *Retry*; 0"),
    FIELD_MANY(MAP, "taskRoles", struct v2_job, roles, n_roles, .flags = FIELD_REQUIRED,
               .table = role_table, .key_offset = offsetof(struct v2_role, name),
               .place_offset = offsetof(struct v2_role, place), .chars = &role_chars,
               .max = JOB_MAX_ROLES,
               .doc = "`roles`; names of letters, digits and `_`; `-`, which early releases took, "
                      "with a warning (`--fix` renames)"),
    FIELD_MANY(LIST, "deployments", struct v2_job, deployments, n_deployments,
               .table = deployment_fields, .place_offset = offsetof(struct v2_deployment, place),
               .max = 256, .doc = "commands around those of the roles"),
    FIELD_SAME(OBJECT, "defaults", .flags = FIELD_OPEN, .table = default_fields,
               .doc = "other keys pass, as there"),
    FIELD(OBJECT, "extras", struct v2_job, extras, .flags = FIELD_OPEN, .table = extra_fields,
          .doc = "other keys are kept, not looked into"),
    FIELD_END,
};

/* ---- slips ---- */

static void slips(const struct text_node *map, const struct field *table, const char *path,
                  struct report *r)
{
    for (const struct text_node *node = map && map->kind == TEXT_MAP ? map->first : NULL; node;
         node = node->next) {
        const char *near = field_find(table, node->key) ? NULL : field_near(table, node->key);
        if (!near || text_get(map, near))
            continue;
        struct problem *p =
            report_warn(r, node->key_place, path, "%s: \"%.60s\" is not known and has no effect",
                        path, node->key);
        report_hint(r, p, "\"%s\"?", near);
    }
}

static const struct text_node *in(const struct text_node *map, const char *key)
{
    return map ? text_get(map, key) : NULL;
}

void v2_slips(const struct text_node *root, struct report *r)
{
    const struct text_node *extras = in(root, "extras"), *hived = in(extras, "hivedScheduler");
    const struct text_node *roles = in(root, "taskRoles"), *storages = in(extras, "storages");
    slips(in(root, "defaults"), default_fields, "defaults", r);
    slips(extras, extra_fields, "extras", r);
    slips(hived, hived_fields, "extras.hivedScheduler", r);
    slips(in(extras, "jobStatusChangeNotification"), notification_fields,
          "extras.jobStatusChangeNotification", r);
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next)
        slips(in(role, "extraContainerOptions"), container_fields, "extraContainerOptions", r);
    for (const struct text_node *item = storages ? storages->first : NULL; item; item = item->next)
        slips(item, storage_fields, "extras.storages[]", r);
}

/* ---- the page ---- */

void openpai_v2_reference(struct buf *out)
{
    static const struct {
        const char *title;
        const struct field *table;
    } tables[] = {
        { "The document", v2_job_fields },
        { "`prerequisites[]`", prerequisite_fields },
        { "`taskRoles.*`", role_table },
        { "`taskRoles.*.completion`", completion_fields },
        { "`taskRoles.*.extraContainerOptions`", container_fields },
        { "`taskRoles.*.resourcePerInstance`", resource_fields },
        { "`deployments[]`", deployment_fields },
        { "`deployments[].taskRoles.*`", steps_fields },
        { "`defaults`", default_fields },
        { "`extras`", extra_fields },
        { "`extras.hivedScheduler`", hived_fields },
        { "`extras.hivedScheduler.taskRoles.*`", hived_role_fields },
        { "`extras." V2_PLUGINS "[]`", plugin_fields },
        { "`extras.storages[]`", storage_fields },
        { "`extras.jobStatusChangeNotification`", notification_fields },
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        fate_table(out, tables[i].title, tables[i].table);
}
