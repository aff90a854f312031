/* A canonical job as an ElasticJob: the way back of read.c.
 *
 * Caveats: writes what the format has words for; what it has none for is found by reading the
 * document again (dialect/losses.h); said here is what has other words and means the same. */
#include "dialect/elasticjob/write.h"

#include "base/buf.h"
#include "base/scan.h"
#include "dialect/elasticjob/env.h"
#include "dialect/elasticjob/extra.h"
#include "dialect/elasticjob/names.h"
#include "dialect/elasticjob/pod.h"
#include "dialect/elasticjob/pods.h"
#include "text/json.h"

enum { LEVEL_HIGH = 7, LEVEL_LOW = 3, TEXT_MAX = 1 << 20, KUBE_NAME_MAX = 63 };

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    bool servers; /* parameter servers */
    struct text_node *out;
    struct report *report;
};

static struct text_node *part(const struct writer *w, struct text_node *map, const char *key)
{
    struct text_node *have = text_get(map, key);
    return have ? have : text_map(w->arena, map, key);
}

static struct text_node *items(const struct writer *w, struct text_node *map, const char *key)
{
    struct text_node *have = text_get(map, key);
    return have ? have : text_list(w->arena, map, key);
}

/* ---- which role is which type ---- */

static const struct role *role_named(const struct job_spec *job, const char *name)
{
    uint32_t position;
    return job_role(job, name, &position);
}

/* The chief that was the first worker (shape.c, read.c) goes back among them. */
static const struct role *role_of(const struct writer *w, enum ej_type type, uint32_t *tasks)
{
    const struct role *chief = role_named(w->job, ej_type_word(EJ_CHIEF));
    const struct role *role = role_named(w->job, ej_type_word(type));
    bool folded = chief && ej_extra_flag(w->job, "chiefIsWorker");
    if (folded && type == EJ_CHIEF)
        return NULL;
    *tasks = role ? role->replicas : 0;
    if (folded && type == EJ_WORKER) {
        *tasks += chief->replicas;
        role = role ? role : chief;
    }
    return role;
}

/* ---- the container ---- */

/* Kubernetes replaces $(NAME) of a variable that the container has, and $$. */
static bool replaced(const struct writer *w, const char *text, const struct role *role)
{
    size_t len;
    for (const char *at = text; (at = ej_reference(at, &len)); at += len) {
        const char *name = arena_strndup(w->arena, at + 2, len - 3);
        if (ej_own_variable(name) || pairs_get(&role->env, name))
            return true;
    }
    return strstr(text, "$$") != NULL;
}

/* $$ stands for one $. */
static const char *escaped(const struct writer *w, const char *text, const struct role *role)
{
    AUTO_BUF struct buf out = BUF_INIT(2 * TEXT_MAX);
    if (!replaced(w, text, role))
        return text;
    const char *path =
        arena_printf(w->arena, "roles.%s.%s", role->name, role->run ? "run" : "argv");
    report_note(w->report, path, "%s has its $ doubled, Kubernetes makes one of two", path);
    for (; *text; text++)
        buf_puts(&out, *text == '$' ? "$$" : (char[]){ *text, '\0' });
    return arena_strdup(w->arena, buf_str(&out));
}

static void write_command(const struct writer *w, struct text_node *container,
                          const struct role *role)
{
    struct text_node *list = text_list(w->arena, container, "command");
    const struct words argv = role->python ? job_entry(w->arena, role) : role->argv;
    for (size_t i = 0; i < argv.n; i++)
        text_str(w->arena, list, NULL, escaped(w, argv.at[i], role));
    if (role->run) {
        text_str(w->arena, list, NULL, "bash");
        text_str(w->arena, list, NULL, "-c");
        text_str(w->arena, list, NULL, escaped(w, role->run, role));
    }
}

static void write_env(const struct writer *w, struct text_node *container, const struct role *role)
{
    for (size_t i = 0; i < role->env.n; i++) {
        struct text_node *one = text_map(w->arena, items(w, container, "env"), NULL);
        text_str(w->arena, one, "name", role->env.at[i].name);
        text_str(w->arena, one, "value", role->env.at[i].value);
    }
}

static void write_ref(const struct writer *w, struct text_node *parent, const char *key,
                      const struct job_secret *secret)
{
    size_t front = strcspn(secret->name, "/");
    struct text_node *ref = text_map(w->arena, parent, key);
    text_str(w->arena, ref, "name", arena_strndup(w->arena, secret->name, front));
    if (strcmp(secret->name + front, SECRET_ALL) != 0)
        text_str(w->arena, ref, "key", secret->name + front + 1);
    if (secret->optional)
        text_bool(w->arena, ref, "optional", true);
}

/* Those that are variables of a Secret's keys. */
static void write_secrets(const struct writer *w, struct text_node *container,
                          const struct role *role)
{
    size_t len;
    for (size_t i = 0; i < role->secrets.n; i++) {
        const struct job_secret *secret = &role->secrets.at[i];
        if (!secret->env || secret->file || !strchr(secret->name, '/'))
            continue;
        bool all = secret_is_set(secret->name, &len);
        struct text_node *one =
            text_map(w->arena, items(w, container, all ? "envFrom" : "env"), NULL);
        text_str(w->arena, one, all ? "prefix" : "name", secret->env);
        if (all)
            write_ref(w, one, "secretRef", secret);
        else
            write_ref(w, text_map(w->arena, one, "valueFrom"), "secretKeyRef", secret);
    }
}

static void write_resources(const struct writer *w, struct text_node *container,
                            const struct resources *r)
{
    char text[FMT_MAX];
    struct text_node *all = text_map(w->arena, NULL, NULL);
    if (r->cpu_milli)
        text_str(w->arena, part(w, all, "requests"), "cpu", fmt_milli(text, r->cpu_milli));
    if (r->memory)
        text_str(w->arena, part(w, all, "requests"), "memory", fmt_size(text, r->memory));
    if (r->disk)
        text_str(w->arena, part(w, all, "requests"), "ephemeral-storage", fmt_size(text, r->disk));
    if (r->gpu_milli >= 1000)
        text_str(w->arena, part(w, all, "limits"), "nvidia.com/gpu", fmt_milli(text, r->gpu_milli));
    else if (r->gpu_milli % 10 == 0 && r->gpu_milli) /* hundredths of a device */
        text_int(w->arena, part(w, all, "limits"), "koordinator.sh/gpu",
                 (int64_t)r->gpu_milli / 10);
    for (size_t i = 0; i < r->custom.n; i++)
        text_str(w->arena, part(w, all, "limits"), r->custom.at[i].name,
                 fmt_milli(text, r->custom.at[i].milli));
    if (all->count)
        text_copy(w->arena, container, "resources", all);
}

/* ---- volumes ---- */

struct pod {
    struct text_node *spec, *container;
};

static struct text_node *add_volume(const struct writer *w, struct pod pod, const char *name,
                                    const char *at, bool read_only)
{
    struct text_node *mount = text_map(w->arena, items(w, pod.container, "volumeMounts"), NULL);
    text_str(w->arena, mount, "name", name);
    text_str(w->arena, mount, "mountPath", at);
    if (read_only)
        text_bool(w->arena, mount, "readOnly", true);
    struct text_node *volume = text_map(w->arena, items(w, pod.spec, "volumes"), NULL);
    text_str(w->arena, volume, "name", name);
    return volume;
}

static void write_volumes(const struct writer *w, struct pod pod, const struct role *role)
{
    const struct inputs *in = &w->job->inputs;
    char text[FMT_MAX];
    const char *claims =
        arena_printf(w->arena, "pvc://%s/", w->job->project ? w->job->project : "default");
    for (size_t i = 0; i < in->n_data; i++) {
        const struct mount *m = &in->data[i];
        const char *name = arena_printf(w->arena, "data-%zu", i);
        bool claim =
            strncmp(m->from, claims, strlen(claims)) == 0 && !strchr(m->from + strlen(claims), '/');
        if (m->from[0] != '/' && !claim)
            continue;
        struct text_node *volume = add_volume(w, pod, name, m->at, m->read_only);
        if (claim)
            text_str(w->arena, text_map(w->arena, volume, "persistentVolumeClaim"), "claimName",
                     m->from + strlen(claims));
        else
            text_str(w->arena, text_map(w->arena, volume, "hostPath"), "path", m->from);
    }
    if (!role->resources.shm)
        return;
    struct text_node *empty =
        text_map(w->arena, add_volume(w, pod, "shm", "/dev/shm", false), "emptyDir");
    text_str(w->arena, empty, "medium", "Memory");
    text_str(w->arena, empty, "sizeLimit", fmt_size(text, role->resources.shm));
}

/* ---- the template ---- */

/* Without the labels of PodGroups: the annotations say the gang, and no PodGroup is written. */
static void write_pairs(const struct writer *w, struct text_node *metadata, const char *key,
                        const struct text_node *kept, const struct pairs *more)
{
    for (const struct text_node *one = kept ? kept->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR && strncmp(one->key, EJ_POD_GROUP, strlen(EJ_POD_GROUP)) != 0)
            text_str(w->arena, part(w, metadata, key), one->key, one->str);
    for (size_t i = 0; more && i < more->n; i++)
        text_str(w->arena, part(w, metadata, key), more->at[i].name, more->at[i].value);
}

static void write_template(const struct writer *w, struct text_node *replica,
                           const struct role *role)
{
    const struct placing *placing = &w->job->placing;
    struct text_node *template = text_map(w->arena, replica, "template");
    struct text_node *metadata = text_map(w->arena, NULL, NULL);
    struct pairs gang = { .n = 0 };
    ej_gang_notes(w->arena, w->job, role, &gang);
    write_pairs(w, metadata, "labels", ej_pod_metadata(w->job, role->name, "labels"), NULL);
    write_pairs(w, metadata, "annotations", ej_pod_metadata(w->job, role->name, "annotations"),
                &gang);
    if (metadata->count)
        text_copy(w->arena, template, "metadata", metadata);
    struct pod pod = { .spec = text_map(w->arena, template, "spec") };
    text_str(w->arena, pod.spec, "restartPolicy",
             w->servers && ej_extra_flag(w->job, "relaunchAlways") ? "Always" : "Never");
    if (placing->labels.n)
        text_pairs(w->arena, text_map(w->arena, pod.spec, "nodeSelector"), &placing->labels);
    if (placing->nodes.n == 1)
        text_str(w->arena, pod.spec, "nodeName", placing->nodes.at[0]);
    pod.container = text_map(w->arena, text_list(w->arena, pod.spec, "containers"), NULL);
    text_str(w->arena, pod.container, "name", "main");
    if (role->image)
        text_str(w->arena, pod.container, "image", role->image);
    write_command(w, pod.container, role);
    if (role->open_stdin)
        text_bool(w->arena, pod.container, "stdin", true);
    if (role->tty)
        text_bool(w->arena, pod.container, "tty", true);
    write_env(w, pod.container, role);
    write_secrets(w, pod.container, role);
    write_resources(w, pod.container, &role->resources);
    write_volumes(w, pod, role);
}

/* What the type's own rule would not say. Workers beside a chief that was one of them decide
 * nothing by that rule. */
static const char *critical(const struct writer *w, enum ej_type type, const struct role *role)
{
    bool beside = w->servers && type == EJ_WORKER && ej_extra_flag(w->job, "chiefIsWorker") &&
                  strcmp(role->name, ej_type_word(EJ_WORKER)) == 0;
    bool never = role->done.failed.kind == COUNT_NEVER;
    if (beside)
        return never && role->done.succeeded.kind == COUNT_NEVER ? NULL : never ? "none" : "all";
    return never ? "none" : NULL;
}

static void write_type(const struct writer *w, struct text_node *types, enum ej_type type)
{
    const struct job_spec *job = w->job;
    uint32_t tasks;
    const struct role *role = role_of(w, type, &tasks);
    if (!role)
        return;
    struct text_node *replica = text_map(w->arena, types, ej_type_word(type));
    text_int(w->arena, replica, "replicas", tasks);
    if (w->servers)
        text_bool(w->arena, replica, "autoScale", false);
    if (job->retry.unknown.kind == COUNT_NUMBER)
        text_int(w->arena, replica, "restartCount", job->retry.unknown.n);
    else
        text_int(w->arena, replica, "restartCount", 0);
    if (job->priority >= LEVEL_HIGH || job->priority <= LEVEL_LOW)
        text_str(w->arena, replica, "priority", job->priority >= LEVEL_HIGH ? "high" : "low");
    const char *nodes = critical(w, type, role);
    if (nodes)
        text_str(w->arena, replica, "criticalNodes", nodes);
    write_template(w, replica, role);
}

/* ---- the job ---- */

/* Kubernetes takes lower-case letters, digits, - and . in names. */
static const char *kube_name(const struct writer *w, const char *path, const char *name)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    for (const char *c = name; *c; c++) {
        char low = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        bool plain = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
        if (plain || (out.len && strchr("-.", low)))
            buf_putc(&out, low);
        else if (out.len && out.data[out.len - 1] != '-' && out.data[out.len - 1] != '.')
            buf_putc(&out, '-');
        if (out.len == KUBE_NAME_MAX)
            break;
    }
    while (out.len && (out.data[out.len - 1] == '-' || out.data[out.len - 1] == '.'))
        out.data[--out.len] = '\0';
    const char *found = out.len ? arena_strdup(w->arena, buf_str(&out)) : "job";
    if (strcmp(found, name) != 0)
        report_note(w->report, path,
                    "%s is written as %s, Kubernetes takes lower-case letters, "
                    "digits and -",
                    path, found);
    return found;
}

static void write_metadata(const struct writer *w)
{
    const struct job_spec *job = w->job;
    struct text_node *metadata = text_map(w->arena, w->out, "metadata");
    const char *service = ej_extra_text(job, "service"),
               *elastic = ej_extra_text(job, "elasticMode");
    text_str(w->arena, metadata, "name", kube_name(w, "name", job->name));
    if (job->project)
        text_str(w->arena, metadata, "namespace", kube_name(w, "project", job->project));
    for (size_t i = 0; i < job->labels.n; i++)
        text_str(w->arena, part(w, metadata, "labels"), job->labels.at[i].name,
                 job->labels.at[i].value);
    if (job->limits.pending_ms.has)
        text_str(w->arena, part(w, metadata, "annotations"), "pending_timeout",
                 arena_printf(w->arena, "%llu",
                              (unsigned long long)(job->limits.pending_ms.value + 999) / 1000));
    if (service)
        text_str(w->arena, part(w, metadata, "annotations"), "service_type", service);
    if (elastic)
        text_str(w->arena, part(w, metadata, "annotations"), "training_elastic_mode", elastic);
}

static bool has_servers(const struct job_spec *job)
{
    return role_named(job, "ps") || role_named(job, "chief") || role_named(job, "evaluator");
}

struct text_node *ej_write(struct arena *arena, const struct job_spec *job, struct report *report)
{
    static const enum ej_type order[EJ_ROLES_N] = { EJ_PS, EJ_CHIEF, EJ_WORKER, EJ_EVALUATOR };
    struct writer w = {
        .arena = arena, .job = job, .out = text_map(arena, NULL, NULL), .report = report
    };
    const char *strategy = ej_extra_text(job, "strategy");
    if (!strategy)
        strategy = has_servers(job) ? "ParameterServerStrategy" : "AllreduceStrategy";
    w.servers = strcmp(strategy, "ParameterServerStrategy") == 0;
    text_str(arena, w.out, "apiVersion", EJ_API);
    text_str(arena, w.out, "kind", EJ_KIND);
    write_metadata(&w);
    struct text_node *spec = text_map(arena, w.out, "spec");
    text_str(arena, spec, "distributionStrategy", strategy);
    if (job->suspend)
        text_bool(arena, spec, "suspend", true);
    struct text_node *types = text_map(arena, spec, "replicaSpecs");
    for (size_t i = 0; i < EJ_ROLES_N; i++)
        write_type(&w, types, order[i]);
    return w.out;
}
