/* The parameter file of the `dlc` command as a CreateJob body.
 *
 * Role: a map of texts (key=value lines) -> the tree that a CreateJob body would be, every node at
 * the place it was made of; and, for what is said about that tree, what its fields are called in
 * the file. Command lines have the same keys.
 *
 * Inputs: the tree of the file. Effects: problems in the report.
 *
 * Caveats: the file does not say what kind of job it is; the command does (`dlc submit tfjob`). It
 * may say it here as kind=TFJob; else it is told from the roles and the images, and the reader is
 * told that. */
#include "dialect/dlc/params.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dlc/types.h"
#include "text/keyvalue.h"

#include <string.h>
#include <strings.h>

enum { NAMES_ROOM = 4096, TEXT_ROOM = 1 << 16 };

enum param_kind {
    PARAM_TEXT,
    PARAM_INT,
    PARAM_BOOL,
    PARAM_SECONDS, /* to minutes */
    PARAM_WORDS,
    PARAM_PAIRS,
    PARAM_SPECIAL, /* a function of its own */
    PARAM_ASIDE,   /* for the command, not for the job */
};
static const struct param {
    const char *key;
    enum param_kind kind;
    const char *path; /* in the body */
} params[] = {
    { "name", PARAM_TEXT, "DisplayName" },
    { "command", PARAM_TEXT, "UserCommand" },
    { "kind", PARAM_SPECIAL, "JobType" },
    { "job_type", PARAM_SPECIAL, "JobType" },
    { "workspace_id", PARAM_TEXT, "WorkspaceId" },
    { "resource_id", PARAM_TEXT, "ResourceId" },
    { "priority", PARAM_INT, "Priority" },
    { "data_sources", PARAM_SPECIAL, "DataSources" },
    { "data_source_uris", PARAM_SPECIAL, "DataSources" },
    { "code_source", PARAM_TEXT, "CodeSource.CodeSourceId" },
    { "code_branch", PARAM_TEXT, "CodeSource.Branch" },
    { "code_commit", PARAM_TEXT, "CodeSource.Commit" },
    { "thirdparty_libs", PARAM_WORDS, "ThirdpartyLibs" },
    { "thirdparty_lib_dir", PARAM_TEXT, "ThirdpartyLibDir" },
    { "vpc_id", PARAM_TEXT, "UserVpc.VpcId" },
    { "switch_id", PARAM_TEXT, "UserVpc.SwitchId" },
    { "security_group_id", PARAM_TEXT, "UserVpc.SecurityGroupId" },
    { "extended_cidrs", PARAM_WORDS, "UserVpc.ExtendedCIDRs" },
    { "default_route", PARAM_TEXT, "UserVpc.DefaultRoute" },
    { "envs", PARAM_PAIRS, "Envs" },
    { "tags", PARAM_PAIRS, "Settings.Tags" },
    { "job_max_running_time_minutes", PARAM_INT, "JobMaxRunningTimeMinutes" },
    { "running_timeout", PARAM_SECONDS, "JobMaxRunningTimeMinutes" },
    { "success_policy", PARAM_TEXT, "SuccessPolicy" },
    { "oversold_type", PARAM_TEXT, "Settings.OversoldType" },
    { "driver", PARAM_TEXT, "Settings.Driver" },
    { "disable_ecs_stock_check", PARAM_BOOL, "Settings.DisableEcsStockCheck" },
    { "enable_credential", PARAM_BOOL, "CredentialConfig.EnableCredentialInject" },
    { "advanced_settings", PARAM_PAIRS, "Settings.AdvancedSettings" },
    { "aimaster_enable", PARAM_BOOL, "Settings.EnableErrorMonitoringInAIMaster" },
    { "aimaster_args", PARAM_SPECIAL, "Settings.ErrorMonitoringArgs" },
    { "job_reserved_minutes", PARAM_INT, "Settings.JobReservedMinutes" },
    { "job_reserved_policy", PARAM_TEXT, "Settings.JobReservedPolicy" },
    { "enable_preemptible_job", PARAM_BOOL, "Settings.EnablePreemptibleJob" },
    { "enable_priority_preemption", PARAM_BOOL, "Settings.EnablePriorityPreemption" },
    { "image_repo_username", PARAM_SPECIAL, NULL },
    { "image_repo_password", PARAM_SPECIAL, NULL },
    { "node_names", PARAM_SPECIAL, NULL },
    { "interactive", PARAM_ASIDE, NULL },
    { "exit_code_on_stopped", PARAM_ASIDE, NULL },
};

static const struct param_role {
    const char *prefix, *count, *older, *type;
    const char *kind; /* of job that has the role and no other has; NULL: several have it */
} roles[] = {
    { "chief", "chief", "chief_count", "Chief", "TFJob" },
    { "master", "masters", "master_count", "Master", NULL },
    { "ps", "ps", "ps_count", "PS", "TFJob" },
    { "worker", "workers", "worker_count", "Worker", NULL },
    { "evaluator", "evaluators", "evaluator_count", "Evaluator", "TFJob" },
    { "graphlearn", "graphlearns", "graphlearn_count", "GraphLearn", "TFJob" },
    { "head", "heads", "head_count", "Head", "RayJob" },
};
static const struct {
    const char *suffix, *path;
    bool memory;
} role_keys[] = {
    { "image", "Image", false },
    { "spec", "EcsSpec", false },
    { "cpu", "ResourceConfig.CPU", false },
    { "gpu", "ResourceConfig.GPU", false },
    { "gpu_type", "ResourceConfig.GPUType", false },
    { "memory", "ResourceConfig.Memory", true },
    { "shared_memory", "ResourceConfig.SharedMemory", true },
};

struct dlc_names {
    struct {
        const char *path, *key;
    } at[NAMES_ROOM];
    size_t n;
};

struct making {
    struct arena *arena;
    const struct text_node *root;
    struct text_node *out;
    struct dlc_names *names;
    struct report *report;
};

/* ---- recognising ---- */

static const struct param *param_find(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        if (strcmp(params[i].key, key) == 0)
            return &params[i];
    return NULL;
}

/* The role a key speaks of, and what of it: 0 its number, else 1 + the position in role_keys. */
static const struct param_role *role_key_find(const char *key, size_t *what)
{
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        size_t len = strlen(roles[i].prefix);
        *what = 0;
        if (strcmp(roles[i].count, key) == 0 || strcmp(roles[i].older, key) == 0)
            return &roles[i];
        if (strncmp(roles[i].prefix, key, len) != 0 || key[len] != '_')
            continue;
        for (size_t k = 0; k < ARRAY_LEN(role_keys); k++)
            if (strcmp(role_keys[k].suffix, key + len + 1) == 0) {
                *what = k + 1;
                return &roles[i];
            }
    }
    return NULL;
}

bool dlc_is_params(const struct text_node *root)
{
    size_t what;
    for (const struct text_node *node = root->first; node && root->pairs; node = node->next)
        if (role_key_find(node->key, &what) || param_find(node->key))
            return true;
    return false;
}

/* ---- nodes with the place of what they are made of ---- */

static void call(struct making *m, const char *path, const char *key)
{
    if (m->names->n < NAMES_ROOM) {
        m->names->at[m->names->n].path = path;
        m->names->at[m->names->n++].key = key;
    }
}

static struct text_node *put_place(struct text_node *node, const struct text_node *from)
{
    node->place = from->place;
    node->key_place = from->key_place;
    return node;
}

static struct text_node *member(struct making *m, struct text_node *map, const char *key,
                                const struct text_node *from)
{
    struct text_node *found = text_get(map, key);
    return found ? found : put_place(text_map(m->arena, map, key), from);
}

/* The map that holds the last step of path, which is left in *last. */
static struct text_node *holder(struct making *m, struct text_node *map, const char *path,
                                const struct text_node *from, const char **last)
{
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1)
        map = member(m, map, arena_strndup(m->arena, path, (size_t)(dot - path)), from);
    *last = path;
    return map;
}

static void put_text(struct making *m, struct text_node *map, const char *path,
                     const struct text_node *from)
{
    const char *last;
    struct text_node *into = holder(m, map, path, from, &last);
    if (!text_get(into, last))
        put_place(text_str(m->arena, into, last, from->str), from);
}

static void put_int(struct making *m, struct text_node *map, const char *path,
                    const struct text_node *from, int64_t divide)
{
    const char *last;
    int64_t n;
    struct text_node *into = holder(m, map, path, from, &last);
    if (text_get(into, last))
        return;
    if (scan_i64(from->str, INT64_MIN, INT64_MAX, &n))
        put_place(text_int(m->arena, into, last, n > 0 ? (n - 1) / divide + 1 : n), from);
    else
        put_place(text_str(m->arena, into, last, from->str), from);
}

static void put_bool(struct making *m, struct text_node *map, const char *path,
                     const struct text_node *from)
{
    const char *last;
    struct text_node *into = holder(m, map, path, from, &last);
    bool yes = strcasecmp(from->str, "true") == 0;
    if (text_get(into, last))
        return;
    if (yes || strcasecmp(from->str, "false") == 0)
        put_place(text_bool(m->arena, into, last, yes), from);
    else
        put_place(text_str(m->arena, into, last, from->str), from);
}

/* ---- keys of their own kind ---- */

static void put_source(struct making *m, const struct text_node *part, const char *key, bool uri)
{
    static const char *const fields[] = { "", ".Uri", ".DataSourceId", ".DataSourceVersion",
                                          ".MountPath" };
    struct text_node *list = text_get(m->out, "DataSources");
    if (!list)
        list = put_place(text_list(m->arena, m->out, "DataSources"), part);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        call(m, arena_printf(m->arena, "DataSources[%zu]%s", list->count, fields[i]), key);
    struct text_node *one = put_place(text_map(m->arena, list, NULL), part);
    const char *text = part->str, *mark = uri ? strstr(text, "::") : strchr(text, ':');
    size_t head = mark ? (size_t)(mark - text) : strlen(text);
    keyvalue_part(m->arena, one, uri ? "Uri" : "DataSourceId", part, 0, head);
    if (uri && mark) {
        keyvalue_part(m->arena, one, "MountPath", part, head + 2, strlen(mark + 2));
    } else if (mark) {
        const char *path = strchr(mark + 1, ':');
        size_t len = path ? (size_t)(path - mark - 1) : strlen(mark + 1);
        if (len > 0)
            keyvalue_part(m->arena, one, "DataSourceVersion", part, head + 1, len);
        if (path && path[1])
            keyvalue_part(m->arena, one, "MountPath", part, (size_t)(path + 1 - text),
                          strlen(path + 1));
    }
}

static void put_sources(struct making *m, const struct text_node *node, bool uri)
{
    const struct text_node *parts = keyvalue_words(m->arena, NULL, NULL, node);
    for (const struct text_node *part = parts->first; part; part = part->next)
        put_source(m, part, node->key, uri);
}

/* The older command has `--kind BatchJob`, which no body of the API may have. */
static void take_kind(struct making *m, const struct text_node *node)
{
    const bool older = strcasecmp(node->str, "BatchJob") == 0;
    const struct dlc_type *type = dlc_type_find(older ? "ElasticBatchJob" : node->str, true);
    if (text_get(m->out, "JobType"))
        return;
    put_place(text_str(m->arena, m->out, "JobType", type ? type->name : node->str), node);
    if (!older)
        return;
    struct problem *p = report_warn(
        m->report, node->place, node->key,
        "%s is BatchJob: taken for an ElasticBatchJob, whose tasks are independent too", node->key);
    report_hint(m->report, p, "ElasticBatchJob");
}

/* Memory without a unit is in GiB, as command lines of the older command have it. */
static void put_memory(struct making *m, struct text_node *spec, const char *path,
                       const struct text_node *node)
{
    struct text_node whole = *node;
    uint64_t n;
    if (scan_u64(node->str, 1, 1u << 20, &n)) {
        whole.str = arena_printf(m->arena, "%sGi", node->str);
        struct problem *p = report_warn(m->report, node->place, node->key,
                                        "%s has no unit: taken as %s", node->key, whole.str);
        report_hint(m->report, p, "%s", whole.str);
    }
    put_text(m, spec, path, &whole);
}

static void put_special(struct making *m, const struct text_node *node)
{
    if (strcmp(node->key, "data_sources") == 0) {
        put_sources(m, node, false);
    } else if (strcmp(node->key, "data_source_uris") == 0) {
        put_sources(m, node, true);
    } else if (strcmp(node->key, "aimaster_args") == 0) {
        put_text(m, m->out, "Settings.ErrorMonitoringArgs", node);
        struct text_node *settings = text_get(m->out, "Settings");
        const char *on = "EnableErrorMonitoringInAIMaster";
        if (!text_get(settings, on) && !text_get(m->root, "aimaster_enable"))
            put_place(text_bool(m->arena, settings, on, true), node);
    } else if (strcmp(node->key, "kind") == 0 || strcmp(node->key, "job_type") == 0) {
        take_kind(m, node);
    }
}

static void put_param(struct making *m, const struct param *p, const struct text_node *node)
{
    const char *last;
    struct text_node *into;
    struct problem *problem;
    if (p->path)
        call(m, p->path, p->key);
    switch (p->kind) {
    case PARAM_TEXT: put_text(m, m->out, p->path, node); break;
    case PARAM_INT: put_int(m, m->out, p->path, node, 1); break;
    case PARAM_SECONDS: put_int(m, m->out, p->path, node, 60); break;
    case PARAM_BOOL: put_bool(m, m->out, p->path, node); break;
    case PARAM_WORDS:
        into = holder(m, m->out, p->path, node, &last);
        keyvalue_words(m->arena, into, last, node);
        break;
    case PARAM_PAIRS:
        into = holder(m, m->out, p->path, node, &last);
        keyvalue_pairs(m->arena, into, last, node, p->key, m->report);
        break;
    case PARAM_SPECIAL: put_special(m, node); break;
    case PARAM_ASIDE:
        problem = report_warn(m->report, node->place, p->key,
                              "%s is for the command that submits, not for the job", p->key);
        report_hint(m->report, problem, "leave it out");
        break;
    }
}

static void unknown(struct making *m, const struct text_node *node)
{
    const char *names[ARRAY_LEN(params) + ARRAY_LEN(roles) * (ARRAY_LEN(role_keys) + 1)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        names[n++] = params[i].key;
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        names[n++] = roles[i].count;
        for (size_t k = 0; k < ARRAY_LEN(role_keys); k++)
            names[n++] = arena_printf(m->arena, "%s_%s", roles[i].prefix, role_keys[k].suffix);
    }
    struct problem *p;
    if (strcmp(node->key, "job_file") == 0) {
        p = report_error(m->report, node->key_place, node->key,
                         "job_file names a file within a file");
        report_hint(m->report, p, "its lines themselves");
        return;
    }
    p = report_error(m->report, node->key_place, node->key, "unknown key \"%.60s\"", node->key);
    const char *near = scan_nearest(node->key, names, n);
    report_hint(m->report, p, "%s%s", near ? near : "leave it out", near ? "?" : "");
    if (near && !text_get(m->root, near))
        p->fix = near;
}

/* ---- roles ---- */

static void put_count(struct making *m, struct text_node *spec, const struct param_role *role,
                      const struct text_node *node)
{
    bool yes = strcasecmp(node->str, "true") == 0;
    if (strcmp(role->count, "chief") == 0 && (yes || strcasecmp(node->str, "false") == 0))
        put_place(text_int(m->arena, spec, "PodCount", yes), node);
    else
        put_int(m, spec, "PodCount", node, 1);
}

/* What is said once and meant for every role. */
static void put_shared(struct making *m, struct text_node *spec)
{
    const struct text_node *user = text_get(m->root, "image_repo_username");
    const struct text_node *password = text_get(m->root, "image_repo_password");
    const struct text_node *nodes = text_get(m->root, "node_names");
    if (user)
        put_text(m, spec, "ImageConfig.Username", user);
    if (password)
        put_text(m, spec, "ImageConfig.Password", password);
    if (!nodes)
        return;
    put_text(m, spec, "AssignNodeSpec.NodeNames", nodes);
    put_place(text_bool(m->arena, text_get(spec, "AssignNodeSpec"), "EnableAssignNode", true),
              nodes);
}

static void name_role(struct making *m, const struct param_role *role, size_t at)
{
    struct arena *a = m->arena;
    call(m, arena_printf(a, "JobSpecs[%zu]", at), role->prefix);
    call(m, arena_printf(a, "JobSpecs[%zu].PodCount", at), role->count);
    call(m, arena_printf(a, "JobSpecs[%zu].ImageConfig", at), "image_repo_password");
    call(m, arena_printf(a, "JobSpecs[%zu].AssignNodeSpec", at), "node_names");
    call(m, arena_printf(a, "JobSpecs[%zu].ResourceConfig", at),
         arena_printf(a, "%s_cpu", role->prefix));
    for (size_t k = 0; k < ARRAY_LEN(role_keys); k++)
        call(m, arena_printf(a, "JobSpecs[%zu].%s", at, role_keys[k].path),
             arena_printf(a, "%s_%s", role->prefix, role_keys[k].suffix));
}

static void put_role(struct making *m, const struct param_role *role)
{
    struct text_node *list = text_get(m->out, "JobSpecs"), *spec = NULL;
    size_t what;
    for (const struct text_node *node = m->root->first; node; node = node->next) {
        if (role_key_find(node->key, &what) != role)
            continue;
        if (!spec) {
            if (!list)
                list = put_place(text_list(m->arena, m->out, "JobSpecs"), node);
            name_role(m, role, list->count);
            spec = put_place(text_map(m->arena, list, NULL), node);
            put_place(text_str(m->arena, spec, "Type", role->type), node);
            put_shared(m, spec);
        }
        if (what == 0)
            put_count(m, spec, role, node);
        else if (role_keys[what - 1].memory)
            put_memory(m, spec, role_keys[what - 1].path, node);
        else
            put_text(m, spec, role_keys[what - 1].path, node);
    }
    if (!spec || text_get(spec, "PodCount"))
        return;
    struct problem *p = report_error(m->report, spec->place, role->count,
                                     "%s is missing: how many of the role", role->count);
    report_hint(m->report, p, "%s=%s", role->count,
                strcmp(role->count, "chief") == 0 ? "true" : "1");
}

/* ---- the kind of job ---- */

static const char *kind_by_image(const struct text_node *root)
{
    static const struct {
        const char *word, *kind;
    } marks[] = { { "tensorflow", "TFJob" },
                  { "pytorch", "PyTorchJob" },
                  { "xgboost", "XGBoostJob" },
                  { "oneflow", "OneFlowJob" } };
    for (const struct text_node *node = root->first; node; node = node->next) {
        size_t len = strlen(node->key);
        for (size_t i = 0; len > 6 && i < ARRAY_LEN(marks); i++)
            if (strcmp(node->key + len - 6, "_image") == 0 && strstr(node->str, marks[i].word))
                return marks[i].kind;
    }
    return NULL;
}

static void put_kind(struct making *m)
{
    const char *kind = NULL, *why = "as most are";
    size_t what;
    if (text_get(m->out, "JobType"))
        return;
    for (const struct text_node *node = m->root->first; node && !kind; node = node->next) {
        const struct param_role *role = role_key_find(node->key, &what);
        kind = role ? role->kind : NULL;
        why = kind ? arena_printf(m->arena, "for it has %s", node->key) : why;
    }
    if (!kind && (kind = kind_by_image(m->root)))
        why = "by its image";
    kind = kind ? kind : "PyTorchJob";
    text_str(m->arena, m->out, "JobType", kind)->place = m->root->place;
    struct problem *p = report_warn(m->report, m->root->place, "kind",
                                    "the file does not say what kind of job it is: taken for a %s, "
                                    "%s",
                                    kind, why);
    report_hint(m->report, p, "kind=%s", kind);
}

struct text_node *dlc_params_tree(struct arena *arena, const struct text_node *root,
                                  struct report *report, struct dlc_names **names)
{
    struct making m = { .arena = arena, .root = root, .report = report };
    size_t what;
    m.names = *names = ARENA_NEW(arena, struct dlc_names);
    m.out = text_map(arena, NULL, NULL);
    m.out->place = root->place;
    for (const struct text_node *node = root->first; node; node = node->next) {
        const struct param *p = param_find(node->key);
        if (p)
            put_param(&m, p, node);
        else if (!role_key_find(node->key, &what) && report->errors < REPORT_MAX)
            unknown(&m, node);
    }
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        put_role(&m, &roles[i]);
    put_kind(&m);
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        if (params[i].path)
            call(&m, params[i].path, params[i].key);
    call(&m, "JobSpecs", "workers");
    call(&m, "EcsSpec", "..._spec");
    call(&m, "ResourceConfig", "..._cpu and the like");
    call(&m, "PodCount", "number");
    return m.out;
}

/* ---- the way back: paths of the body in the file's words ---- */

static bool path_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* The longest path that stands at text; its position, or n. */
static size_t name_at(const struct dlc_names *names, const char *text)
{
    size_t best = names->n, most = 0;
    for (size_t i = 0; i < names->n; i++) {
        size_t len = strlen(names->at[i].path);
        if (len > most && strncmp(names->at[i].path, text, len) == 0 && !path_char(text[len])) {
            best = i;
            most = len;
        }
    }
    return best;
}

static const char *rename_paths(const struct dlc_names *names, struct arena *arena,
                                const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_ROOM);
    char before = ' ';
    while (*text) {
        bool begins = *text >= 'A' && *text <= 'Z' && !path_char(before) && before != '.';
        size_t i = begins ? name_at(names, text) : names->n;
        if (i < names->n) {
            buf_puts(&out, names->at[i].key);
            text += strlen(names->at[i].path);
            before = ']';
            continue;
        }
        before = *text;
        buf_putc(&out, *text++);
    }
    return arena_strdup(arena, buf_str(&out));
}

void dlc_params_report(const struct dlc_names *names, const struct report *from,
                       struct report *into)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct problem *p = &from->at[i];
        report_add(into, p->severity, p->place, rename_paths(names, into->arena, p->path),
                   rename_paths(names, into->arena, p->what),
                   rename_paths(names, into->arena, p->hint))
            ->fix = p->fix;
    }
}
