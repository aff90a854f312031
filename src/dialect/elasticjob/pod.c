/* A pod template becomes a role: the program, its environment, what it needs.
 *
 * Inputs: the decoded template. Effects: the role is filled, problems in the report.
 *
 * Caveats: Kubernetes replaces $(NAME) and $$ in commands before any shell sees them. Where a
 * command has them it becomes shell text in which bash puts the values in, quoted so that nothing
 * else happens to the words. In env they stay, and are replaced when a task gets its environment.
 */
#include "dialect/elasticjob/pod.h"

#include "base/buf.h"
#include "dialect/elasticjob/env.h"
#include "dialect/elasticjob/secrets.h"
#include "dialect/elasticjob/volume.h"
#include "text/quantity.h"

enum { RUN_MAX = 131071 };

/* The one that gets the environment: named main, or the first. NULL when there is none. */
static const struct ej_container *main_container(const struct ej_pod *pod, size_t *position)
{
    *position = 0;
    for (size_t i = 0; i < pod->n_containers; i++)
        if (pod->containers[i].name && strcmp(pod->containers[i].name, "main") == 0)
            *position = i;
    return pod->n_containers ? &pod->containers[*position] : NULL;
}

struct making {
    struct ej_reader *r;
    const struct ej_pod *pod;
    const struct ej_container *container;
    struct ej_place at; /* the container */
    struct role *role;
};

/* ---- the command ---- */

const char *ej_reference(const char *text, size_t *len)
{
    for (const char *p = text; (p = strchr(p, '$')); p++) {
        if (p[1] == '$') {
            p++;
            continue;
        }
        size_t n = p[1] == '(' ? strcspn(p + 2, ")") : 0;
        if (n > 0 && p[2 + n] == ')') {
            *len = n + 3;
            return p;
        }
    }
    return NULL;
}

static bool is_word(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return n > 0;
}

/* The task has this variable: one of its own, or the platform's. */
static bool known_variable(const struct making *m, const char *name, size_t n)
{
    for (size_t i = 0; i < m->container->n_env; i++)
        if (strncmp(m->container->env[i].name, name, n) == 0 && !m->container->env[i].name[n])
            return is_word(name, n);
    return is_word(name, n) && ej_own_variable(arena_strndup(m->r->arena, name, n));
}

/* Has the word something that Kubernetes would replace? */
static bool replaces(const struct making *m, const char *word)
{
    size_t len;
    if (strstr(word, "$$"))
        return true;
    for (const char *at = word; (at = ej_reference(at, &len)); at += len)
        if (known_variable(m, at + 2, len - 3))
            return true;
    return false;
}

static bool plain(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./:=,+@%";
    return *word && word[strspn(word, safe)] == '\0';
}

static void put_literal(struct buf *out, const char *text, size_t n)
{
    buf_putc(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, text[i]);
        i += text[i] == '$' && text[i + 1] == '$' && i + 1 < n; /* $$ is $ */
    }
    buf_putc(out, '\'');
}

static void put_word(const struct making *m, struct buf *out, const char *word)
{
    if (plain(word)) {
        buf_puts(out, word);
        return;
    }
    size_t len;
    const char *done = word;
    for (const char *at = word; (at = ej_reference(at, &len)); at += len) {
        if (!known_variable(m, at + 2, len - 3))
            continue;
        if (at > done)
            put_literal(out, done, (size_t)(at - done));
        buf_addf(out, "\"${%.*s}\"", (int)(len - 3), at + 2);
        done = at + len;
    }
    if (*done || done == word)
        put_literal(out, done, strlen(done));
}

static struct words program_of(const struct making *m)
{
    const struct words *command = &m->container->command, *args = &m->container->args;
    struct words all = { .at = ARENA_ARRAY(m->r->arena, command->n + args->n + 1, const char *) };
    for (size_t i = 0; i < command->n; i++)
        all.at[all.n++] = command->at[i];
    for (size_t i = 0; i < args->n; i++)
        all.at[all.n++] = args->at[i];
    return all;
}

static bool is_bash_text(const struct words *w)
{
    return w->n == 3 && strcmp(w->at[1], "-c") == 0 && w->at[2][0] &&
           (strcmp(w->at[0], "bash") == 0 || strcmp(w->at[0], "/bin/bash") == 0 ||
            strcmp(w->at[0], "/usr/bin/bash") == 0);
}

static void as_shell_text(const struct making *m, const struct words *words, bool bash_text)
{
    AUTO_BUF struct buf out = BUF_INIT(4 * RUN_MAX);
    if (m->container->work_dir) {
        buf_puts(&out, "cd ");
        put_word(m, &out, m->container->work_dir);
        buf_puts(&out, " || exit 1\n");
    }
    if (bash_text) {
        buf_puts(&out, words->at[2]);
    } else {
        buf_puts(&out, "exec");
        for (size_t i = 0; i < words->n; i++) {
            buf_putc(&out, ' ');
            put_word(m, &out, words->at[i]);
        }
    }
    if (out.overflow || out.len > RUN_MAX) {
        ej_fail(m->r, ej_in(m->r, m->at, "command"), "has more than %d bytes", RUN_MAX);
        return;
    }
    m->role->run = arena_strdup(m->r->arena, buf_str(&out));
}

static void make_program(const struct making *m)
{
    struct words words = program_of(m);
    bool replaced = false;
    if (m->container->command.n == 0) {
        struct problem *p = ej_fail(m->r, m->at, "has no command");
        report_hint(m->r->report, p,
                    "command: [python, train.py]; an image's own entry point is not known here");
        return;
    }
    if (!*words.at[0]) {
        ej_fail(m->r, ej_in(m->r, m->at, "command"), "begins with an empty text");
        return;
    }
    for (size_t i = 0; i < words.n; i++)
        replaced |= replaces(m, words.at[i]);
    bool bash_text = is_bash_text(&words) && !replaced;
    if (bash_text || replaced || m->container->work_dir)
        as_shell_text(m, &words, bash_text);
    else
        m->role->argv = words;
}

static void make_input(const struct making *m)
{
    m->role->open_stdin = m->container->open_stdin;
    m->role->tty = m->container->open_stdin && m->container->tty;
    if (m->container->tty && !m->container->open_stdin)
        ej_warn(m->r, ej_in(m->r, m->at, "tty"), "without stdin: true there is no terminal");
}

/* ---- resources ---- */

static bool scan_amount(const struct making *m, struct ej_place at, const char *text,
                        uint32_t scale, uint64_t *out)
{
    enum quantity found = quantity_scan(text, scale, out);
    if (found == QUANTITY_OK)
        return true;
    struct problem *p;
    size_t n = strlen(text);
    if (found == QUANTITY_NEGATIVE)
        p = ej_fail(m->r, at, "is %.40s, the least is 0", text);
    else if (found == QUANTITY_LARGE)
        p = ej_fail(m->r, at, "is %.40s, more than anybody has", text);
    else
        p = ej_fail(m->r, at, "is \"%.40s\", no quantity", text);
    const char *shorter = n > 1 ? arena_strndup(m->r->arena, text, n - 1) : "";
    if (found == QUANTITY_NONE && text[n ? n - 1 : 0] == 'B' &&
        quantity_scan(shorter, scale, out) == QUANTITY_OK) {
        report_hint(m->r->report, p, "%s", shorter);
        if (at.node && at.node->place.len == n)
            p->fix = shorter;
        return false;
    }
    report_hint(m->r->report, p, "%s", scale == 1 ? "8Gi, 500M or bytes" : "4, 0.5 or 500m");
    return false;
}

static void add_custom(const struct making *m, const char *name, uint64_t milli)
{
    struct amounts *list = &m->role->resources.custom;
    struct amount *at = ARENA_ARRAY(m->r->arena, list->n + 1, struct amount);
    if (list->n)
        memcpy(at, list->at, list->n * sizeof *at);
    at[list->n++] = (struct amount){ .name = name, .milli = milli };
    list->at = at;
}

static void add_gpus(const struct making *m, struct ej_place at, uint64_t milli)
{
    if (milli <= 1000 || milli % 1000 == 0)
        m->role->resources.gpu_milli += milli;
    else
        report_hint(m->r->report, ej_fail(m->r, at, "is more than one device and no whole number"),
                    "a whole number");
}

static void add_device(const struct making *m, struct ej_place at, const char *name,
                       const char *text)
{
    uint64_t milli;
    if (!scan_amount(m, at, text, 1000, &milli))
        return;
    if (strcmp(name, "nvidia.com/gpu") == 0 && milli % 1000 != 0)
        report_hint(m->r->report, ej_fail(m->r, at, "is %.40s, a device is given whole", text),
                    "a whole number; koordinator.sh/gpu: 50 is half of one");
    else if (strcmp(name, "nvidia.com/gpu") == 0)
        add_gpus(m, at, milli);
    else if (strcmp(name, "koordinator.sh/gpu") == 0) /* hundredths of a device */
        add_gpus(m, at, milli / 100);
    else if (milli > 0)
        add_custom(m, name, milli);
}

static void add_other(const struct making *m, struct ej_place at, const char *name,
                      const char *text)
{
    if (strncmp(name, "hugepages-", 10) == 0) {
        report_hint(m->r->report, ej_warn(m->r, at, "has no effect"),
                    "the pages of the node serve its tasks");
    } else if (strchr(name, '/')) {
        add_device(m, at, name, text);
    } else {
        struct problem *p = ej_fail(m->r, at, "is no resource");
        report_hint(m->r->report, p, "%s",
                    strcmp(name, "gpu") == 0 ? "nvidia.com/gpu"
                                             : "cpu, memory, ephemeral-storage, or a device such "
                                               "as nvidia.com/gpu");
    }
}

/* Where an amount of this name goes; NULL: a device. */
static uint64_t *plain_amount(struct resources *r, const char *name, uint32_t *scale)
{
    *scale = 1;
    if (strcmp(name, "memory") == 0)
        return &r->memory;
    if (strcmp(name, "ephemeral-storage") == 0)
        return &r->disk;
    *scale = 1000;
    return strcmp(name, "cpu") == 0 ? &r->cpu_milli : NULL;
}

static bool same_amount(const char *a, const char *b)
{
    uint64_t x = 0, y = 0;
    return quantity_scan(a, 1000, &x) == QUANTITY_OK && quantity_scan(b, 1000, &y) == QUANTITY_OK &&
           x == y;
}

static void make_request(const struct making *m, const struct pair *request)
{
    struct ej_place all = ej_in(m->r, m->at, "resources");
    struct ej_place at = ej_in(m->r, ej_in(m->r, all, "requests"), request->name);
    const char *limit = pairs_get(&m->container->resources.limits, request->name);
    uint32_t scale;
    uint64_t *into = plain_amount(&m->role->resources, request->name, &scale), value;
    if (into) {
        if (scan_amount(m, at, request->value, scale, &value))
            *into = value;
        return;
    }
    if (limit && !same_amount(limit, request->value)) {
        struct problem *p =
            ej_fail(m->r, at, "is %.40s, its limit is %.40s", request->value, limit);
        report_hint(m->r->report, p, "%.40s: devices are not given more than once", limit);
    }
    if (!limit)
        add_other(m, at, request->name, request->value);
}

static void make_limit(const struct making *m, const struct pair *limit)
{
    struct ej_place all = ej_in(m->r, m->at, "resources");
    struct ej_place at = ej_in(m->r, ej_in(m->r, all, "limits"), limit->name);
    const char *request = pairs_get(&m->container->resources.requests, limit->name);
    uint32_t scale;
    uint64_t *into = plain_amount(&m->role->resources, limit->name, &scale), value;
    if (!into) {
        add_other(m, at, limit->name, limit->value);
        return;
    }
    if (!scan_amount(m, at, limit->value, scale, &value))
        return;
    if (!request)
        *into = value;
    else if (!same_amount(limit->value, request))
        report_hint(m->r->report, ej_warn(m->r, at, "has no effect"),
                    "the limit of a task is its request of %.40s, as there", request);
}

static void make_resources(const struct making *m)
{
    const struct ej_amounts *amounts = &m->container->resources;
    for (size_t i = 0; i < amounts->requests.n; i++)
        make_request(m, &amounts->requests.at[i]);
    for (size_t i = 0; i < amounts->limits.n; i++)
        make_limit(m, &amounts->limits.at[i]);
}

/* ---- environment ---- */

/* metadata.labels['KEY'] */
static const char *bracket_key(struct arena *arena, const char *path, const char *what)
{
    size_t n = strlen(what), len = strlen(path);
    if (strncmp(path, what, n) != 0 || path[n] != '[' || len < n + 5 || path[len - 1] != ']')
        return NULL;
    return arena_strndup(arena, path + n + 2, len - n - 4);
}

static const char *label_value(const struct making *m, const char *key)
{
    static const struct {
        const char *key, *value;
    } own[] = {
        { "app", "dlrover" },
        { "elasticjob.dlrover/name", "$(ELASTIC_JOB_NAME)" },
        { "elasticjob.dlrover/replica-type", "$(NODE_TYPE)" },
        { "elasticjob.dlrover/replica-index", "$(NODE_ID)" },
        { "elasticjob.dlrover/rank-index", "$(NODE_RANK)" },
        { "elasticjob.dlrover/relaunch-count", "$(metadata.relaunched)" },
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(key, own[i].key) == 0)
            return own[i].value;
    const char *value = pairs_get(&m->pod->metadata.labels, key);
    return value ? value : "";
}

static const char *field_value(const struct making *m, const char *path)
{
    static const struct {
        const char *path, *value;
    } facts[] = {
        { "metadata.name", "$(POD_NAME)" },      { "metadata.uid", "$(metadata.uid)" },
        { "status.podIP", "$(POD_IP)" },         { "status.podIPs", "$(POD_IP)" },
        { "status.hostIP", "$(NODE_IP)" },       { "status.hostIPs", "$(NODE_IP)" },
        { "spec.nodeName", "$(spec.nodeName)" }, { "spec.serviceAccountName", "default" },
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(path, facts[i].path) == 0)
            return facts[i].value;
    if (strcmp(path, "metadata.namespace") == 0)
        return m->r->job->project;
    const char *label = bracket_key(m->r->arena, path, "metadata.labels");
    const char *note = bracket_key(m->r->arena, path, "metadata.annotations");
    const char *noted = note ? pairs_get(&m->pod->metadata.annotations, note) : NULL;
    if (label)
        return label_value(m, label);
    return note ? noted ? noted : "" : NULL;
}

/* Whole cores, bytes; there is one amount for requests and limits. */
static const char *resource_value(const struct making *m, const char *name)
{
    static const char *const fronts[] = { "requests.", "limits." };
    const struct resources *r = &m->role->resources;
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        size_t n = strlen(fronts[i]);
        if (strncmp(name, fronts[i], n) != 0)
            continue;
        uint32_t scale;
        struct resources copy = *r;
        const uint64_t *value = plain_amount(&copy, name + n, &scale);
        if (value)
            return arena_printf(m->r->arena, "%llu",
                                (unsigned long long)((*value + scale - 1) / scale));
    }
    return NULL;
}

static const char *env_value(const struct making *m, const struct ej_env *env, struct ej_place at)
{
    const struct ej_value_source *from = &env->from;
    if (!env->has_from)
        return env->value ? env->value : "";
    struct ej_place source = ej_in(m->r, at, "valueFrom");
    const char *value = from->has_field      ? field_value(m, from->field)
                        : from->has_resource ? resource_value(m, from->resource)
                                             : NULL;
    if (value && !env->value)
        return value;
    struct problem *p;
    if (env->value)
        p = ej_fail(m->r, source, "stands beside a value");
    else
        p = ej_fail(m->r, source, "is %.60s, which is not known here",
                    from->has_field      ? from->field
                    : from->has_resource ? from->resource
                                         : "empty");
    report_hint(m->r->report, p,
                "one of value and valueFrom; fieldPath: metadata.name, metadata.namespace, "
                "status.podIP, status.hostIP, spec.nodeName");
    return NULL;
}

/* $(NAME) of a variable that only the task knows. */
static void refuse_secrets(const struct making *m, const char *value, struct ej_place at)
{
    size_t len;
    for (const char *p = value; (p = ej_reference(p, &len)); p += len)
        for (size_t i = 0; i < m->container->n_env; i++) {
            const struct ej_env *env = &m->container->env[i];
            if (!env->has_from || !env->from.has_secret || strlen(env->name) != len - 3 ||
                strncmp(env->name, p + 2, len - 3) != 0)
                continue;
            report_hint(m->r->report,
                        ej_fail(m->r, at, "has the secret %.60s put into it", env->name),
                        "the program reads the variable itself");
        }
}

static void make_env(const struct making *m)
{
    struct ej_place all = ej_in(m->r, m->at, "env");
    for (size_t i = 0; i < m->container->n_env; i++) {
        const struct ej_env *env = &m->container->env[i];
        struct ej_place at = ej_item(m->r, all, i);
        if (env->has_from && env->from.has_secret && !env->value && !env->from.has_field &&
            !env->from.has_resource) {
            ej_secret_env(m->r, m->role, env, at);
            continue;
        }
        const char *value = env_value(m, env, at);
        if (!value)
            continue;
        refuse_secrets(m, value, at);
        if (ej_own_variable(env->name)) {
            struct problem *p = ej_warn(m->r, at, "sets %.60s, which has no effect", env->name);
            report_hint(m->r->report, p, "the platform sets it, and wins");
            continue;
        }
        pairs_set(&m->role->env, m->r->arena, env->name, value);
    }
}

/* ---- the pod ---- */

static void merge_selector(const struct making *m, struct ej_place spec)
{
    struct placing *placing = &m->r->job->placing;
    for (size_t i = 0; i < m->pod->node_selector.n; i++) {
        const struct pair *label = &m->pod->node_selector.at[i];
        const char *have = pairs_get(&placing->labels, label->name);
        if (have && strcmp(have, label->value) != 0) {
            struct ej_place at = ej_in(m->r, ej_in(m->r, spec, "nodeSelector"), label->name);
            struct problem *p =
                ej_fail(m->r, at, "is %.60s, another role has %.60s", label->value, have);
            report_hint(m->r->report, p, "one value for the job: all roles share it here");
            continue;
        }
        pairs_set(&placing->labels, m->r->arena, label->name, label->value);
    }
}

static void merge_node(const struct making *m, struct ej_place spec)
{
    struct words *nodes = &m->r->job->placing.nodes;
    const char *name = m->pod->node_name;
    if (!name)
        return;
    if (nodes->n == 0) {
        nodes->at = ARENA_ARRAY(m->r->arena, 1, const char *);
        nodes->at[nodes->n++] = name;
    } else if (strcmp(nodes->at[0], name) != 0) {
        struct problem *p = ej_fail(m->r, ej_in(m->r, spec, "nodeName"),
                                    "is %.60s, another role has %.60s", name, nodes->at[0]);
        report_hint(m->r->report, p, "one for the job: all roles share it here");
    }
}

static void name_others(const struct making *m, struct ej_place containers)
{
    for (size_t i = 0; i < m->pod->n_containers; i++) {
        const struct ej_container *other = &m->pod->containers[i];
        if (other == m->container)
            continue;
        struct problem *p = ej_warn(m->r, ej_item(m->r, containers, i), "(%.60s) is not started",
                                    other->name ? other->name : "without a name");
        report_hint(m->r->report, p, "one container of a pod runs: %.60s",
                    m->container->name ? m->container->name : "the first");
    }
}

void ej_pod_role(struct ej_reader *r, enum ej_type type, struct role *role)
{
    const struct ej_pod *pod = &r->spec->types[type].pod;
    struct ej_place spec = ej_in(r, ej_template(r, type), "spec");
    struct ej_place containers = ej_in(r, spec, "containers");
    size_t position;
    struct making m = { .r = r, .pod = pod, .role = role };
    m.container = main_container(pod, &position);
    if (!m.container) {
        struct problem *p = ej_fail(r, containers, "has none");
        report_hint(r->report, p, "- name: main, with image and command");
        return;
    }
    m.at = ej_item(r, containers, position);
    role->place = m.at.place;
    role->image = m.container->image;
    make_resources(&m);
    make_env(&m);
    ej_secrets_from(r, role, m.container, ej_in(r, m.at, "envFrom"));
    make_program(&m);
    make_input(&m);
    name_others(&m, containers);
    merge_selector(&m, spec);
    merge_node(&m, spec);
    ej_volumes(r, type, m.container, m.at, role);
}
