/* A canonical job as a CreateJob body: the way back of read.c.
 *
 * Caveats: writes what CreateJob has words for; what it has none for is found by reading the body
 * again (dialect/losses.h); said here is what has other words and means the same. */
#include "dialect/dlc/write.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/dlc.h"
#include "dialect/dlc/extra.h"
#include "dialect/dlc/instance_types.h"
#include "dialect/dlc/types.h"
#include "dialect/losses.h"
#include "dialect/roles.h"
#include "dialect/sbatch/batch.h"

#include <string.h>

enum { COMMAND_MAX = 1 << 20, MINUTE_MS = 60000, TYPE_MAX_BYTES = 56 };

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    const struct text_node *ours; /* extra.dlc, or NULL */
    const struct dlc_type *type;
    struct text_node *out;
    struct report *report;
};

static void put(const struct writer *w, struct text_node *map, const char *key, const char *value)
{
    if (value && *value)
        text_str(w->arena, map, key, value);
}

static struct text_node *part(const struct writer *w, struct text_node *map, const char *key)
{
    struct text_node *have = text_get(map, key);
    return have ? have : text_map(w->arena, map, key);
}

/* ---- the kind of job ---- */

static bool same_word(const char *lower, const char *word)
{
    for (; *word; word++, lower++)
        if (*lower != (*word >= 'A' && *word <= 'Z' ? *word - 'A' + 'a' : *word))
            return false;
    return *lower == '\0';
}

/* "Worker" of worker; "Worker-gpu" of worker-gpu where a type has such. NULL: no such role. */
static const char *type_of_role(const struct writer *w, const struct dlc_type *type,
                                const char *name)
{
    for (const struct dlc_role_kind *k = type->roles; k->type; k++) {
        size_t n = strlen(k->type);
        if (same_word(name, k->type))
            return k->type;
        if ((k->flags & DLC_ROLE_PREFIX) && name[strcspn(name, "-")] == '-' &&
            strcspn(name, "-") == n && same_word(arena_strndup(w->arena, name, n), k->type))
            return arena_printf(w->arena, "%s%s", k->type, name + n);
    }
    return NULL;
}

static bool fits(const struct writer *w, const struct dlc_type *type)
{
    for (size_t i = 0; i < w->job->n_roles; i++)
        if (!type_of_role(w, type, w->job->roles[i].name))
            return false;
    return true;
}

/* A job of one role, whatever its name, can be the workers of such a type. */
static bool takes_lone(const struct writer *w, const struct dlc_type *type)
{
    const struct dlc_role_kind *worker = dlc_role_find(type, "Worker");
    bool waited = worker && !(worker->flags & DLC_ROLE_SERVES);
    return w->job->n_roles == 1 && (waited || type->flags & DLC_PROMOTES);
}

/* The one it was, that of its framework, the first whose roles it has; at last PyTorchJob for a
 * job of one role, and for one of several the type whose roles have any name. */
static const struct dlc_type *choose_type(const struct writer *w)
{
    const struct dlc_type *was = dlc_type_of(w->job), *any = NULL;
    const char *framework = w->job->framework;
    if (was && ((was->flags & DLC_ANY_ROLE) || fits(w, was)))
        return was;
    for (const struct dlc_type *t = dlc_type_list(); t->name; t++)
        if (framework && t->framework && strcmp(framework, t->framework) == 0 &&
            ((t->flags & DLC_ANY_ROLE) || fits(w, t) || takes_lone(w, t)))
            return t;
    const struct dlc_type *pytorch = dlc_type_find("PyTorchJob", false);
    if (fits(w, pytorch))
        return pytorch;
    for (const struct dlc_type *t = dlc_type_list(); t->name; t++) {
        if (t->framework && fits(w, t) && !(t->flags & DLC_ANY_ROLE))
            return t;
        any = t->flags & DLC_ANY_ROLE ? t : any;
    }
    return w->job->n_roles == 1 ? pytorch : any;
}

/* ---- the command ---- */

static void quote(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++)
        buf_puts(out, *text == '\'' ? "'\\''" : (char[]){ *text, '\0' });
    buf_putc(out, '\'');
}

/* Ray: without the lines that start the cluster. */
static const char *own_lines(const struct writer *w, const char *run)
{
    static const char last[] = "\nexport RAY_ADDRESS=\"$MASTER_ADDR:$MASTER_PORT\"\n";
    const char *start = strstr(run, "ray start --head "), *end = start ? strstr(start, last) : NULL;
    return end && strcmp(w->type->framework, "ray") == 0 ? end + sizeof last - 1 : run;
}

static bool same_words(const struct words *a, const struct words *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->at[i], b->at[i]) == 0;
    return same;
}

/* Roles that run the words of the first, which become a text. */
static void note_words(const struct writer *w, const struct words *argv)
{
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct role *role = &w->job->roles[i];
        const struct words own = role->python ? job_entry(w->arena, role) : role->argv;
        const char *words =
            arena_printf(w->arena, "roles.%s.%s", role->name, role->python ? "python" : "argv");
        const char *run = arena_printf(w->arena, "roles.%s.run", role->name);
        if (!own.n || !same_words(&own, argv))
            continue;
        report_note(w->report, words, "%s is written as shell text", words);
        report_note(w->report, run, "%s is that text", run);
    }
}

static void write_command(const struct writer *w)
{
    const struct role *first = &w->job->roles[0];
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    const char *script = batch_script(w->job);
    if (script && strncmp(script, DLC_SHEBANG, sizeof DLC_SHEBANG - 1) == 0)
        buf_puts(&out, script + sizeof DLC_SHEBANG - 1);
    else if (script)
        buf_puts(&out, script);
    else if (first->run)
        buf_puts(&out, own_lines(w, first->run));
    const struct words argv = first->python ? job_entry(w->arena, first) : first->argv;
    for (size_t i = 0; i < argv.n; i++) {
        buf_puts(&out, i ? " " : "");
        quote(&out, argv.at[i]);
    }
    if (argv.n)
        note_words(w, &argv);
    put(w, w->out, "UserCommand", buf_str(&out));
}

/* ---- roles ---- */

/* NULL: public resources, or what there is by default. */
static const char *quota_of(const struct job_spec *job)
{
    return job->queue && strcmp(job->queue, DLC_PUBLIC_QUEUE) != 0 ? job->queue : NULL;
}

static const struct entry *instance_of(const struct resources *r)
{
    size_t n;
    const struct entry *list = dlc_ecs_list(&n);
    for (size_t i = 0; i < n; i++)
        if (r->cpu_milli == list[i].cpu_milli && r->memory == list[i].memory &&
            r->gpu_milli == list[i].gpu_milli && r->shm == 0 && r->gpu_types.n == 0)
            return &list[i];
    return NULL;
}

/* DLC wants to know what a pod needs, gives whole devices, and counts shared memory as memory. */
static struct resources accepted(const struct resources *r)
{
    struct resources out = *r;
    bool silent = !r->cpu_milli && !r->memory && !r->gpu_milli && !r->shm;
    if (silent)
        out.cpu_milli = 1000;
    if (silent || (r->shm && !r->memory))
        out.memory = r->shm ? r->shm : 1ull << 30;
    out.gpu_milli = (r->gpu_milli + 999) / 1000 * 1000;
    out.shm = out.memory && r->shm > out.memory ? out.memory : r->shm;
    return out;
}

static void write_resources(const struct writer *w, struct text_node *spec,
                            const struct resources *wanted)
{
    char text[FMT_MAX];
    const struct resources have = accepted(wanted), *r = &have;
    const struct entry *ecs = quota_of(w->job) ? NULL : instance_of(r);
    if (ecs) {
        put(w, spec, "EcsSpec", ecs->name);
        return;
    }
    struct text_node *map = text_map(w->arena, spec, "ResourceConfig");
    if (r->cpu_milli)
        put(w, map, "CPU", fmt_milli(text, r->cpu_milli));
    if (r->gpu_milli)
        put(w, map, "GPU", fmt_milli(text, r->gpu_milli));
    if (r->memory)
        put(w, map, "Memory", fmt_size(text, r->memory));
    if (r->shm)
        put(w, map, "SharedMemory", fmt_size(text, r->shm));
    if (r->gpu_types.n == 1)
        put(w, map, "GPUType", r->gpu_types.at[0]);
}

static const char *restart_of(const struct retry *r)
{
    if (r->scope != RETRY_SCOPE_TASK || r->unknown.kind != COUNT_ALWAYS)
        return NULL;
    return r->success.kind == COUNT_ALWAYS ? "Always"
           : r->user.kind == COUNT_ALWAYS  ? "OnFailure"
                                           : "ExitCode";
}

static void write_spot(const struct writer *w, struct text_node *spec)
{
    char text[FMT_MAX];
    if (w->job->spot_bid_milli == 1000) {
        text_bool(w->arena, spec, "UseSpotInstance", true);
    } else if (w->job->spot_bid_milli) {
        struct text_node *map = text_map(w->arena, spec, "SpotSpec");
        put(w, map, "SpotStrategy", "SpotWithPriceLimit");
        put(w, map, "SpotDiscountLimit", fmt_milli(text, w->job->spot_bid_milli));
    }
}

static void write_after(const struct writer *w, struct text_node *spec, const struct role *role)
{
    if (role->after.n == 0 || strcmp(w->type->framework, "mpi") == 0)
        return;
    struct text_node *list = text_list(w->arena, spec, "StartupDependencies");
    for (size_t i = 0; i < role->after.n; i++) {
        const char *type = type_of_role(w, w->type, role->after.at[i]);
        put(w, text_map(w->arena, list, NULL), "Type", type ? type : role->after.at[i]);
    }
}

static const char *type_word(const struct writer *w, const struct role *role)
{
    const char *type = type_of_role(w, w->type, role->name);
    return type ? type : role->name;
}

/* The master that was the first worker goes back among them, when it still is as they are. */
static bool first_is_worker(const struct writer *w)
{
    const struct role *roles = w->job->roles;
    bool alone = w->job->n_roles == 1;
    if (!dlc_first_worker(w->job) || strcmp(roles[0].name, "master") != 0 ||
        roles[0].replicas != 1 || (!alone && strcmp(roles[1].name, "worker") != 0))
        return false;
    return alone || dlc_launcher_works(w->job) || dialect_same_tasks(&roles[0], &roles[1]);
}

static void write_role(const struct writer *w, struct text_node *list, const struct role *role,
                       const char *type, uint32_t pods)
{
    struct arena *a = w->arena;
    struct text_node *spec = text_map(a, list, NULL);
    put(w, spec, "Type", type);
    text_int(a, spec, "PodCount", pods);
    put(w, spec, "Image", role->image);
    write_resources(w, spec, &role->resources);
    put(w, spec, "RestartPolicy", restart_of(&w->job->retry));
    write_spot(w, spec);
    write_after(w, spec, role);
    if (role->min != role->replicas) {
        struct text_node *scaling = text_map(a, spec, "AutoScalingSpec");
        text_int(a, scaling, "MinReplicas", role->min);
        text_int(a, scaling, "MaxReplicas", role->replicas);
    }
    if (w->job->placing.nodes.n) {
        struct text_node *assign = text_map(a, spec, "AssignNodeSpec");
        text_bool(a, assign, "EnableAssignNode", true);
        put(w, assign, "NodeNames", words_joined(a, &w->job->placing.nodes, ","));
    }
}

/* A TFJob whose chief decides; a type that has no other words says nothing. */
static const char *success_of(const struct writer *w)
{
    if (strcmp(w->type->name, "TFJob") != 0)
        return NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct role *role = &w->job->roles[i];
        if (strcmp(role->name, "chief") == 0 || strcmp(role->name, "worker") == 0)
            return role->done.succeeded.kind == COUNT_NUMBER ? "ChiefWorker" : NULL;
    }
    return NULL;
}

/* One environment for all roles, of so many variables. */
static void write_envs(const struct writer *w)
{
    const struct pairs *first = &w->job->roles[0].env;
    struct text_node *envs = NULL;
    for (size_t i = 0; i < first->n; i++) {
        if (!dialect_everywhere(w->job, &first->at[i]) || (envs && envs->count == DLC_ENVS_MAX))
            continue;
        envs = envs ? envs : text_map(w->arena, w->out, "Envs");
        text_str(w->arena, envs, first->at[i].name, first->at[i].value);
    }
}

/* ---- inputs ---- */

static void write_source(const struct writer *w, const struct mount *m)
{
    static const char set[] = "dataset:";
    struct text_node *list = text_get(w->out, "DataSources");
    list = list ? list : text_list(w->arena, w->out, "DataSources");
    struct text_node *source = text_map(w->arena, list, NULL);
    if (strncmp(m->from, set, sizeof set - 1) == 0) {
        const char *id = m->from + sizeof set - 1, *colon = strchr(id, ':');
        put(w, source, "DataSourceId",
            colon ? arena_strndup(w->arena, id, (size_t)(colon - id)) : id);
        put(w, source, "DataSourceVersion", colon ? colon + 1 : NULL);
    } else {
        put(w, source, "Uri", m->from);
    }
    put(w, source, "MountPath", m->at);
    put(w, source, "MountAccess", m->read_only ? "RO" : "RW");
}

static void write_local(const struct writer *w, struct text_node *spec, const struct mount *m)
{
    struct text_node *list = text_get(spec, "LocalMountSpecs");
    list = list ? list : text_list(w->arena, spec, "LocalMountSpecs");
    struct text_node *mount = text_map(w->arena, list, NULL);
    put(w, mount, "LocalPath", m->from);
    put(w, mount, "MountPath", m->at);
    put(w, mount, "MountMode", m->read_only ? "RO" : "RW");
}

static void write_code(const struct writer *w, const struct code *code)
{
    static const char source[] = "codesource:";
    if (!code->git || strncmp(code->git, source, sizeof source - 1) != 0)
        return;
    struct text_node *map = text_map(w->arena, w->out, "CodeSource");
    put(w, map, "CodeSourceId", code->git + sizeof source - 1);
    put(w, map, "Commit", code->at);
    put(w, map, "MountPath", code->path);
}

static void write_inputs(const struct writer *w, struct text_node *specs)
{
    static const char file[] = "/requirements.txt";
    const struct inputs *in = &w->job->inputs;
    for (size_t i = 0; i < in->n_data; i++) {
        if (in->data[i].from[0] == '/')
            write_local(w, specs->first, &in->data[i]);
        else
            write_source(w, &in->data[i]);
    }
    write_code(w, &in->code);
    if (in->python.n) {
        struct text_node *list = text_list(w->arena, w->out, "ThirdpartyLibs");
        for (size_t i = 0; i < in->python.n; i++)
            text_str(w->arena, list, NULL, in->python.at[i]);
    }
    size_t n = in->requirements ? strlen(in->requirements) : 0;
    if (n > sizeof file - 1 && strcmp(in->requirements + n - sizeof file + 1, file) == 0)
        put(w, w->out, "ThirdpartyLibDir",
            arena_strndup(w->arena, in->requirements, n - sizeof file + 1));
}

/* ---- settings ---- */

static struct text_node *settings(const struct writer *w)
{
    return part(w, w->out, "Settings");
}

static void write_labels(const struct writer *w)
{
    static const char *const own[] = { "BusinessUserId", "Caller", "PipelineId" };
    for (size_t i = 0; i < w->job->labels.n; i++) {
        const struct pair *label = &w->job->labels.at[i];
        bool ours = false;
        for (size_t k = 0; k < ARRAY_LEN(own); k++)
            ours = ours || strcmp(label->name, own[k]) == 0;
        text_str(w->arena, ours ? settings(w) : part(w, settings(w), "Tags"), label->name,
                 label->value);
    }
}

/* Ports of the customPort settings; the others come with the type. */
static void write_ports(const struct writer *w)
{
    const struct role *role = &w->job->roles[0];
    AUTO_BUF struct buf list = BUF_INIT(COMMAND_MAX);
    uint32_t count = 0;
    if (strcmp(w->type->name, "PyTorchJob") != 0)
        return;
    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_request *p = &role->ports[i];
        if (strncmp(p->label, DLC_LABEL_CUSTOM, sizeof DLC_LABEL_CUSTOM - 1) != 0)
            continue;
        if (!p->first)
            count = p->count;
        else if (p->count == 1)
            buf_addf(&list, "%s%u", list.len ? ";" : "", p->first);
        else
            buf_addf(&list, "%s%u-%u", list.len ? ";" : "", p->first, p->first + p->count - 1);
    }
    if (list.len)
        put(w, part(w, settings(w), "AdvancedSettings"), "customPortList", buf_str(&list));
    else if (count)
        text_int(w->arena, part(w, settings(w), "AdvancedSettings"), "customPortNumPerWorker",
                 count);
}

static void write_monitor(const struct writer *w)
{
    const struct retry *r = &w->job->retry;
    bool same = r->unknown.kind == COUNT_NUMBER && r->platform.kind == COUNT_NUMBER &&
                r->unknown.n == r->platform.n;
    if (!r->platform_counted || !same || r->scope == RETRY_SCOPE_ROLE)
        return;
    text_bool(w->arena, settings(w), "EnableErrorMonitoringInAIMaster", true);
    put(w, settings(w), "ErrorMonitoringArgs",
        arena_printf(w->arena,
                     "--job-execution-mode=%s --enable-job-restart=True "
                     "--max-num-of-job-restart=%u%s",
                     r->scope == RETRY_SCOPE_TASK ? "Async" : "Sync", r->unknown.n,
                     r->user.kind == COUNT_NUMBER ? " --fault-tolerant-policy=OnFailure" : ""));
}

static void write_holding(const struct writer *w)
{
    static const char *const words[][2] = { { "failure", "OnFailure" },
                                            { "success", "OnSucceed" } };
    const struct limits *l = &w->job->limits;
    if (!l->hold_ms)
        return;
    text_int(w->arena, settings(w), "JobReservedMinutes",
             (int64_t)((l->hold_ms + MINUTE_MS - 1) / MINUTE_MS));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (l->hold_when && strcmp(l->hold_when, words[i][0]) == 0)
            put(w, settings(w), "JobReservedPolicy", words[i][1]);
}

static void write_settings(const struct writer *w)
{
    static const char *const oversold[CAPACITY_N] = {
        [CAPACITY_ANY] = "AcceptQuotaOverSold", [CAPACITY_IDLE] = "ForceQuotaOverSold"
    };
    const struct text_node *services = w->ours ? text_get(w->ours, "createSvcForAllWorkers") : NULL;
    struct job_spec plain = *job_new(w->arena);
    write_labels(w);
    if (services && services->boolean)
        put(w, part(w, settings(w), "AdvancedSettings"), "createSvcForAllWorkers", "true");
    write_ports(w);
    write_monitor(w);
    write_holding(w);
    if (w->job->limits.grace_ms != plain.limits.grace_ms)
        text_int(w->arena, settings(w), "TerminationGracePeriodSeconds",
                 (int64_t)((w->job->limits.grace_ms + 999) / 1000));
    if (w->job->placing.pin_cpus)
        text_bool(w->arena, settings(w), "EnableCPUAffinity", true);
    if (w->job->preemptible)
        text_bool(w->arena, settings(w), "EnablePreemptibleJob", true);
    if (oversold[w->job->capacity])
        put(w, settings(w), "OversoldType", oversold[w->job->capacity]);
}

/* Fields that read.c kept because they have no effect here: at their paths again. */
static void restore(const struct writer *w, struct text_node *into, const struct text_node *kept)
{
    for (const struct text_node *node = kept->first; node; node = node->next) {
        struct text_node *have = NULL;
        uint64_t at = 0;
        if (into->kind == TEXT_LIST && scan_u64(node->key, 0, JOB_MAX_ROLES, &at)) {
            have = into->first;
            while (have && at--)
                have = have->next;
        } else if (into->kind == TEXT_MAP) {
            have = text_get(into, node->key);
        }
        if (have && node->kind == TEXT_MAP)
            restore(w, have, node);
        else if (!have && into->kind == TEXT_MAP)
            text_copy(w->arena, into, node->key, node);
    }
}

static void write_kept(const struct writer *w)
{
    static const char *const known[] = { "JobType", "createSvcForAllWorkers", DLC_LAUNCHER_WORKS,
                                         DLC_FIRST_WORKER };
    struct text_node *kept = text_map(w->arena, NULL, NULL);
    for (const struct text_node *node = w->ours ? w->ours->first : NULL; node; node = node->next) {
        bool ours = false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            ours = ours || strcmp(node->key, known[i]) == 0;
        if (!ours)
            text_copy(w->arena, kept, node->key, node);
    }
    restore(w, w->out, kept);
}

/* ---- the roles of a kind of job ---- */

/* Has another role the name, or one of the first n that were named anew? */
static bool taken(const struct writer *w, const struct role *roles, size_t n, const char *name)
{
    for (size_t i = 0; i < w->job->n_roles; i++)
        if (strcmp(i < n ? roles[i].name : w->job->roles[i].name, name) == 0)
            return true;
    return false;
}

/* How the n-th role, of a name that DLC or the type refuses, is called there. */
static const char *allowed_name(const struct writer *w, const struct role *roles, size_t n,
                                const char *own)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    char *name = arena_strndup(w->arena, own, TYPE_MAX_BYTES);
    const char *found = name;
    if (!(w->type->flags & DLC_ANY_ROLE))
        return "worker";
    for (char *c = name; *c; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        *c = strchr(allowed, *c) && (c > name || *c != '-') ? *c : '_';
    }
    for (unsigned more = 2; strcmp(found, own) != 0 && taken(w, roles, n, found); more++)
        found = arena_printf(w->arena, "%s-%u", name, more);
    return found;
}

static struct job_spec *with_names(const struct writer *w, struct report *report)
{
    const struct job_spec *job = w->job;
    struct role *roles = ARENA_ARRAY(w->arena, job->n_roles + 1, struct role);
    struct role_name *names = ARENA_ARRAY(w->arena, job->n_roles + 1, struct role_name);
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *own = job->roles[i].name;
        const char *path = arena_printf(w->arena, "roles.%s", own);
        roles[i] = job->roles[i];
        if (!type_of_role(w, w->type, own))
            roles[i].name = allowed_name(w, roles, i, own);
        names[i] = (struct role_name){ own, roles[i].name };
        if (strcmp(own, roles[i].name) != 0)
            report_note(report, path, "%s is written as %s", path, roles[i].name);
    }
    return dialect_with_roles(w->arena, job, roles, job->n_roles,
                              &(struct role_names){ .at = names, .n = job->n_roles });
}

/* Types that make the first worker the master when there is none. */
static struct job_spec *with_master(const struct writer *w, struct job_spec *job,
                                    struct report *report)
{
    struct arena *a = w->arena;
    if (!(w->type->flags & DLC_PROMOTES) || job_role(job, "master", NULL) ||
        !job_role(job, "worker", NULL))
        return job;
    struct job_spec *out = dialect_split_role(a, job, "worker", "master");
    struct text_node *extra =
        job->extra ? text_copy(a, NULL, NULL, job->extra) : text_map(a, NULL, NULL);
    text_bool(a, part(w, extra, DLC_EXTRA), dlc_first_worker_mark(w->type), true);
    out->extra = extra;
    report_note(report, "roles.worker",
                "roles.worker: the first of them is the master, as a %s "
                "has it",
                w->type->name);
    return out;
}

struct job_spec *dlc_shape(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct writer w = { .arena = arena, .job = job };
    w.type = choose_type(&w);
    return with_master(&w, with_names(&w, report), report);
}

struct text_node *dlc_write(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct writer w = { .arena = arena,
                        .job = job,
                        .ours = job->extra ? text_get(job->extra, DLC_EXTRA) : NULL,
                        .out = text_map(arena, NULL, NULL),
                        .report = report };
    w.type = choose_type(&w);
    put(&w, w.out, "DisplayName", job->name);
    put(&w, w.out, "JobType", w.type->name);
    put(&w, w.out, "WorkspaceId", job->project);
    put(&w, w.out, "ResourceId", quota_of(job));
    put(&w, w.out, "Description", job->description);
    if (quota_of(job))
        text_int(arena, w.out, "Priority", job->priority);
    struct text_node *specs = text_list(arena, w.out, "JobSpecs");
    bool folded = first_is_worker(&w);
    if (folded) {
        const struct role *last = &job->roles[job->n_roles > 1];
        write_role(&w, specs, last, "Worker", last->replicas + (job->n_roles > 1));
    }
    for (size_t i = folded ? 2 : 0; i < job->n_roles; i++)
        write_role(&w, specs, &job->roles[i], type_word(&w, &job->roles[i]),
                   job->roles[i].replicas);
    write_command(&w);
    write_envs(&w);
    write_inputs(&w, specs);
    const struct opt_u64 *most = &job->limits.run_time_ms;
    int64_t minutes = most->has ? (int64_t)((most->value + MINUTE_MS - 1) / MINUTE_MS) : 0;
    if (minutes != DLC_RUN_MINUTES)
        text_int(arena, w.out, "JobMaxRunningTimeMinutes", minutes);
    write_settings(&w);
    put(&w, w.out, "SuccessPolicy", success_of(&w));
    write_kept(&w);
    return w.out;
}
