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
#include "dialect/openpai/v1.h"

#include "base/buf.h"
#include "base/scan.h"

#define MB (1024u * 1024u)
enum { COMMAND_MAX = 1 << 20 };

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    struct text_node *out;
    struct report *report;
};

/* ---- what v1 has words for, by canonical names ---- */

static const char *const job_words[] = { "muster",      "name",   "queue",  "retry",
                                         "roles",       "inputs", "output", "health",
                                         "conventions", "extra",  NULL };
static const char *const role_words[] = { "replicas",  "run", "argv",  "python", "image",
                                          "resources", "env", "ports", "done",   NULL };
static const char *const resource_words[] = { "cpu", "memory", "shm", "gpu", "gpu_type", NULL };
static const char *const input_words[] = { "code", "registry_auth", NULL };
static const char *const code_words[] = { "dir", "limit", NULL };
static const char *const health_words[] = { "debug_hold", NULL };

__attribute__((format(printf, 3, 4))) static void nearly(struct writer *w, const char *path,
                                                         const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    AUTO_BUF struct buf text = BUF_INIT(1024);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    report_warn(w->report, (struct place){ 0 }, path, "%s %s", path, buf_str(&text));
}

static bool among(const char *const *words, const char *key)
{
    for (; *words; words++)
        if (strcmp(*words, key) == 0)
            return true;
    return false;
}

static void unsaid(struct writer *w, const struct text_node *map, const char *path,
                   const char *const *words)
{
    if (!map || map->kind != TEXT_MAP) /* the brief form of a part */
        return;
    for (const struct text_node *node = map->first; node; node = node->next)
        if (!among(words, node->key))
            nearly(w, *path ? arena_printf(w->arena, "%s.%s", path, node->key) : node->key,
                   "cannot be said in openpai v1 and is left out");
}

static void unsaid_all(struct writer *w)
{
    const struct text_node *tree = job_encode(w->arena, w->job);
    const struct text_node *inputs = text_get(tree, "inputs"), *roles = text_get(tree, "roles");
    unsaid(w, tree, "", job_words);
    unsaid(w, inputs, "inputs", input_words);
    unsaid(w, inputs ? text_get(inputs, "code") : NULL, "inputs.code", code_words);
    unsaid(w, text_get(tree, "health"), "health", health_words);
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        const char *path = arena_printf(w->arena, "roles.%s", role->key);
        unsaid(w, role, path, role_words);
        unsaid(w, text_get(role, "resources"), arena_printf(w->arena, "%s.resources", path),
               resource_words);
    }
    for (size_t i = 0; i < w->job->conventions.n; i++)
        if (strcmp(w->job->conventions.at[i], V1_CONVENTION) != 0)
            nearly(w, "conventions", "has %s, which cannot be said in openpai v1",
                   w->job->conventions.at[i]);
}

/* ---- names and shell text ---- */

static const char *v1_name(struct writer *w, const char *name, const char *more, const char *path)
{
    char *out = arena_strdup(w->arena, name);
    bool same = true;
    for (char *c = out; *c; c++) {
        bool alnum =
            (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');
        if (alnum || strchr(more, *c))
            continue;
        *c = '_';
        same = false;
    }
    if (!same)
        nearly(w, path, "\"%s\" has characters that openpai v1 refuses, written as %s", name, out);
    return out;
}

static void quote(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

/* ---- environment: v1 has one for all roles ---- */

static bool everywhere(const struct job_spec *job, const struct pair *env)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *value = pairs_get(&job->roles[i].env, env->name);
        if (!value || strcmp(value, env->value) != 0)
            return false;
    }
    return true;
}

static void write_env(struct writer *w, struct text_node *envs, const struct pair *env)
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

static void write_envs(struct writer *w)
{
    const struct pairs none = { .n = 0 };
    const struct pairs *first = w->job->n_roles ? &w->job->roles[0].env : &none;
    struct text_node *envs = NULL;
    for (size_t i = 0; i < first->n; i++) {
        if (!everywhere(w->job, &first->at[i]))
            continue;
        envs = envs ? envs : text_map(w->arena, w->out, "jobEnvs");
        write_env(w, envs, &first->at[i]);
    }
    if (w->job->health.debug_hold)
        text_bool(w->arena, envs ? envs : text_map(w->arena, w->out, "jobEnvs"), "isDebug", true);
}

/* ---- roles ---- */

static void own_env(struct writer *w, const struct role *role, const char *path, struct buf *out)
{
    for (size_t i = 0; i < role->env.n; i++) {
        const struct pair *env = &role->env.at[i];
        if (everywhere(w->job, env))
            continue;
        nearly(w, arena_printf(w->arena, "%s.env.%s", path, env->name),
               "differs from other roles, written into the command");
        buf_addf(out, "export %s=", env->name);
        quote(out, env->value);
        buf_puts(out, "; ");
    }
}

static const char *write_command(struct writer *w, const struct role *role, const char *path)
{
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    own_env(w, role, path, &out);
    if (role->run)
        buf_puts(&out, role->run);
    for (size_t i = 0; i < role->argv.n; i++) {
        buf_puts(&out, i ? " " : "");
        quote(&out, role->argv.at[i]);
    }
    if (role->python) {
        int module = (int)strcspn(role->python, ":");
        const char *function = role->python[module] ? role->python + module + 1 : "main";
        buf_addf(&out, "python -c 'from %.*s import %s; %s()'", module, role->python, function,
                 function);
    }
    return arena_strdup(w->arena, buf_str(&out));
}

static uint64_t round_up(struct writer *w, uint64_t value, uint64_t unit, uint64_t least,
                         const char *path)
{
    uint64_t n = value / unit + (value % unit ? 1 : 0);
    n = n < least ? least : n;
    if (n * unit != value)
        nearly(w, path, "is written as %llu, openpai v1 knows whole numbers from %llu",
               (unsigned long long)n, (unsigned long long)least);
    return n;
}

static void write_resources(struct writer *w, struct text_node *out, const struct resources *r,
                            const char *path)
{
    struct arena *a = w->arena;
    if (r->cpu_milli)
        text_int(
            a, out, "cpuNumber",
            (int64_t)round_up(w, r->cpu_milli, 1000, 1, arena_printf(a, "%s.resources.cpu", path)));
    if (r->memory)
        text_int(
            a, out, "memoryMB",
            (int64_t)round_up(w, r->memory, MB, 100, arena_printf(a, "%s.resources.memory", path)));
    else
        nearly(w, arena_printf(a, "%s.resources.memory", path),
               "is not given, openpai v1 takes 100 MB");
    if (r->shm)
        text_int(a, out, "shmMB",
                 (int64_t)round_up(w, r->shm, MB, 0, arena_printf(a, "%s.resources.shm", path)));
    text_int(
        a, out, "gpuNumber",
        (int64_t)round_up(w, r->gpu_milli, 1000, 0, arena_printf(a, "%s.resources.gpu", path)));
}

/* http and ssh are added when v1 is read. */
static bool implied_port(const struct port_want *port)
{
    return port->count == 1 && port->first == 0 &&
           (strcmp(port->label, V1_LABEL_HTTP) == 0 || strcmp(port->label, V1_LABEL_SSH) == 0);
}

static void write_ports(struct writer *w, struct text_node *out, const struct role *role,
                        const char *path)
{
    struct text_node *list = NULL;
    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_want *port = &role->ports[i];
        if (implied_port(port))
            continue;
        list = list ? list : text_list(w->arena, out, "portList");
        struct text_node *item = text_map(w->arena, list, NULL);
        text_str(w->arena, item, "label",
                 v1_name(w, port->label, "._~",
                         arena_printf(w->arena, "%s.ports.%s", path, port->label)));
        text_int(w->arena, item, "beginAt", port->first);
        text_int(w->arena, item, "portNumber", port->count);
    }
}

static void write_done(struct writer *w, struct text_node *out, const struct done *done,
                       const char *path)
{
    if (done->failed.kind == COUNT_NEVER)
        text_null(w->arena, out, "minFailedTaskCount");
    else if (done->failed.kind == COUNT_NUMBER && done->failed.n != 1)
        text_int(w->arena, out, "minFailedTaskCount", done->failed.n);
    if (done->succeeded.kind == COUNT_NUMBER)
        text_int(w->arena, out, "minSucceededTaskCount", done->succeeded.n);
    else if (done->succeeded.kind == COUNT_NEVER)
        nearly(w, arena_printf(w->arena, "%s.done.succeeded", path),
               "is never, openpai v1 waits for every role");
}

static void write_role(struct writer *w, struct text_node *list, const struct role *role)
{
    const char *path = arena_printf(w->arena, "roles.%s", role->name);
    struct text_node *out = text_map(w->arena, list, NULL);
    text_str(w->arena, out, "name", v1_name(w, role->name, "._~", path));
    text_int(w->arena, out, "taskNumber", role->replicas);
    if (role->min != role->replicas)
        nearly(w, arena_printf(w->arena, "%s.replicas", path), "is a range, written as %u",
               role->replicas);
    write_resources(w, out, &role->resources, path);
    write_ports(w, out, role, path);
    text_str(w->arena, out, "command", write_command(w, role, path));
    write_done(w, out, &role->done, path);
}

/* ---- the job ---- */

static void write_image(struct writer *w)
{
    const char *image = NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const char *own = w->job->roles[i].image;
        if (!image)
            image = own;
        else if (own && strcmp(own, image) != 0)
            nearly(w, arena_printf(w->arena, "roles.%s.image", w->job->roles[i].name),
                   "is not %s; openpai v1 has one image for the job", image);
    }
    if (!image)
        report_warn(w->report, (struct place){ 0 }, "image",
                    "no role has an image, openpai v1 needs one: written as \"none\"");
    text_str(w->arena, w->out, "image", image ? image : "none");
}

static const char *joined(struct arena *arena, const struct words *words)
{
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    for (size_t i = 0; i < words->n; i++)
        buf_addf(&out, "%s%s", i ? "," : "", words->at[i]);
    return arena_strdup(arena, buf_str(&out));
}

static void write_gpu_type(struct writer *w)
{
    const char *type = NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct role *role = &w->job->roles[i];
        if (role->resources.gpu_milli == 0)
            continue;
        const char *own = joined(w->arena, &role->resources.gpu_types);
        if (!type)
            type = own;
        else if (strcmp(own, type) != 0)
            nearly(w, arena_printf(w->arena, "roles.%s.resources.gpu_type", role->name),
                   "is not \"%s\"; openpai v1 has one gpuType for the job", type);
    }
    if (type && *type)
        text_str(w->arena, w->out, "gpuType", type);
}

static bool same_count(struct count a, struct count b)
{
    uint32_t na = a.kind == COUNT_NUMBER ? a.n : 0, nb = b.kind == COUNT_NUMBER ? b.n : 0;
    bool never_a = a.kind != COUNT_ALWAYS && na == 0, never_b = b.kind != COUNT_ALWAYS && nb == 0;
    return never_a == never_b && (never_a || (a.kind == b.kind && na == nb));
}

static void write_retry(struct writer *w)
{
    const struct retry *have = &w->job->retry;
    int64_t n = have->unknown.kind == COUNT_NUMBER ? have->unknown.n : 0;
    if (have->unknown.kind == COUNT_ALWAYS)
        n = have->success.kind == COUNT_ALWAYS ? -2 : -1;
    struct retry back = *have;
    v1_retry(n, &back);
    bool same = same_count(have->platform, back.platform) &&
                same_count(have->conflict, back.conflict) &&
                same_count(have->unknown, back.unknown) && same_count(have->user, back.user) &&
                same_count(have->success, back.success) && have->scope == back.scope &&
                have->platform_counted == back.platform_counted;
    if (!same)
        nearly(w, "retry", "cannot be said exactly in openpai v1, written as retryCount %lld",
               (long long)n);
    text_int(w->arena, w->out, "retryCount", n);
}

static void write_text(struct writer *w, const char *key, const char *value)
{
    if (value && *value)
        text_str(w->arena, w->out, key, value);
}

static void write_extra(struct writer *w)
{
    static const char *const ours[] = { "dataDir", "gpuType", "killAllOnCompletedTaskNumber",
                                        "extras" };
    const struct text_node *extra = w->job->extra ? text_get(w->job->extra, V1_EXTRA) : NULL;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const struct text_node *node = extra ? text_get(extra, ours[i]) : NULL;
        if (node && !text_get(w->out, ours[i]))
            text_copy(w->arena, w->out, ours[i], node);
    }
    const struct text_node *other = w->job->extra ? w->job->extra->first : NULL;
    for (; other; other = other->next)
        if (!other->key || strcmp(other->key, V1_EXTRA) != 0)
            nearly(w, "extra", "has values of another format, which are left out");
}

struct text_node *v1_write(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct writer w = { .arena = arena, .job = job, .report = report };
    w.out = text_map(arena, NULL, NULL);
    unsaid_all(&w);
    text_str(arena, w.out, "jobName", v1_name(&w, job->name, "-._~", "name"));
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
