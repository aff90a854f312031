/* A job of protocol version 2 becomes a canonical job.
 *
 * Inputs: the parsed tree. Effects: problems in the report; the job in the arena.
 *
 * Caveats: what has no canonical field but is needed for going back (parameters, prerequisites that
 * are no images, other extras) is kept in job->extra. Commands hold no value of a secret: those are
 * variables of the role (v2_template.c). The choices, with their reasons, are in
 * doc/dialect-openpai.md. */
#include "dialect/openpai/v2.h"

#include "dialect/openpai/v1.h"
#include "job/check.h"

#define MB (1024u * 1024u)

int v2_detect(const struct text_node *root)
{
    if (!root || root->kind != TEXT_MAP)
        return 0;
    if (text_get(root, "protocolVersion"))
        return text_get(root, "taskRoles") ? 100 : 90;
    bool parts = text_get(root, "prerequisites") || text_get(root, "deployments");
    return parts && text_get(root, "taskRoles") ? 80 : 0;
}

/* ---- completion ---- */

/* Written as null: field tables take that for left out. */
static bool is_null(const struct v2_reader *r, const struct v2_role *role, const char *key)
{
    struct document_place roles = document_place_in(r->arena, r->root, "taskRoles");
    struct document_place done =
        document_place_in(r->arena, document_place_in(r->arena, roles, role->name), "completion");
    const struct text_node *node = done.node ? text_get(done.node, key) : NULL;
    return node && node->kind == TEXT_NULL;
}

static struct document_place done_spot(const struct v2_reader *r, const struct v2_role *role,
                                       const char *key)
{
    struct document_place roles = document_place_in(r->arena, r->root, "taskRoles");
    struct document_place done =
        document_place_in(r->arena, document_place_in(r->arena, roles, role->name), "completion");
    return document_place_in(r->arena, done, key);
}

/* There a count that no number of tasks reaches never spoke. */
static bool beyond(const struct v2_reader *r, const struct v2_role *role,
                   const struct v2_count *count, const char *key, const char *off)
{
    if (count->n >= -1 && count->n <= (int64_t)role->instances)
        return false;
    struct problem *p = document_place_warn(
        r->report, done_spot(r, role, key), "is %lld, and the role has %u task%s",
        (long long)count->n, role->instances, role->instances == 1 ? "" : "s");
    report_hint(r->report, p, "1 to %u; it is taken for -1: %s", role->instances, off);
    return true;
}

static struct count number(int64_t n)
{
    return (struct count){ .kind = COUNT_NUMBER, .n = (uint32_t)n };
}

static void read_done(const struct v2_reader *r, const struct v2_role *role, struct done *done)
{
    static const char failed[] = "minFailedInstances", succeeded[] = "minSucceededInstances";
    const struct v2_count *f = &role->min_failed, *s = &role->min_succeeded;
    done->failed = number(1);
    done->succeeded = number(role->instances);
    if (is_null(r, role, failed))
        report_hint(r->report,
                    document_place_warn(r->report, done_spot(r, role, failed),
                                        "is null, which the servers "
                                        "read as 1"),
                    "-1: failed tasks never fail the job");
    if (beyond(r, role, f, failed, "failed tasks never fail the job") || f->n == -1)
        done->failed = (struct count){ .kind = COUNT_NEVER };
    else if (f->n > 0)
        done->failed = number(f->n);
    if (is_null(r, role, succeeded) ||
        beyond(r, role, s, succeeded, "all tasks of the job end first") || s->n == -1)
        done->succeeded = (struct count){ .kind = COUNT_ALWAYS };
    else if (s->n > 0)
        done->succeeded = number(s->n);
}

/* ---- roles ---- */

static void add_port(struct role *role, const char *label)
{
    for (size_t i = 0; i < role->n_ports; i++)
        if (strcmp(role->ports[i].label, label) == 0)
            return;
    role->ports[role->n_ports++] = (struct port_request){ .label = label, .count = 1 };
}

static void read_ports(struct v2_reader *r, const struct v2_role *v2, struct role *role)
{
    role->ports = ARENA_ARRAY(r->arena, v2->n_ports + 2, struct port_request);
    if (v2->n_ports)
        memcpy(role->ports, v2->ports, v2->n_ports * sizeof *role->ports);
    role->n_ports = v2->n_ports;
    add_port(role, V1_LABEL_SSH);
    add_port(role, V1_LABEL_HTTP);
}

static const char *sku_type(struct v2_reader *r, const struct v2_role *v2)
{
    const struct v2_extras *extras = &r->doc->extras;
    for (size_t i = 0; i < extras->n_hived; i++)
        if (strcmp(extras->hived[i].name, v2->name) == 0 && extras->hived[i].sku_type)
            return extras->hived[i].sku_type;
    return NULL;
}

static void read_resources(struct v2_reader *r, const struct v2_role *v2, struct resources *out)
{
    out->cpu_milli = (uint64_t)v2->cpu * 1000;
    out->memory = (uint64_t)v2->memory_mb * MB;
    out->shm = (uint64_t)(v2->has_shm ? v2->shm_mb : V2_SHM_MB) * MB;
    out->gpu_milli = (uint64_t)v2->gpu * 1000;
    const char *type = sku_type(r, v2);
    if (!type || !*type)
        return;
    if (v2->gpu) {
        out->gpu_types.at = ARENA_ARRAY(r->arena, 1, const char *);
        out->gpu_types.at[out->gpu_types.n++] = type;
        return;
    }
    struct document_place extras = document_place_in(r->arena, r->root, "extras");
    struct document_place hived = document_place_in(
        r->arena, document_place_in(r->arena, extras, "hivedScheduler"), "taskRoles");
    struct document_place at =
        document_place_in(r->arena, document_place_in(r->arena, hived, v2->name), "skuType");
    report_hint(r->report,
                document_place_warn(r->report, at, "is \"%.40s\", and has no effect", type),
                "it is the type of a GPU here, and the role asks for none");
}

static void read_role(struct v2_reader *r, const struct v2_role *v2, struct role *role,
                      struct text_node *secrets)
{
    struct document_place image;
    role_init(role);
    role->name = v2->name;
    role->place = v2->place;
    role->replicas = role->min = v2->instances;
    if (v2->image && v2_prerequisite(r, "dockerimage", v2->image, &image)) {
        const struct text_node *uri = text_get(image.node, "uri");
        role->image = uri && uri->kind == TEXT_STR ? uri->str : NULL;
    }
    role->run = v2_command(r, v2, role, secrets);
    read_resources(r, v2, &role->resources);
    read_ports(r, v2, role);
    read_done(r, v2, &role->done);
}

/* ---- retry and gangs ---- */

void v2_retry(int64_t n, bool of_tasks, struct retry *retry)
{
    v1_retry(n, retry);
    retry->scope = of_tasks ? RETRY_SCOPE_TASK : RETRY_SCOPE_JOB;
}

static int64_t task_retries(struct v2_reader *r)
{
    int64_t most = 0;
    bool differ = false;
    for (size_t i = 0; i < r->doc->n_roles; i++) {
        int64_t n = r->doc->roles[i].retry.n;
        differ |= i > 0 && n != r->doc->roles[0].retry.n;
        if (n < 0 ? most >= 0 || n < most : most >= 0 && n > most)
            most = n;
    }
    struct document_place roles = document_place_in(r->arena, r->root, "taskRoles");
    if (differ)
        report_hint(r->report,
                    document_place_warn(r->report, roles, "have different taskRetryCounts"),
                    "%lld holds for the tasks of all roles", (long long)most);
    return most;
}

static void warn_retry(struct v2_reader *r, struct document_place at, const char *hint)
{
    report_hint(r->report, document_place_warn(r->report, at, "has no effect"), "%s", hint);
}

static void read_retry(struct v2_reader *r)
{
    const struct v2_job *doc = r->doc;
    struct document_place roles = document_place_in(r->arena, r->root, "taskRoles");
    if (!doc->extras.gang) {
        if (doc->retry)
            warn_retry(r, document_place_in(r->arena, r->root, "jobRetryCount"),
                       "with gangAllocation: false tasks are retried, by taskRetryCount");
        v2_retry(task_retries(r), true, &r->job->retry);
        return;
    }
    v2_retry(doc->retry, false, &r->job->retry);
    for (size_t i = 0; i < doc->n_roles; i++)
        if (doc->roles[i].retry.n != 0)
            warn_retry(r,
                       document_place_in(r->arena,
                                         document_place_in(r->arena, roles, doc->roles[i].name),
                                         "taskRetryCount"),
                       "as there: jobRetryCount retries the job; extras.gangAllocation: false "
                       "retries tasks");
}

/* Tasks come as room appears: a gang of any one. */
static void read_gang(struct v2_reader *r)
{
    struct job_spec *job = r->job;
    if (r->doc->extras.gang)
        return;
    job->gangs = ARENA_ARRAY(r->arena, 1, struct gang);
    job->n_gangs = 1;
    struct gang *gang = &job->gangs[0];
    gang->min = 1;
    gang->roles.at = ARENA_ARRAY(r->arena, job->n_roles, const char *);
    for (size_t i = 0; i < job->n_roles; i++)
        gang->roles.at[gang->roles.n++] = job->roles[i].name;
}

/* ---- extras ---- */

enum { STORAGES_MAX = 256 };

static bool mounts(const struct inputs *inputs, const char *from)
{
    for (size_t i = 0; i < inputs->n_data; i++)
        if (strcmp(inputs->data[i].from, from) == 0)
            return true;
    return false;
}

/* The plugin of before `storages`: names of storages, each at /mnt/NAME. All tasks see them. */
static void read_teamwise(struct v2_reader *r, struct document_place names)
{
    struct inputs *inputs = &r->job->inputs;
    bool is_list = names.node && names.node->kind == TEXT_LIST;
    if (!names.node || (is_list && names.node->count == 0)) {
        report_hint(r->report, document_place_warn(r->report, names, "names no storage"),
                    "there it meant the user's default storages, here there are none");
        return;
    }
    if (!is_list || names.node->count > STORAGES_MAX) {
        report_hint(
            r->report,
            document_place_fail(r->report, names, "is no list of at most %d names", STORAGES_MAX),
            "storageConfigNames: [nfs]");
        return;
    }
    struct mount *more = ARENA_ARRAY(r->arena, inputs->n_data + names.node->count, struct mount);
    if (inputs->n_data)
        memcpy(more, inputs->data, inputs->n_data * sizeof *more);
    inputs->data = more;
    size_t i = 0;
    for (const struct text_node *one = names.node->first; one; one = one->next, i++) {
        struct document_place spot = document_place_item(r->arena, names, i);
        bool named = one->kind == TEXT_STR && *one->str && !strchr(one->str, '/');
        const char *from = named ? arena_printf(r->arena, V2_STORAGE "%s", one->str) : NULL;
        if (!named)
            report_hint(r->report, document_place_fail(r->report, spot, "is no name of a storage"),
                        "nfs");
        else if (!mounts(inputs, from))
            inputs->data[inputs->n_data++] = (struct mount){
                .from = from, .at = arena_printf(r->arena, "/mnt/%s", one->str), .place = one->place
            };
    }
}

static void read_teamwise_plugins(struct v2_reader *r)
{
    const struct v2_extras *extras = &r->doc->extras;
    struct document_place plugins =
        document_place_in(r->arena, document_place_in(r->arena, r->root, "extras"), V2_PLUGINS);
    for (size_t i = 0; i < extras->n_plugins; i++) {
        const char *name = extras->plugins[i].plugin;
        struct document_place parameters =
            document_place_in(r->arena, document_place_item(r->arena, plugins, i), "parameters");
        if (name && strcmp(v2_plugin_name(name), "teamwise_storage") == 0)
            read_teamwise(r, document_place_in(r->arena, parameters, "storageConfigNames"));
    }
}

static void read_storages(struct v2_reader *r)
{
    const struct v2_extras *extras = &r->doc->extras;
    struct inputs *inputs = &r->job->inputs;
    inputs->data = ARENA_ARRAY(r->arena, extras->n_storages, struct mount);
    for (size_t i = 0; i < extras->n_storages; i++) {
        const struct v2_storage *s = &extras->storages[i];
        inputs->data[inputs->n_data++] = (struct mount){
            .from = arena_printf(r->arena, V2_STORAGE "%s", s->name),
            .at = s->at ? s->at : arena_printf(r->arena, "/mnt/%s", s->name),
            .place = s->place,
        };
    }
    read_teamwise_plugins(r);
}

static void read_notify(struct v2_reader *r)
{
    const struct v2_extras *extras = &r->doc->extras;
    const struct {
        const char *word;
        bool on;
    } events[] = { { "running", extras->running },
                   { "succeeded", extras->succeeded },
                   { "stopped", extras->stopped },
                   { "failed", extras->failed },
                   { "retried", extras->retried } };
    enum { EVENTS_N = sizeof events / sizeof events[0] };
    struct words *notify = &r->job->notify;
    notify->at = ARENA_ARRAY(r->arena, EVENTS_N, const char *);
    for (size_t i = 0; i < EVENTS_N; i++)
        if (events[i].on)
            notify->at[notify->n++] = events[i].word;
}

/* ---- what is kept ---- */

/* Those that became part of commands are not kept: they would run twice on the way back. */
static bool merged_plugin(const struct text_node *plugin)
{
    const struct text_node *name = text_get(plugin, "plugin");
    const char *dot = name && name->kind == TEXT_STR ? strrchr(name->str, '.') : NULL;
    return name && name->kind == TEXT_STR && strcmp(dot ? dot + 1 : name->str, "cmd") == 0;
}

static void keep_plugins(struct arena *arena, struct text_node *into, const struct text_node *list)
{
    struct text_node *kept = NULL;
    for (const struct text_node *plugin = list->first; plugin; plugin = plugin->next) {
        if (merged_plugin(plugin))
            continue;
        kept = kept ? kept : text_list(arena, into, list->key);
        text_copy(arena, kept, NULL, plugin);
    }
}

static void keep_extras(struct v2_reader *r, struct text_node *ours)
{
    static const char *const canonical[] = { "gangAllocation", "storages",
                                             "jobStatusChangeNotification" };
    const struct text_node *extras = text_get(r->root.node, "extras");
    struct text_node *kept = text_map(r->arena, NULL, NULL);
    for (const struct text_node *node = extras ? extras->first : NULL; node; node = node->next) {
        bool said = false;
        for (size_t i = 0; i < sizeof canonical / sizeof canonical[0]; i++)
            said |= strcmp(node->key, canonical[i]) == 0;
        if (node->kind == TEXT_LIST && strcmp(node->key, "com.microsoft.pai.runtimeplugin") == 0)
            keep_plugins(r->arena, kept, node);
        else if (!said)
            text_copy(r->arena, kept, node->key, node);
    }
    if (kept->count)
        text_copy(r->arena, ours, "extras", kept);
}

static void keep_prerequisites(struct v2_reader *r, struct text_node *ours)
{
    const struct text_node *list = text_get(r->root.node, "prerequisites");
    struct text_node *kept = NULL;
    for (const struct text_node *node = list ? list->first : NULL; node; node = node->next) {
        const struct text_node *type = text_get(node, "type");
        if (!type || type->kind != TEXT_STR || strcmp(type->str, "dockerimage") == 0)
            continue;
        kept = kept ? kept : text_list(r->arena, ours, "prerequisites");
        text_copy(r->arena, kept, NULL, node);
    }
}

static void keep_default_shm(struct v2_reader *r, struct text_node *ours)
{
    struct text_node *names = NULL;
    for (size_t i = 0; i < r->doc->n_roles; i++) {
        if (r->doc->roles[i].has_shm)
            continue;
        names = names ? names : text_list(r->arena, ours, "default_shm");
        text_str(r->arena, names, NULL, r->doc->roles[i].name);
    }
}

static void read_extra(struct v2_reader *r, const struct text_node *secrets)
{
    static const char *const whole[] = { "version", "contributor", "parameters" };
    struct text_node *root = text_map(r->arena, NULL, NULL);
    struct text_node *ours = text_map(r->arena, root, V2_EXTRA);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        const struct text_node *node = text_get(r->root.node, whole[i]);
        if (node && node->kind != TEXT_NULL)
            text_copy(r->arena, ours, whole[i], node);
    }
    keep_prerequisites(r, ours);
    keep_extras(r, ours);
    keep_default_shm(r, ours);
    if (secrets->count)
        text_copy(r->arena, ours, "secrets", secrets);
    if (ours->count)
        r->job->extra = root;
}

/* ---- the whole ---- */

static void read_job(struct v2_reader *r)
{
    const struct v2_job *doc = r->doc;
    struct job_spec *job = r->job;
    struct text_node *secrets = text_map(r->arena, NULL, NULL);
    job->name = doc->name;
    job->description = doc->description && *doc->description ? doc->description : NULL;
    if (doc->queue && *doc->queue)
        job->queue = doc->queue;
    if (doc->extras.priority)
        job->priority = doc->extras.priority;
    job->conventions.at = ARENA_ARRAY(r->arena, 1, const char *);
    job->conventions.at[job->conventions.n++] = V2_CONVENTION;
    job->n_roles = doc->n_roles;
    job->roles = ARENA_ARRAY(r->arena, job->n_roles, struct role);
    for (size_t i = 0; i < job->n_roles; i++)
        read_role(r, &doc->roles[i], &job->roles[i], secrets);
    read_retry(r);
    read_gang(r);
    read_storages(r);
    read_notify(r);
    read_extra(r, secrets);
}

static void empty_roles(struct v2_reader *r)
{
    struct document_place roles = document_place_in(r->arena, r->root, "taskRoles");
    if (roles.node && roles.node->kind == TEXT_MAP && roles.node->count == 0)
        report_hint(r->report, document_place_fail(r->report, roles, "is empty"), "worker: {...}");
}

struct job_spec *v2_read(struct arena *arena, const struct text_node *root, const struct site *site,
                         struct report *report)
{
    struct v2_job doc;
    (void)site;
    if (!root || root->kind != TEXT_MAP) {
        struct problem *p = report_error(report, root ? root->place : (struct place){ 0 }, "",
                                         "the document is %s, not a map",
                                         root ? text_kind_word(root->kind) : "empty");
        report_hint(report, p, "protocolVersion: 2");
        return NULL;
    }
    struct v2_reader r = { .arena = arena,
                           .report = report,
                           .doc = &doc,
                           .root = document_place_root(root),
                           .job = job_new(arena) };
    field_init(v2_job_fields, &doc);
    bool decoded = field_decode(arena, root, v2_job_fields, &doc, "", report) == 0;
    v2_check(&r);
    v2_plugins(&r);
    empty_roles(&r);
    if (!decoded)
        return NULL;
    read_job(&r);
    if (report_ok(report))
        job_check(r.job, report);
    return report_ok(report) ? r.job : NULL;
}
