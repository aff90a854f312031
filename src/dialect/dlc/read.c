/* A CreateJob body becomes a canonical job.
 *
 * Inputs: the parsed tree (a body, or a parameter file, which is made into a body first). Effects:
 * problems in the report; the job in the arena.
 *
 * Caveats: what has no canonical field but is needed again (the kind of job for the environment,
 * what has no effect for the way back) is kept in job->extra.dlc. The choices, with their reasons,
 * are in doc/dialect-dlc.md. */
#include "dialect/dlc/read.h"

#include "base/scan.h"
#include "dialect/dlc/check.h"
#include "dialect/dlc/conditions.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/dlc.h"
#include "dialect/dlc/env.h"
#include "dialect/dlc/extra.h"
#include "dialect/dlc/instance_types.h"
#include "dialect/dlc/notices.h"
#include "dialect/dlc/params.h"
#include "dialect/dlc/problems.h"
#include "dialect/dlc/settings.h"
#include "dialect/dlc/types.h"
#include "dialect/sbatch/batch.h"
#include "job/check.h"

#include <string.h>

#define GIB           (1ull << 30)
#define KEEP_ENDED_MS 60000u /* a job to be deleted: so that who waits for its end sees it */

struct reader {
    struct arena *arena;
    const struct dlc_create *c;
    const struct dlc_advanced_settings *advanced;
    struct report *report;
    struct job_spec *job;
    struct text_node *extra, *ours; /* ours: extra.dlc */
    bool promoted;
};

static const struct count never = { .kind = COUNT_NEVER };

static struct words one_word(struct arena *a, const char *word)
{
    struct words words = { .at = ARENA_ARRAY(a, 1, const char *), .n = 1 };
    words.at[0] = word;
    return words;
}

static bool is_batch(const struct reader *r)
{
    return strcmp(r->c->type->framework, "slurm") == 0;
}

static struct words split_words(struct arena *a, const char *text)
{
    struct words words = { .at = ARENA_ARRAY(a, strlen(text) / 2 + 1, const char *) };
    while (*(text += strspn(text, ", "))) {
        size_t len = strcspn(text, ", ");
        words.at[words.n++] = arena_strndup(a, text, len);
        text += len;
    }
    return words;
}

static const char *lower(struct arena *a, const char *text)
{
    char *out = arena_strdup(a, text);
    for (char *c = out; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return out;
}

static bool given(const char *text)
{
    return text && *text;
}

/* ---- a role ---- */

static void read_resources(const struct reader *r, const struct dlc_spec *spec,
                           struct resources *out)
{
    const struct entry *ecs =
        given(spec->ecs_spec) ? dlc_ecs_find(r->c->catalogue, spec->ecs_spec) : NULL;
    const struct dlc_resource *q = &spec->resource;
    if (ecs) {
        out->cpu_milli = ecs->cpu_milli;
        out->memory = ecs->memory;
        out->gpu_milli = ecs->gpu_milli;
        return;
    }
    if (given(q->cpu))
        scan_milli(q->cpu, &out->cpu_milli);
    if (given(q->gpu))
        scan_milli(q->gpu, &out->gpu_milli);
    if (given(q->memory))
        dlc_memory(q->memory, &out->memory);
    if (given(q->shared_memory))
        dlc_memory(q->shared_memory, &out->shm);
    if (given(q->gpu_type) && out->gpu_milli > 0)
        out->gpu_types = one_word(r->arena, q->gpu_type);
}

static void read_env(const struct reader *r, struct pairs *out)
{
    const struct dlc_create *c = r->c;
    for (size_t i = 0; i < c->envs.n; i++)
        if (!dlc_env_reserved(c->type, c->envs.at[i].name))
            pairs_set(out, r->arena, c->envs.at[i].name, c->envs.at[i].value);
    for (size_t i = 0; i < c->n_custom_envs; i++)
        if (!dlc_env_reserved(c->type, c->custom_envs[i].key))
            pairs_set(out, r->arena, c->custom_envs[i].key,
                      c->custom_envs[i].value ? c->custom_envs[i].value : "");
}

static void add_port(struct role *role, const char *label, uint32_t number)
{
    role->ports[role->n_ports++] =
        (struct port_request){ .label = label, .count = 1, .first = number, .prefer = true };
}

static void read_ports(const struct reader *r, struct role *role, bool first)
{
    const struct dlc_type *type = r->c->type;
    role->ports = ARENA_ARRAY(r->arena, r->advanced->n_ports + 3, struct port_request);
    if (type->label && (first || (type->flags & DLC_EVERY_PORT)))
        add_port(role, type->label, type->port);
    if (type->web && first)
        add_port(role, type->web, type->web_port);
    for (size_t i = 0; i < r->advanced->n_ports; i++)
        role->ports[role->n_ports++] = r->advanced->ports[i];
}

static bool is_chief(const char *type)
{
    return strcmp(type, "Chief") == 0 || strcmp(type, "Master") == 0;
}

static bool has_chief(const struct dlc_create *c)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if (c->specs[i].pods > 0 && is_chief(c->specs[i].type))
            return true;
    return false;
}

/* Whose end the job's end waits for, and whose success is the job's. */
static void read_done(const struct reader *r, const struct dlc_spec *spec,
                      const struct dlc_role_kind *kind, bool master, struct done *done)
{
    const struct dlc_create *c = r->c;
    const struct count one = { .kind = COUNT_NUMBER, .n = 1 };
    bool tf = strcmp(c->type->name, "TFJob") == 0;
    if (c->success && strcmp(c->success, "Partial") == 0) {
        if (!spec->considered)
            done->succeeded = never;
    } else if (tf && c->success && strcmp(c->success, "ChiefWorker") == 0) {
        bool chief = has_chief(c) ? is_chief(spec->type) : strcmp(spec->type, "Worker") == 0;
        done->succeeded = chief ? one : never;
    } else if ((kind->flags & DLC_ROLE_DECIDES) ||
               (master && c->type->roles[0].flags & DLC_ROLE_DECIDES)) {
        done->succeeded = one;
    } else if (kind->flags & DLC_ROLE_SERVES) {
        done->succeeded = never;
    }
}

/* Pods of one machine share its ports and its /tmp, so each raylet has a folder of its own and
 * takes ports that are free: Ray's fixed ones would be another's, and two that start at the same
 * time in one folder take the same names for their sockets. Ray's daemons have the folder in their
 * arguments and write into it for as long as they live: it is removed when none is left. */
#define RAY_FOLDER                                                                                 \
    "ray=$(mktemp -d /tmp/ray-XXXXXXXX) || exit\n"                                                 \
    "trap 'left=1\n"                                                                               \
    "while [ \"$left\" ]; do\n"                                                                    \
    "  left=\n"                                                                                    \
    "  for p in /proc/[0-9]*; do\n"                                                                \
    "    if grep -qsF \"$ray\" \"$p/cmdline\" && kill -9 \"${p#/proc/}\"; then left=1; fi\n"       \
    "  done\n"                                                                                     \
    "done 2>/dev/null\n"                                                                           \
    "rm -rf \"$ray\"' EXIT\n"
#define RAY_OWN                                                                                    \
    "--temp-dir=\"$ray\" --min-worker-port=0 --max-worker-port=0 --dashboard-agent-listen-port=0"

/* MPI: the launcher alone runs the command, the others wait to be reached. Ray: the head starts the
 * cluster and runs the command in it, the others join. */
static const char *read_command(const struct reader *r, bool first)
{
    const char *framework = r->c->type->framework;
    if (strcmp(framework, "mpi") == 0)
        return first ? r->c->command : "exec sleep infinity";
    if (strcmp(framework, "ray") != 0)
        return r->c->command;
    if (first)
        return arena_printf(r->arena,
                            RAY_FOLDER "ray start --head --node-ip-address=\"$MASTER_ADDR\" "
                                       "--port=\"$MASTER_PORT\" --dashboard-host=0.0.0.0 "
                                       "--dashboard-port=\"$RAY_DASHBOARD_PORT\" " RAY_OWN
                                       " || exit\n"
                                       "export RAY_ADDRESS=\"$MASTER_ADDR:$MASTER_PORT\"\n%s",
                            r->c->command);
    return RAY_FOLDER "until ray start --address=\"$MASTER_ADDR:$MASTER_PORT\" " RAY_OWN
                      " --block; do sleep 1; done";
}

static void read_mpi(const struct reader *r, struct role *role, bool first)
{
    if (strcmp(r->c->type->framework, "mpi") == 0 && first)
        role->driver = true;
}

static void read_scaling(const struct reader *r, const struct dlc_spec *spec,
                         const struct dlc_role_kind *kind, size_t at, struct role *role)
{
    const struct dlc_scaling *s = &spec->scaling;
    const char *path = arena_printf(r->arena, "JobSpecs[%zu].AutoScalingSpec", at);
    if (s->max == 0 && s->min == 0)
        return;
    if (!(kind->flags & DLC_ROLE_MANY)) {
        report_hint(r->report,
                    dlc_warn(r->c, r->report, path,
                             "has no effect: a %s has a fixed number of pods", r->c->type->name),
                    "leave it out");
        return;
    }
    uint32_t max = s->max ? s->max : role->replicas, min = s->min ? s->min : 1;
    if (min > max) {
        report_hint(
            r->report,
            dlc_error(r->c, r->report, path, "has MinReplicas %u and MaxReplicas %u", min, max),
            "MinReplicas no larger than MaxReplicas");
        return;
    }
    role->min = min;
    role->replicas = max;
}

static void read_after(const struct reader *r, const struct dlc_spec *spec, struct role *role)
{
    role->after.at = ARENA_ARRAY(r->arena, spec->n_after + 1, const char *);
    for (size_t i = 0; i < spec->n_after; i++)
        role->after.at[role->after.n++] = lower(r->arena, spec->after[i].type);
}

/* Out of the text into the server's secrets: the job itself has none of it. */
static void read_login(struct reader *r, const struct dlc_spec *spec)
{
    const struct dlc_image_config *config = &spec->image_config;
    struct inputs *inputs = &r->job->inputs;
    if (!given(config->auth) && !given(config->password))
        return;
    if (!inputs->logins)
        inputs->logins = ARENA_ARRAY(r->arena, r->c->n_specs, struct registry_login);
    if (inputs->n_logins == r->c->n_specs)
        return; /* a role that was split in two */
    inputs->logins[inputs->n_logins++] = (struct registry_login){ .server = config->registry,
                                                                  .image = spec->image,
                                                                  .user = config->username,
                                                                  .password = config->password,
                                                                  .auth = config->auth };
}

static void read_role(struct reader *r, size_t at, const char *name, uint32_t pods)
{
    const struct dlc_spec *spec = &r->c->specs[at];
    const struct dlc_role_kind *kind = dlc_role_find(r->c->type, spec->type);
    struct role *role = &r->job->roles[r->job->n_roles++];
    bool first = r->job->n_roles == 1;
    role_init(role);
    role->name = name;
    role->place = spec->place;
    role->replicas = role->min = pods;
    role->run = read_command(r, first);
    role->image = given(spec->image) ? spec->image : NULL;
    read_login(r, spec);
    read_env(r, &role->env);
    read_resources(r, spec, &role->resources);
    read_ports(r, role, first);
    read_done(r, spec, kind, first && r->promoted, &role->done);
    if (is_batch(r))
        batch_role(role, first);
    read_mpi(r, role, first);
    read_scaling(r, spec, kind, at, role);
    read_after(r, spec, role);
}

/* ---- all roles, in the order of their kinds: the first task is the one others meet at ---- */

static size_t spec_of(const struct dlc_create *c, const char *type)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if (c->specs[i].pods > 0 && strcmp(c->specs[i].type, type) == 0)
            return i;
    return SIZE_MAX;
}

static void read_kind(struct reader *r, const struct dlc_role_kind *kind)
{
    const struct dlc_create *c = r->c;
    for (size_t i = 0; i < c->n_specs; i++) {
        const struct dlc_spec *spec = &c->specs[i];
        uint32_t pods = spec->pods;
        if (pods == 0 || dlc_role_find(c->type, spec->type) != kind)
            continue;
        if (r->promoted && strcmp(spec->type, "Worker") == 0)
            pods--;
        if (pods > 0)
            read_role(r, i, lower(r->arena, spec->type), pods);
    }
}

static void read_roles(struct reader *r)
{
    const struct dlc_role_kind *any;
    const struct dlc_create *c = r->c;
    size_t worker = spec_of(c, "Worker");
    r->job->roles = ARENA_ARRAY(r->arena, c->n_specs + 1, struct role);
    if ((c->type->flags & DLC_PROMOTES) && spec_of(c, "Master") == SIZE_MAX && worker != SIZE_MAX) {
        r->promoted = true;
        read_role(r, worker, "master", 1);
        text_bool(r->arena, r->ours, dlc_first_worker_mark(c->type), true);
    }
    for (const struct dlc_role_kind *k = c->type->roles; k->type; k++)
        read_kind(r, k);
    any = c->type->flags & DLC_ANY_ROLE ? dlc_role_find(c->type, "") : NULL;
    if (any)
        read_kind(r, any);
}

/* ---- the job ---- */

static void read_restart(const struct reader *r)
{
    const struct count always = { .kind = COUNT_ALWAYS };
    struct retry *retry = &r->job->retry;
    const char *policy = r->c->specs[0].restart;
    for (size_t i = 1; i < r->c->n_specs; i++) {
        const char *other = r->c->specs[i].restart;
        if ((policy && other) ? strcmp(policy, other) != 0 : policy != other) {
            report_hint(r->report,
                        dlc_error(r->c, r->report,
                                  arena_printf(r->arena, "JobSpecs[%zu].RestartPolicy", i),
                                  "differs from that of JobSpecs[0]: a job has one"),
                        "the same in every role");
            return;
        }
    }
    retry->scope =
        strcmp(r->c->type->framework, "elasticbatch") == 0 ? RETRY_SCOPE_TASK : RETRY_SCOPE_JOB;
    if (!policy || strcmp(policy, "Never") == 0)
        return;
    retry->scope = RETRY_SCOPE_TASK;
    retry->unknown = retry->platform = always;
    if (strcmp(policy, "ExitCode") != 0)
        retry->user = always;
    if (strcmp(policy, "Always") == 0)
        retry->success = always;
}

static void read_limits(const struct reader *r)
{
    static const struct {
        const char *policy, *word;
    } words[] = { { "Always", "always" }, { "OnFailure", "failure" }, { "OnSucceed", "success" } };
    const struct dlc_settings *s = &r->c->settings;
    struct limits *limits = &r->job->limits;
    uint64_t minutes = r->c->has_max_minutes ? r->c->max_minutes : DLC_RUN_MINUTES;
    if (minutes > 0)
        limits->run_time_ms = (struct opt_u64){ true, minutes * 60000 };
    if (s->has_grace)
        limits->grace_ms = (uint64_t)s->grace_s * 1000;
    limits->hold_ms = (uint64_t)s->reserved_minutes * 60000;
    for (size_t i = 0; s->reserved_policy && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].policy, s->reserved_policy) == 0)
            limits->hold_when = words[i].word;
    bool always = !s->reserved_policy || strcmp(s->reserved_policy, "Always") == 0;
    if (s->reserved_minutes == 0 || !always)
        return;
    limits->keep_ms = (struct opt_u64){ true, KEEP_ENDED_MS };
    report_hint(
        r->report,
        dlc_warn(r->c, r->report, "Settings.JobReservedMinutes",
                 "keeps resources for %u minutes after the end, and then the job is deleted, "
                 "as in DLC",
                 s->reserved_minutes),
        "JobReservedPolicy: OnFailure holds failed jobs only and deletes none");
}

static const char *source_from(const struct reader *r, const struct dlc_source *s)
{
    if (given(s->uri))
        return s->uri;
    return arena_printf(r->arena, "dataset:%s%s%s", s->id, given(s->version) ? ":" : "",
                        given(s->version) ? s->version : "");
}

static void read_sources(const struct reader *r)
{
    struct inputs *in = &r->job->inputs;
    const struct dlc_create *c = r->c;
    size_t most = c->n_sources;
    for (size_t i = 0; i < c->n_specs; i++)
        most += c->specs[i].n_mounts;
    in->data = ARENA_ARRAY(r->arena, most, struct mount);
    for (size_t i = 0; i < c->n_sources; i++) {
        const struct dlc_source *s = &c->sources[i];
        const char *path = arena_printf(r->arena, "DataSources[%zu]", i);
        const struct entry *set =
            given(s->id) ? catalogue_find(c->catalogue, ENTRY_DATASET, s->id) : NULL;
        const char *own =
            set && set->path ? set->path : arena_printf(r->arena, "/mnt/data/%s", s->id);
        const char *at = given(s->at) ? s->at : own;
        if (!given(s->at) && !(set && set->path))
            report_hint(r->report,
                        dlc_warn(c, r->report, path,
                                 "has no MountPath, and that of the data set is not known here: "
                                 "mounted at %s",
                                 at),
                        "MountPath: /mnt/data");
        in->data[in->n_data++] =
            (struct mount){ .from = source_from(r, s),
                            .at = at,
                            .read_only = (s->access && strcmp(s->access, "RO") == 0) ||
                                         (set && set->read_only),
                            .place = dlc_place(c, path) };
    }
}

/* A path of the node that several roles name is one mount of the job. */
static void read_local(const struct reader *r, const struct dlc_local_mount *m, const char *path)
{
    struct inputs *in = &r->job->inputs;
    for (size_t i = 0; i < in->n_data; i++) {
        if (strcmp(in->data[i].at, m->at) != 0)
            continue;
        if (strcmp(in->data[i].from, m->from) != 0)
            report_hint(
                r->report,
                dlc_error(r->c, r->report, path, "mounts at %s, where something else is", m->at),
                "another MountPath");
        return;
    }
    if (m->at[0] != '/') {
        report_hint(r->report,
                    dlc_error(r->c, r->report, path,
                              "has the MountPath \"%.80s\", not an absolute path", m->at),
                    "/mnt/local");
        return;
    }
    in->data[in->n_data++] = (struct mount){ .from = m->from,
                                             .at = m->at,
                                             .read_only = m->mode && strcmp(m->mode, "RO") == 0,
                                             .place = dlc_place(r->c, path) };
}

static void read_inputs(const struct reader *r)
{
    const struct dlc_create *c = r->c;
    struct inputs *in = &r->job->inputs;
    read_sources(r);
    for (size_t i = 0; i < c->n_specs; i++)
        for (size_t k = 0; k < c->specs[i].n_mounts; k++)
            read_local(r, &c->specs[i].mounts[k],
                       arena_printf(r->arena, "JobSpecs[%zu].LocalMountSpecs[%zu]", i, k));
    if (given(c->code.id)) {
        in->code.git = arena_printf(r->arena, "codesource:%s", c->code.id);
        in->code.at = given(c->code.commit)   ? c->code.commit
                      : given(c->code.branch) ? c->code.branch
                                              : NULL;
        in->code.path = given(c->code.at) ? c->code.at : NULL;
    }
    in->python = c->libs;
    if (given(c->lib_dir)) {
        size_t len = strlen(c->lib_dir);
        while (len > 1 && c->lib_dir[len - 1] == '/')
            len--;
        in->requirements = arena_printf(r->arena, "%.*s/requirements.txt", (int)len, c->lib_dir);
    }
}

static void label(const struct reader *r, const char *name, const char *value)
{
    if (given(value))
        pairs_set(&r->job->labels, r->arena, name, value);
}

static void read_capacity(const struct reader *r)
{
    const struct dlc_create *c = r->c;
    const struct dlc_spec *first = &c->specs[0];
    struct job_spec *job = r->job;
    if (c->settings.oversold && strcmp(c->settings.oversold, "AcceptQuotaOverSold") == 0)
        job->capacity = CAPACITY_ANY;
    else if (c->settings.oversold && strcmp(c->settings.oversold, "ForceQuotaOverSold") == 0)
        job->capacity = CAPACITY_IDLE;
    job->preemptible = c->settings.preemptible;
    for (size_t i = 0; i < c->n_specs; i++)
        if (c->specs[i].use_spot)
            job->spot_bid_milli = 1000; /* at any price */
    if (first->spot.has_discount)
        job->spot_bid_milli = first->spot.discount_milli;
    if (first->assign.enable && given(first->assign.names))
        job->placing.nodes = split_words(r->arena, first->assign.names);
    job->placing.pin_cpus = c->settings.affinity;
}

/* Slurm: the command is a script, which runs once; all pods are nodes of one component. */
static void read_batch(struct reader *r)
{
    struct job_spec *job = r->job;
    const char *command = r->c->command;
    struct text_node *parts, *config = batch_job(r->arena, job, r->extra, &parts);
    uint32_t pods = 0;
    for (size_t i = 0; i < job->n_roles; i++)
        pods += job->roles[i].replicas;
    text_int(r->arena, text_map(r->arena, parts, NULL), "tasks", pods);
    job->conventions.at = ARENA_ARRAY(r->arena, 2, const char *);
    job->conventions.at[0] = DLC_EXTRA;
    job->conventions.at[1] = BATCH_CONVENTION;
    job->conventions.n = 2;
    bool whole = strncmp(command, "#!", 2) == 0;
    const char *script = whole ? command : arena_printf(r->arena, "%s%s", DLC_SHEBANG, command);
    batch_set_script(r->arena, config, script);
    if (batch_has_options(r->arena, script))
        report_hint(r->report,
                    dlc_warn(r->c, r->report, "UserCommand",
                             "has #SBATCH lines, which have no effect: JobSpecs says what the "
                             "job gets"),
                    "the same by JobSpecs; or submit the script itself, it is a job too");
}

static void read_job(struct reader *r)
{
    const struct dlc_create *c = r->c;
    const struct dlc_settings *s = &c->settings;
    struct job_spec *job = r->job;
    job->name = c->name;
    job->project = given(c->workspace) ? c->workspace : NULL;
    job->queue = given(c->resource)               ? c->resource
                 : dlc_origin_of(c) == DLC_PUBLIC ? DLC_PUBLIC_QUEUE
                                                  : NULL; /* of spot jobs the whole cluster */
    job->description = given(c->description) ? c->description : NULL;
    job->priority = dlc_origin_of(c) & DLC_QUOTA ? c->priority : 1;
    job->framework = c->type->framework;
    job->conventions = one_word(r->arena, DLC_EXTRA);
    for (size_t i = 0; i < s->tags.n; i++)
        label(r, s->tags.at[i].name, s->tags.at[i].value);
    label(r, "BusinessUserId", s->business_user);
    label(r, "Caller", s->caller);
    label(r, "PipelineId", s->pipeline);
    text_str(r->arena, r->ours, "JobType", c->type->name);
    if (r->advanced->services)
        text_bool(r->arena, r->ours, "createSvcForAllWorkers", true);
    read_capacity(r);
    read_limits(r);
    read_inputs(r);
    read_roles(r);
    if (is_batch(r))
        read_batch(r);
    job_check(job, r->report);
}

static struct job_spec *read_body(struct arena *arena, const struct text_node *body,
                                  const struct site *site, struct report *report)
{
    struct dlc_create *c = ARENA_NEW(arena, struct dlc_create);
    struct dlc_advanced_settings advanced;
    struct reader r = { .arena = arena, .c = c, .advanced = &advanced, .report = report };
    r.extra = text_map(arena, NULL, NULL);
    field_init(dlc_create_fields, c);
    c->root = body;
    c->catalogue = site ? site->catalogue : NULL;
    field_decode(arena, body, dlc_create_fields, c, "", report);
    c->type = c->job_type ? dlc_type_find(c->job_type, false) : NULL;
    r.ours = text_map(arena, r.extra, DLC_EXTRA);
    dlc_placeholders(c, report);
    dlc_check(c, report);
    dlc_notices(c, r.ours, report);
    dlc_advanced_read(c, &advanced, report);
    r.job = job_new(arena);
    r.job->extra = r.extra;
    if (c->type && c->type->framework && c->n_specs > 0)
        read_restart(&r);
    dlc_monitor_read(c, &r.job->retry, report);
    if (!report_ok(report))
        return NULL;
    read_job(&r);
    return report_ok(report) ? r.job : NULL;
}

struct job_spec *dlc_read(struct arena *arena, const struct text_node *root,
                          const struct site *site, struct report *report)
{
    struct dlc_names *names = NULL;
    struct report inner;
    if (!root || root->kind != TEXT_MAP) {
        struct problem *p = report_error(report, root ? root->place : (struct place){ 0 }, "",
                                         "the document is %s, not a job",
                                         root ? text_kind_word(root->kind) : "empty");
        report_hint(report, p, "{\"DisplayName\": ..., \"JobType\": ..., \"JobSpecs\": [...]}");
        return NULL;
    }
    if (!dlc_is_params(root) || text_get(root, "JobSpecs"))
        return read_body(arena, root, site, report);
    report_init(&inner, arena);
    const struct text_node *body = dlc_params_tree(arena, root, report, &names);
    struct job_spec *job = read_body(arena, body, site, &inner);
    dlc_params_report(names, &inner, report);
    return report_ok(report) ? job : NULL;
}

struct text_node *dlc_body(struct arena *arena, struct text_node *root, struct report *report)
{
    struct dlc_names *names;
    if (!root || !dlc_is_params(root) || text_get(root, "JobSpecs"))
        return root;
    return dlc_params_tree(arena, root, report, &names);
}
