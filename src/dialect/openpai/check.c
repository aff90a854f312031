/* Rules between the fields of a v1 configuration, and rules about free keys.
 *
 * Inputs: a decoded configuration and what is known of the site. Effects: problems in the
 * report, nothing else.
 *
 * Caveats: a rule is skipped when a field it needs could not be read; that field has its own
 * message already. */
#include "dialect/openpai/v1.h"

enum { PORT_LAST = 65535, PORT_FIRST = 1024, ENV_NAME_MAX = 255, ENVS_MAX = 4096 };

static const struct v1_role *roles_of(const struct v1_job *job)
{
    return job->roles.at;
}

static const struct v1_port *ports_of(const struct v1_role *role)
{
    return role->ports.at;
}

/* ---- names ---- */

static void check_role_names(const struct v1_job *job, struct report *r)
{
    const struct v1_role *roles = roles_of(job);
    for (size_t i = 0; i < job->roles.n; i++) {
        if (!v1_sound(&roles[i].at, "name"))
            continue;
        for (size_t j = 0; j < i; j++) {
            if (!v1_sound(&roles[j].at, "name") || strcmp(roles[i].name, roles[j].name) != 0)
                continue;
            const char *path = v1_path(r->arena, &roles[i].at, "name");
            struct problem *p = report_error(r, v1_place(&roles[i].at, "name"), path,
                                             "%s is \"%s\", as %s is already", path, roles[i].name,
                                             v1_path(r->arena, &roles[j].at, "name"));
            report_hint(r, p, "another name, or a larger taskNumber in %s", roles[j].at.path);
            break;
        }
    }
}

/* '~' separates user and job where OpenPAI shows both, so a name with it may look like somebody
 * else's job. It is never split here, and who exists is not known here: the reader is told. */
static void check_tilde(const struct v1_job *job, const struct site *site, struct report *r)
{
    if (!v1_sound(&job->at, "jobName"))
        return;
    const char *tilde = strchr(job->name, '~');
    if (!tilde || tilde == job->name || !tilde[1])
        return;
    size_t n = (size_t)(tilde - job->name);
    if (site && site->owner && strlen(site->owner) == n && memcmp(site->owner, job->name, n) == 0)
        return;
    struct problem *p = report_warn(r, v1_place(&job->at, "jobName"), "jobName",
                                    "jobName \"%s\" reads as job \"%s\" of user \"%.*s\"",
                                    job->name, tilde + 1, (int)n, job->name);
    report_hint(r, p, "it is taken as one name; use - in place of ~ to be clear");
}

/* ---- numbers ---- */

static void check_shm(const struct v1_role *role, struct report *r)
{
    if (!text_get(role->at.node, "shmMB") || !v1_sound(&role->at, "shmMB") ||
        !v1_sound(&role->at, "memoryMB") || role->shm_mb <= role->memory_mb)
        return;
    const char *path = v1_path(r->arena, &role->at, "shmMB");
    struct problem *p = report_error(r, v1_place(&role->at, "shmMB"), path,
                                     "%s is %lld, more than the memoryMB of %lld", path,
                                     (long long)role->shm_mb, (long long)role->memory_mb);
    report_hint(r, p, "%lld or less: shared memory is part of the task's memory",
                (long long)role->memory_mb);
}

static void check_count(const struct v1_role *role, const char *key, const struct v1_count *count,
                        struct report *r)
{
    if (!v1_sound(&role->at, key) || !v1_sound(&role->at, "taskNumber") || count->null ||
        count->n <= role->tasks)
        return;
    const char *path = v1_path(r->arena, &role->at, key);
    struct problem *p = report_error(r, v1_place(&role->at, key), path,
                                     "%s is %lld, more than the taskNumber of %lld", path,
                                     (long long)count->n, (long long)role->tasks);
    report_hint(r, p, "%lld or less, or null", (long long)role->tasks);
}

static void check_totals(const struct v1_job *job, struct report *r)
{
    const struct v1_role *roles = roles_of(job);
    int64_t tasks = 0;
    if (job->roles.n > JOB_MAX_ROLES)
        report_error(r, v1_place(&job->at, "taskRoles"), "taskRoles",
                     "taskRoles has %zu roles, the most is %u", job->roles.n, JOB_MAX_ROLES);
    for (size_t i = 0; i < job->roles.n; i++)
        tasks += roles[i].tasks;
    if (tasks > JOB_MAX_TASKS)
        report_error(r, v1_place(&job->at, "taskRoles"), "taskRoles",
                     "taskRoles has %lld tasks in all, the most is %u", (long long)tasks,
                     JOB_MAX_TASKS);
}

/* ---- ports ---- */

static bool fixed_range(const struct v1_port *port)
{
    return v1_sound(&port->at, "beginAt") && v1_sound(&port->at, "portNumber") &&
           port->begin_at != 0;
}

static void check_range(const struct v1_port *port, struct report *r)
{
    if (!fixed_range(port))
        return;
    const char *path = v1_path(r->arena, &port->at, "beginAt");
    long long first = port->begin_at, last = port->begin_at + port->number - 1;
    if (first >= PORT_FIRST && last <= PORT_LAST)
        return;
    struct problem *p = report_error(r, v1_place(&port->at, "beginAt"), path,
                                     "%s is %lld: ports %lld to %lld are not within %d to %d", path,
                                     first, first, last, PORT_FIRST, PORT_LAST);
    report_hint(r, p, "0 for any free ports, or a first port from %d to %lld", PORT_FIRST,
                PORT_LAST + 1 - (long long)port->number);
}

static bool overlap(const struct v1_port *a, const struct v1_port *b)
{
    return fixed_range(a) && fixed_range(b) && a->begin_at < b->begin_at + b->number &&
           b->begin_at < a->begin_at + a->number;
}

static void check_port_pair(const struct v1_port *port, const struct v1_port *earlier,
                            struct report *r)
{
    const char *path = v1_path(r->arena, &port->at, "label");
    if (v1_sound(&port->at, "label") && v1_sound(&earlier->at, "label") &&
        strcmp(port->label, earlier->label) == 0) {
        struct problem *p =
            report_error(r, v1_place(&port->at, "label"), path, "%s is \"%s\", as %s is already",
                         path, port->label, v1_path(r->arena, &earlier->at, "label"));
        report_hint(r, p, "another label, or a larger portNumber in %s", earlier->at.path);
    }
    if (overlap(port, earlier)) {
        path = v1_path(r->arena, &port->at, "beginAt");
        struct problem *p = report_error(r, v1_place(&port->at, "beginAt"), path,
                                         "%s is %lld: its ports overlap those of %s", path,
                                         (long long)port->begin_at, earlier->at.path);
        report_hint(r, p, "%lld or more, or 0 for any free ports",
                    (long long)earlier->begin_at + (long long)earlier->number);
    }
}

static void check_ports(const struct v1_role *role, struct report *r)
{
    const struct v1_port *ports = ports_of(role);
    size_t most = PORT_MAX_LABELS - 2; /* http and ssh are added */
    if (role->ports.n > most) {
        const char *path = v1_path(r->arena, &role->at, "portList");
        report_error(r, v1_place(&role->at, "portList"), path, "%s has %zu labels, the most is %zu",
                     path, role->ports.n, most);
        return;
    }
    for (size_t i = 0; i < role->ports.n; i++) {
        check_range(&ports[i], r);
        for (size_t j = 0; j < i; j++)
            check_port_pair(&ports[i], &ports[j], r);
    }
}

/* ---- free keys ---- */

static bool word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static void check_env_flag(const struct text_node *node, struct report *r)
{
    if (strcmp(node->key, "isDebug") != 0 && strcmp(node->key, "paiAzRDMA") != 0)
        return;
    const char *path = arena_printf(r->arena, "jobEnvs.%s", node->key);
    if (node->kind == TEXT_STR && strcmp(node->str, "true") == 0) {
        struct problem *p = report_warn(r, node->place, path,
                                        "%s is the text \"true\", which turns nothing on", path);
        report_hint(r, p, "true, without quotes");
        p->fix = "true";
    } else if (node->kind == TEXT_BOOL && node->boolean && node->key[0] == 'p') {
        struct problem *p = report_warn(
            r, node->place, path,
            "%s has no effect: tasks have the InfiniBand devices of their node anyway", path);
        report_hint(r, p, "the variable is still set");
    }
}

static void check_envs(const struct v1_job *job, struct report *r)
{
    if (job->envs && job->envs->count > ENVS_MAX)
        report_error(r, job->envs->place, "jobEnvs", "jobEnvs has %zu names, the most is %d",
                     job->envs->count, ENVS_MAX);
    for (const struct text_node *node = job->envs ? job->envs->first : NULL; node;
         node = node->next) {
        const char *path = arena_printf(r->arena, "jobEnvs.%s", node->key), *c = node->key;
        while (*c && !word_char(*c))
            c++;
        if (!*c || strchr(node->key, '=') || strlen(node->key) > ENV_NAME_MAX) {
            struct problem *p =
                report_error(r, node->key_place, path,
                             "jobEnvs has the name \"%s\", which no environment can "
                             "hold",
                             node->key);
            report_hint(r, p, "a name of letters, digits and _");
        }
        if (node->kind == TEXT_LIST || node->kind == TEXT_MAP || node->kind == TEXT_NULL) {
            struct problem *p = report_warn(r, node->place, path, "%s is %s, its JSON text is used",
                                            path, v1_shown(r->arena, node));
            report_hint(r, p, "a text, a number or true or false");
        }
        check_env_flag(node, r);
    }
}

static void check_extras(const struct v1_job *job, struct report *r)
{
    const struct text_node *node = job->extras ? job->extras->first : NULL;
    for (; node; node = node->next) {
        const char *c = node->key;
        while (*c && !word_char(*c) && *c != '.')
            c++;
        if (*c)
            continue;
        struct problem *p =
            report_error(r, node->key_place, "extras",
                         "extras has the key \"%s\", which is not allowed", node->key);
        report_hint(r, p, "a key with a letter, a digit, . or _ in it");
    }
}

static void check_retired(const struct v1_job *job, struct report *r)
{
    if (!text_get(job->at.node, "killAllOnCompletedTaskNumber"))
        return;
    struct problem *p = report_warn(r, v1_place(&job->at, "killAllOnCompletedTaskNumber"),
                                    "killAllOnCompletedTaskNumber",
                                    "killAllOnCompletedTaskNumber has been obsoleted, please use "
                                    "minFailedTaskCount and minSucceededTaskCount instead.");
    report_hint(r, p, "both 1 in every role: the first task that ends, ends the job");
}

void v1_check(const struct v1_job *job, const struct site *site, struct report *r)
{
    const struct v1_role *roles = roles_of(job);
    check_tilde(job, site, r);
    check_role_names(job, r);
    check_totals(job, r);
    for (size_t i = 0; i < job->roles.n; i++) {
        check_shm(&roles[i], r);
        check_count(&roles[i], "minFailedTaskCount", &roles[i].min_failed, r);
        check_count(&roles[i], "minSucceededTaskCount", &roles[i].min_succeeded, r);
        check_ports(&roles[i], r);
    }
    check_envs(job, r);
    check_extras(job, r);
    check_retired(job, r);
}
