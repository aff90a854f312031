/* A canonical job as a v1 configuration.
 *
 * Role: walks the canonical tree (what job_encode gives), writes what v1 can say, and warns
 * about every field that it cannot.
 *
 * Inputs: a checked job. Effects: warnings in the report, by canonical field; the tree in the
 * arena.
 *
 * Caveats: what v1 can only say nearly (half a CPU, names with other characters, a program
 * without a shell) is written nearly and warned about too. */
#include "dialect/openpai/job_writer.h"
#include "dialect/openpai/v1.h"

#include "base/buf.h"
#include "base/scan.h"
#include "dialect/losses.h"

#define MB (1024u * 1024u)
enum { COMMAND_MAX = 1 << 20, V1_MEMORY_MB = 100 };

/* ---- what v1 has words for, by canonical names ---- */

static const char *const job_words[] = { "muster",      "name",   "queue",     "retry",
                                         "roles",       "inputs", "output",    "health",
                                         "conventions", "extra",  "framework", NULL };
static const char *const role_words[] = { "replicas",  "run", "argv",  "python", "image",
                                          "resources", "env", "ports", "done",   NULL };
static const char *const resource_words[] = { "cpu", "memory", "shm", "gpu", "gpu_type", NULL };
static const char *const input_words[] = { "code", "registry_auth", NULL };
static const char *const code_words[] = { "dir", "limit", NULL };
static const char *const health_words[] = { "debug_hold", NULL };

static const struct writer_words v1_words = { .job = job_words,
                                              .role = role_words,
                                              .resource = resource_words,
                                              .inputs = input_words,
                                              .code = code_words,
                                              .health = health_words };

/* ---- environment: v1 has one for all roles ---- */

static void write_env(struct job_writer *w, struct text_node *envs, const struct pair *env)
{
    int64_t n;
    char digits[24];
    if (strcmp(env->name, "isDebug") == 0 && w->job->health.debug_hold)
        return;
    bool number = scan_i64(env->value, INT32_MIN, INT32_MAX, &n);
    snprintf(digits, sizeof digits, "%lld", number ? (long long)n : 0);
    if (number && strcmp(digits, env->value) == 0)
        text_int(w->arena, envs, env->name, n);
    else
        text_str(w->arena, envs, env->name, env->value);
}

static void write_envs(struct job_writer *w)
{
    const struct pairs none = { .n = 0 };
    const struct pairs *first = w->job->n_roles ? &w->job->roles[0].env : &none;
    struct text_node *envs = NULL;
    for (size_t i = 0; i < first->n; i++) {
        if (!dialect_everywhere(w->job, &first->at[i]))
            continue;
        envs = envs ? envs : text_map(w->arena, w->out, "jobEnvs");
        write_env(w, envs, &first->at[i]);
    }
    if (w->job->health.debug_hold)
        text_bool(w->arena, envs ? envs : text_map(w->arena, w->out, "jobEnvs"), "isDebug", true);
}

/* ---- roles ---- */

static void own_env(struct job_writer *w, const struct role *role, const char *path,
                    struct buf *out)
{
    for (size_t i = 0; i < role->env.n; i++) {
        const struct pair *env = &role->env.at[i];
        if (dialect_everywhere(w->job, env))
            continue;
        writer_alike(w, arena_printf(w->arena, "%s.env.%s", path, env->name),
                     "differs from other roles, written into the command");
        writer_export(out, env);
        buf_puts(out, "; ");
    }
}

static const char *write_command(struct job_writer *w, const struct role *role, const char *path)
{
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    own_env(w, role, path, &out);
    writer_command(w, role, path, out.len > 0);
    writer_program(&out, role);
    return arena_strdup(w->arena, buf_str(&out));
}

static void write_resources(struct job_writer *w, struct text_node *out, const struct resources *r,
                            const char *path)
{
    struct arena *a = w->arena;
    if (r->cpu_milli)
        text_int(a, out, "cpuNumber",
                 (int64_t)writer_units(w, r->cpu_milli, 1000, 1,
                                       arena_printf(a, "%s.resources.cpu", path)));
    const char *memory = arena_printf(a, "%s.resources.memory", path);
    if (r->memory >= r->shm && r->memory) {
        text_int(a, out, "memoryMB", (int64_t)writer_units(w, r->memory, MB, 100, memory));
    } else if (r->shm > (uint64_t)V1_MEMORY_MB * MB) {
        writer_nearly(w, memory,
                      "is written as that of shm, which openpai v1 counts as part of it");
        text_int(a, out, "memoryMB", (int64_t)((r->shm + MB - 1) / MB));
    } else {
        writer_alike(w, memory, "is not given, openpai v1 takes %d MB", V1_MEMORY_MB);
    }
    if (r->shm)
        text_int(
            a, out, "shmMB",
            (int64_t)writer_units(w, r->shm, MB, 0, arena_printf(a, "%s.resources.shm", path)));
    text_int(
        a, out, "gpuNumber",
        (int64_t)writer_units(w, r->gpu_milli, 1000, 0, arena_printf(a, "%s.resources.gpu", path)));
}

/* http and ssh are added when v1 is read. */
static bool implied_port(const struct port_request *port)
{
    return port->count == 1 && port->first == 0 &&
           (strcmp(port->label, V1_LABEL_HTTP) == 0 || strcmp(port->label, V1_LABEL_SSH) == 0);
}

static void write_ports(struct job_writer *w, struct text_node *out, const struct role *role,
                        const char *path)
{
    struct text_node *list = NULL;
    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_request *port = &role->ports[i];
        if (implied_port(port))
            continue;
        list = list ? list : text_list(w->arena, out, "portList");
        struct text_node *item = text_map(w->arena, list, NULL);
        text_str(w->arena, item, "label",
                 writer_name(w, port->label, "._~",
                             arena_printf(w->arena, "%s.ports.%s", path, port->label)));
        text_int(w->arena, item, "beginAt", port->first);
        text_int(w->arena, item, "portNumber", port->count);
    }
}

static void write_done(struct job_writer *w, struct text_node *out, const struct done *done,
                       const char *path)
{
    if (done->failed.kind == COUNT_NEVER)
        text_null(w->arena, out, "minFailedTaskCount");
    else if (done->failed.kind == COUNT_NUMBER && done->failed.n != 1)
        text_int(w->arena, out, "minFailedTaskCount", done->failed.n);
    if (done->succeeded.kind == COUNT_NUMBER)
        text_int(w->arena, out, "minSucceededTaskCount", done->succeeded.n);
    else if (done->succeeded.kind == COUNT_NEVER)
        writer_nearly(w, arena_printf(w->arena, "%s.done.succeeded", path),
                      "is never, openpai v1 waits for every role");
}

static void write_role(struct job_writer *w, struct text_node *list, const struct role *role)
{
    const char *path = arena_printf(w->arena, "roles.%s", role->name);
    struct text_node *out = text_map(w->arena, list, NULL);
    text_str(w->arena, out, "name", role->name);
    text_int(w->arena, out, "taskNumber", role->replicas);
    if (role->min != role->replicas)
        writer_nearly(w, arena_printf(w->arena, "%s.replicas", path), "is a range, written as %u",
                      role->replicas);
    write_resources(w, out, &role->resources, path);
    write_ports(w, out, role, path);
    text_str(w->arena, out, "command", write_command(w, role, path));
    write_done(w, out, &role->done, path);
}

/* ---- the job ---- */

static void write_image(struct job_writer *w)
{
    const char *image = NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const char *own = w->job->roles[i].image;
        if (!image)
            image = own;
        else if (own && strcmp(own, image) != 0)
            writer_nearly(w, arena_printf(w->arena, "roles.%s.image", w->job->roles[i].name),
                          "is not %s; openpai v1 has one image for the job", image);
    }
    if (!image)
        report_note(w->report, "image",
                    "no role has an image, openpai v1 needs one: written as \"none\"");
    text_str(w->arena, w->out, "image", image ? image : "none");
}

static void write_gpu_type(struct job_writer *w)
{
    const char *type = NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct role *role = &w->job->roles[i];
        if (role->resources.gpu_milli == 0)
            continue;
        const char *own = words_joined(w->arena, &role->resources.gpu_types, ",");
        if (!type)
            type = own;
        else if (strcmp(own, type) != 0)
            writer_nearly(w, arena_printf(w->arena, "roles.%s.resources.gpu_type", role->name),
                          "is not \"%s\"; openpai v1 has one gpuType for the job", type);
    }
    if (type && *type)
        text_str(w->arena, w->out, "gpuType", type);
}

static void write_retry(struct job_writer *w)
{
    const struct retry *have = &w->job->retry;
    int64_t n = have->unknown.kind == COUNT_NUMBER ? have->unknown.n : 0;
    if (have->unknown.kind == COUNT_ALWAYS)
        n = have->success.kind == COUNT_ALWAYS ? -2 : -1;
    struct retry back = *have;
    v1_retry(n, &back);
    if (!writer_same_retry(have, &back))
        writer_nearly(w, "retry",
                      "cannot be said exactly in openpai v1, written as retryCount %lld",
                      (long long)n);
    text_int(w->arena, w->out, "retryCount", n);
}

static void write_text(struct job_writer *w, const char *key, const char *value)
{
    if (value && *value)
        text_str(w->arena, w->out, key, value);
}

static void write_extra(struct job_writer *w)
{
    static const char *const ours[] = { "dataDir", "gpuType", "killAllOnCompletedTaskNumber",
                                        "extras" };
    const struct text_node *extra = w->job->extra ? text_get(w->job->extra, V1_EXTRA) : NULL;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const struct text_node *node = extra ? text_get(extra, ours[i]) : NULL;
        if (node && !text_get(w->out, ours[i]))
            text_copy(w->arena, w->out, ours[i], node);
    }
}

struct text_node *v1_write(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct job_writer w = { .arena = arena, .job = job, .report = report, .format = "openpai v1" };
    w.out = text_map(arena, NULL, NULL);
    writer_unsaid(&w, &v1_words);
    text_str(arena, w.out, "jobName", writer_name(&w, job->name, "-._~", "name"));
    write_image(&w);
    write_text(&w, "authFile", job->inputs.registry_auth);
    write_text(&w, "outputDir", job->output);
    write_text(&w, "codeDir", job->inputs.code.dir);
    write_text(&w, "virtualCluster", job->queue);
    struct text_node *roles = text_list(arena, w.out, "taskRoles");
    for (size_t i = 0; i < job->n_roles; i++)
        write_role(&w, roles, &job->roles[i]);
    write_gpu_type(&w);
    write_retry(&w);
    write_envs(&w);
    write_extra(&w);
    return w.out;
}

struct job_spec *v1_shape(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct job_writer w = { .arena = arena, .job = job, .report = report, .format = "openpai v1" };
    return writer_shape(&w, "._~", true);
}
