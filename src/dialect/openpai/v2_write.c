/* A canonical job as a document of protocol version 2.
 *
 * Inputs: a checked job. Effects: warnings in the report, by canonical field, about what version 2
 * cannot say; the tree in the arena.
 *
 * Caveats: what it can only say nearly (half a CPU, variables, a program without a shell) is
 * written nearly and warned about. Templates were filled in when the job was read: commands come
 * back with their values, except for secrets. */
#include "dialect/openpai/v2.h"

#include "dialect/openpai/job_writer.h"
#include "dialect/openpai/v1.h"

#include "base/buf.h"

#define MB (1024u * 1024u)
enum { COMMAND_MAX = 1 << 20 };

static const char *const job_words[] = { "muster",    "name",   "description", "queue",
                                         "retry",     "roles",  "priority",    "gang",
                                         "inputs",    "notify", "conventions", "extra",
                                         "framework", NULL };
static const char *const role_words[] = { "replicas",  "run", "argv",  "python", "image",
                                          "resources", "env", "ports", "done",   NULL };
static const char *const resource_words[] = { "cpu", "memory", "shm", "gpu", "gpu_type", NULL };
static const char *const input_words[] = { "data", NULL };
static const struct writer_words v2_words = {
    .job = job_words, .role = role_words, .resource = resource_words, .inputs = input_words
};

/* ---- trees ---- */

static const struct text_node *kept(const struct job_writer *w, const char *key)
{
    const struct text_node *ours = w->job->extra ? text_get(w->job->extra, V2_EXTRA) : NULL;
    return ours ? text_get(ours, key) : NULL;
}

static struct text_node *member(struct job_writer *w, struct text_node *map, const char *key)
{
    struct text_node *found = text_get(map, key);
    return found ? found : text_map(w->arena, map, key);
}

static void set_text(struct job_writer *w, struct text_node *map, const char *key,
                     const char *value)
{
    struct text_node *at = member(w, map, key), *next = at->next;
    const char *own_key = at->key;
    *at = *text_str(w->arena, NULL, NULL, value);
    at->key = own_key;
    at->next = next;
}

static void copy_kept(struct job_writer *w, const char *key)
{
    if (kept(w, key))
        text_copy(w->arena, w->out, key, kept(w, key));
}

/* Letters, digits and _, not twice in map. */
static const char *identifier(struct job_writer *w, const struct text_node *map, const char *name,
                              const char *path)
{
    const char *out = writer_name(w, name, "_", path);
    bool digit = *out >= '0' && *out <= '9';
    const char *first = out;
    if (digit)
        out = arena_printf(w->arena, "_%s", out);
    while (text_get(map, out))
        out = arena_printf(w->arena, "%s_", out);
    if (out != first)
        writer_alike(w, path, "is written as %s", out);
    return out;
}

/* ---- prerequisites ---- */

static const char *image_of(const struct role *role)
{
    return role->image ? role->image : "none";
}

static size_t image_number(const struct job_spec *job, size_t role)
{
    size_t n = 0;
    for (size_t i = 0; i <= role; i++) {
        size_t same = 0;
        while (strcmp(image_of(&job->roles[same]), image_of(&job->roles[i])) != 0)
            same++;
        if (i == role && same < i)
            return image_number(job, same);
        n += same == i;
    }
    return n - 1;
}

static const char *image_name(struct job_writer *w, size_t role)
{
    return arena_printf(w->arena, "docker_image_%zu", image_number(w->job, role));
}

static void write_prerequisites(struct job_writer *w)
{
    struct text_node *list = text_list(w->arena, w->out, "prerequisites");
    const struct text_node *others = kept(w, "prerequisites");
    size_t n = 0;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        if (!w->job->roles[i].image)
            writer_alike(w, arena_printf(w->arena, "roles.%s.image", w->job->roles[i].name),
                         "is not given, openpai v2 needs one: written as \"none\"");
        if (image_number(w->job, i) < n)
            continue;
        struct text_node *item = text_map(w->arena, list, NULL);
        n++;
        text_str(w->arena, item, "name", image_name(w, i));
        text_str(w->arena, item, "type", "dockerimage");
        text_str(w->arena, item, "uri", image_of(&w->job->roles[i]));
    }
    for (const struct text_node *item = others && others->kind == TEXT_LIST ? others->first : NULL;
         item; item = item->next)
        text_copy(w->arena, list, NULL, item);
}

/* ---- secrets ---- */

/* The path a variable stands for ("registry.password"), NULL when it is no secret. */
static const char *secret_path(const struct job_writer *w, const char *variable)
{
    const struct text_node *names = kept(w, "secrets");
    const struct text_node *path = names ? text_get(names, variable) : NULL;
    return path && path->kind == TEXT_STR && *path->str ? path->str : NULL;
}

static void put_secret(struct job_writer *w, struct text_node *secrets, const char *path,
                       const char *value)
{
    for (;;) {
        size_t len = strcspn(path, ".[]");
        const char *key = arena_strndup(w->arena, path, len);
        path += len + strspn(path + len, ".[]");
        if (!*path) {
            set_text(w, secrets, key, value);
            return;
        }
        secrets = member(w, secrets, key);
        if (secrets->kind != TEXT_MAP)
            return; /* written already, as a whole */
    }
}

static void write_secrets(struct job_writer *w)
{
    struct text_node *secrets = NULL;
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct pairs *env = &w->job->roles[i].env;
        for (size_t k = 0; k < env->n; k++) {
            const char *path = secret_path(w, env->at[k].name);
            if (!path)
                continue;
            secrets = secrets ? secrets : text_map(w->arena, w->out, "secrets");
            put_secret(w, secrets, path, env->at[k].value);
        }
    }
}

/* ---- commands ---- */

static const char *replaced(struct arena *arena, const char *text, const char *what,
                            const char *with)
{
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    const char *at;
    while ((at = strstr(text, what))) {
        buf_add(&out, text, (size_t)(at - text));
        buf_puts(&out, with);
        text = at + strlen(what);
    }
    buf_puts(&out, text);
    return arena_strdup(arena, buf_str(&out));
}

/* The forms that reading gives a secret, longest first. */
static const char *with_secret(struct job_writer *w, const char *text, const char *variable)
{
    struct arena *a = w->arena;
    const char *with = arena_printf(a, "<%% $secrets.%s %%>", secret_path(w, variable));
    text = replaced(a, text, arena_printf(a, "'\"${%s}\"'", variable), with);
    text = replaced(a, text, arena_printf(a, "\"${%s}\"", variable), with);
    return replaced(a, text, arena_printf(a, "${%s}", variable), with);
}

static void add_command(struct job_writer *w, struct text_node *list, const char *text)
{
    text_str(w->arena, list, NULL, text);
}

static void check_template(struct job_writer *w, const char *text, const char *path)
{
    if (strstr(text, "<%"))
        writer_nearly(w, path, "has <%%, which openpai v2 reads as a template");
}

/* Are there any? */
static bool write_env(struct job_writer *w, struct text_node *list, const struct role *role,
                      const char *path)
{
    bool any = false;
    for (size_t i = 0; i < role->env.n; i++) {
        const struct pair *env = &role->env.at[i];
        if (secret_path(w, env->name))
            continue;
        any = true;
        const char *field = arena_printf(w->arena, "%s.env.%s", path, env->name);
        AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
        writer_alike(w, field, "is written into the command, openpai v2 has no variables");
        check_template(w, env->value, field);
        writer_export(&out, env);
        add_command(w, list, buf_str(&out));
    }
    return any;
}

/* Without what reading put in front. */
static const char *own_text(struct job_writer *w, const struct role *role, const char *text)
{
    static const char keep[] = "export -n " V2_SECRET;
    if (strncmp(text, keep, strlen(keep)) != 0)
        return text;
    text += strcspn(text, "\n");
    text += *text == '\n';
    for (size_t i = 0; i < role->env.n; i++)
        if (secret_path(w, role->env.at[i].name))
            text = with_secret(w, text, role->env.at[i].name);
    return text;
}

static void write_commands(struct job_writer *w, struct text_node *out, const struct role *role,
                           const char *path)
{
    struct text_node *list = text_list(w->arena, out, "commands");
    size_t strict = strlen(V2_STRICT);
    if (!role->run) {
        AUTO_BUF struct buf text = BUF_INIT(COMMAND_MAX);
        writer_command(w, role, path, write_env(w, list, role, path));
        writer_program(&text, role);
        check_template(w, buf_str(&text), path);
        add_command(w, list, buf_str(&text));
        return;
    }
    const char *text = role->run;
    if (strncmp(text, V2_STRICT, strict) == 0)
        text += strict;
    else
        add_command(w, list, V2_NOT_STRICT);
    writer_command(w, role, path, write_env(w, list, role, path));
    check_template(w, text, arena_printf(w->arena, "%s.run", path));
    add_command(w, list, own_text(w, role, text));
}

/* ---- roles ---- */

static bool default_shm(const struct job_writer *w, const struct role *role)
{
    const struct text_node *names = kept(w, "default_shm");
    const struct text_node *name = names && names->kind == TEXT_LIST ? names->first : NULL;
    for (; name; name = name->next)
        if (name->kind == TEXT_STR && strcmp(name->str, role->name) == 0)
            return role->resources.shm == (uint64_t)V2_SHM_MB * MB;
    return false;
}

static bool added(const struct port_request *port, const char *label)
{
    return port->count == 1 && port->first == 0 && strcmp(port->label, label) == 0;
}

/* How many ports have to be written: ssh and http are added behind the others when they are not
 * there. */
static size_t own_ports(const struct role *role)
{
    size_t n = role->n_ports;
    if (n > 0 && added(&role->ports[n - 1], V1_LABEL_HTTP))
        n--;
    if (n > 0 && added(&role->ports[n - 1], V1_LABEL_SSH))
        n--;
    return n;
}

static void write_ports(struct job_writer *w, struct text_node *out, const struct role *role,
                        const char *path)
{
    size_t n = own_ports(role);
    struct text_node *map = n ? text_map(w->arena, out, "ports") : NULL;
    for (size_t i = 0; i < n; i++) {
        const struct port_request *port = &role->ports[i];
        const char *field = arena_printf(w->arena, "%s.ports.%s", path, port->label);
        if (port->first)
            writer_nearly(w, field, "begins at %u, openpai v2 gives any free ports", port->first);
        text_int(w->arena, map, identifier(w, map, port->label, field), port->count);
    }
}

static int64_t units(struct job_writer *w, uint64_t value, uint64_t unit, const char *path,
                     const char *key)
{
    return (int64_t)writer_units(w, value, unit, 0,
                                 arena_printf(w->arena, "%s.resources.%s", path, key));
}

static void write_resources(struct job_writer *w, struct text_node *out, const struct role *role,
                            const char *path)
{
    struct arena *a = w->arena;
    const struct resources *r = &role->resources;
    if (r->shm == 0)
        writer_alike(w, arena_printf(a, "%s.resources.shm", path),
                     "is not given, openpai v2 takes %d MB", V2_SHM_MB);
    else if (!default_shm(w, role))
        text_int(a, text_map(a, out, "extraContainerOptions"), "shmMB",
                 units(w, r->shm, MB, path, "shm"));
    struct text_node *map = text_map(a, out, "resourcePerInstance");
    text_int(a, map, "gpu", units(w, r->gpu_milli, 1000, path, "gpu"));
    text_int(a, map, "cpu", units(w, r->cpu_milli, 1000, path, "cpu"));
    text_int(a, map, "memoryMB", units(w, r->memory, MB, path, "memory"));
    write_ports(w, map, role, path);
}

static void write_done(struct job_writer *w, struct text_node *out, const struct done *done,
                       const char *path)
{
    struct text_node *map = text_map(w->arena, out, "completion");
    text_int(w->arena, map, "minFailedInstances",
             done->failed.kind == COUNT_NUMBER ? (int64_t)done->failed.n : -1);
    text_int(w->arena, map, "minSucceededInstances",
             done->succeeded.kind == COUNT_NUMBER ? (int64_t)done->succeeded.n : -1);
    if (done->succeeded.kind == COUNT_NEVER)
        writer_nearly(w, arena_printf(w->arena, "%s.done.succeeded", path),
                      "is never, openpai v2 waits for every role");
}

static bool loose(const struct job_spec *job)
{
    return job->n_gangs == 1 && job->gangs[0].min == 1 && !job->gangs[0].name &&
           job->gangs[0].roles.n == job->n_roles;
}

static int64_t retries(const struct retry *retry)
{
    if (retry->unknown.kind == COUNT_ALWAYS)
        return retry->success.kind == COUNT_ALWAYS ? -2 : -1;
    return retry->unknown.kind == COUNT_NUMBER ? retry->unknown.n : 0;
}

static void write_role(struct job_writer *w, struct text_node *roles, size_t i)
{
    const struct role *role = &w->job->roles[i];
    const char *path = arena_printf(w->arena, "roles.%s", role->name);
    struct text_node *out = text_map(w->arena, roles, role->name);
    text_int(w->arena, out, "instances", role->replicas);
    if (role->min != role->replicas)
        writer_nearly(w, arena_printf(w->arena, "%s.replicas", path), "is a range, written as %u",
                      role->replicas);
    write_done(w, out, &role->done, path);
    if (loose(w->job))
        text_int(w->arena, out, "taskRetryCount", retries(&w->job->retry));
    text_str(w->arena, out, "dockerImage", image_name(w, i));
    write_resources(w, out, role, path);
    write_commands(w, out, role, path);
}

/* ---- the job ---- */

static void write_retry(struct job_writer *w)
{
    const struct retry *have = &w->job->retry;
    int64_t n = retries(have);
    bool of_tasks = loose(w->job);
    if (!of_tasks && n < 0)
        n = 1000000; /* the count has no word for always */
    struct retry back = *have;
    v2_retry(n, of_tasks, &back);
    if (!writer_same_retry(have, &back))
        writer_nearly(w, "retry", "cannot be said exactly in openpai v2, written as %s %lld",
                      of_tasks ? "taskRetryCount" : "jobRetryCount", (long long)n);
    text_int(w->arena, w->out, "jobRetryCount", of_tasks ? 0 : n);
}

static void write_priority(struct job_writer *w, struct text_node *extras)
{
    static const char *const classes[] = { [1] = "oppo", [5] = "test", [8] = "prod", [9] = "crit" };
    uint32_t priority = w->job->priority;
    const char *class = priority < sizeof classes / sizeof classes[0] ? classes[priority] : NULL;
    const struct text_node *hived = text_get(extras, "hivedScheduler");
    bool said = hived && text_get(hived, "jobPriorityClass");
    if (!class)
        writer_nearly(w, "priority",
                      "is %u, openpai v2 knows classes: oppo 1, test 5, prod 8, crit 9", priority);
    else if (said || priority != 5)
        set_text(w, member(w, extras, "hivedScheduler"), "jobPriorityClass", class);
}

static void write_gpu_types(struct job_writer *w, struct text_node *extras)
{
    for (size_t i = 0; i < w->job->n_roles; i++) {
        const struct role *role = &w->job->roles[i];
        const struct words *types = &role->resources.gpu_types;
        if (types->n > 1 || (types->n == 1 && role->resources.gpu_milli == 0))
            writer_nearly(w, arena_printf(w->arena, "roles.%s.resources.gpu_type", role->name),
                          "is not one type of a GPU, left out");
        else if (types->n == 1) {
            struct text_node *roles = member(w, member(w, extras, "hivedScheduler"), "taskRoles");
            set_text(w, member(w, roles, role->name), "skuType", types->at[0]);
        }
    }
}

static void write_storages(struct job_writer *w, struct text_node *extras)
{
    size_t prefix = strlen(V2_STORAGE);
    struct text_node *list = NULL;
    for (size_t i = 0; i < w->job->inputs.n_data; i++) {
        const struct mount *mount = &w->job->inputs.data[i];
        const char *path = arena_printf(w->arena, "inputs.data[%zu]", i);
        const char *name = mount->from + prefix;
        if (strncmp(mount->from, V2_STORAGE, prefix) != 0 || !*name || strchr(name, '/')) {
            writer_nearly(w, path, "is no storage by name (" V2_STORAGE "NAME) and is left out");
            continue;
        }
        if (mount->read_only)
            writer_nearly(w, arena_printf(w->arena, "%s.read_only", path),
                          "cannot be said in openpai v2 and is left out");
        list = list ? list : text_list(w->arena, extras, "storages");
        struct text_node *item = text_map(w->arena, list, NULL);
        text_str(w->arena, item, "name", name);
        text_str(w->arena, item, "mountPath", mount->at);
    }
}

static void write_notify(struct job_writer *w, struct text_node *extras)
{
    static const char *const events[] = { "running", "succeeded", "stopped", "failed", "retried" };
    const struct words *notify = &w->job->notify;
    for (size_t i = 0; i < notify->n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof events / sizeof events[0]; k++)
            known |= strcmp(events[k], notify->at[i]) == 0;
        if (!known)
            writer_nearly(w, "notify", "has %.60s, which is no event of openpai v2", notify->at[i]);
        else if (!text_get(member(w, extras, "jobStatusChangeNotification"), notify->at[i]))
            text_bool(w->arena, member(w, extras, "jobStatusChangeNotification"), notify->at[i],
                      true);
    }
}

static void write_extras(struct job_writer *w)
{
    const struct text_node *have = kept(w, "extras");
    struct text_node *extras = have && have->kind == TEXT_MAP
                                   ? text_copy(w->arena, NULL, NULL, have)
                                   : text_map(w->arena, NULL, NULL);
    if (loose(w->job))
        text_bool(w->arena, extras, "gangAllocation", false);
    else if (w->job->n_gangs)
        writer_nearly(w, "gang", "cannot be said in openpai v2 and is left out");
    write_priority(w, extras);
    write_gpu_types(w, extras);
    write_storages(w, extras);
    write_notify(w, extras);
    if (extras->count)
        text_copy(w->arena, w->out, "extras", extras);
}

struct text_node *v2_write(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct job_writer w = { .arena = arena, .job = job, .report = report, .format = "openpai v2" };
    w.out = text_map(arena, NULL, NULL);
    writer_unsaid(&w, &v2_words);
    text_int(arena, w.out, "protocolVersion", 2);
    text_str(arena, w.out, "name", writer_name(&w, job->name ? job->name : "job", "-_", "name"));
    text_str(arena, w.out, "type", "job");
    copy_kept(&w, "version");
    copy_kept(&w, "contributor");
    if (job->description)
        text_str(arena, w.out, "description", job->description);
    write_retry(&w);
    write_prerequisites(&w);
    copy_kept(&w, "parameters");
    write_secrets(&w);
    struct text_node *roles = text_map(arena, w.out, "taskRoles");
    for (size_t i = 0; i < job->n_roles; i++)
        write_role(&w, roles, i);
    if (job->queue)
        text_str(arena, text_map(arena, w.out, "defaults"), "virtualCluster", job->queue);
    write_extras(&w);
    return w.out;
}

struct job_spec *v2_shape(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct job_writer w = { .arena = arena, .job = job, .report = report, .format = "openpai v2" };
    return writer_shape(&w, "_", false);
}
