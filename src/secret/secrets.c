/* Which secrets a task gets is found when it is launched: sets have the members that they have
 * then. A member of a set may also be a key of a Secret that kubectl left in the job's namespace.
 *
 * What was set anew is told to agents after the commit, by the jobs that are live then; an agent
 * that is not connected is told all of its job's when it joins. That a job got a secret is written
 * with the first commit that follows the launch: launches write no rows, as they do in a replay. */
#include "secret/secrets.h"

#include "account/vault.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "live/live.h"
#include "text/tree.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "job/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 256          /* of one task */
#define VALUES_MAX 128          /* of one launch */
#define BYTES_MAX  (8u << 20)   /* of all of them */
#define ENV_MAX    (128u << 10) /* the kernel's bound for one string of an environment */

struct secrets {
    struct secrets_config config;
    struct secret_changes changes;
};

struct secrets *secrets_create(const struct secrets_config *config)
{
    struct secrets *s = mem_new(sizeof *s);
    s->config = *config;
    return s;
}

void secrets_destroy(struct secrets *s)
{
    if (!s)
        return;
    secret_changes_fini(&s->changes);
    free(s);
}

/* ---- finding ---- */

static bool of_set(const char *name, const char *set, size_t len)
{
    return strncmp(name, set, len) == 0 && name[len] == '/' && name[len + 1];
}

static const char *project_of(const char *project)
{
    return project && *project ? project : "default";
}

/* The data of a Secret that kubectl left; NULL: there is none of that owner. */
static const struct text_node *kube_data(const struct secrets *s, struct arena *arena,
                                         const struct secret_user *user, const char *set,
                                         size_t len)
{
    const struct secrets_server *server = &s->config.server;
    if (!user->name || !server->kube_data)
        return NULL;
    return server->kube_data(server->arg, arena, user->name, project_of(user->project),
                             arena_strndup(arena, set, len));
}

static int kube_value(const struct secrets *s, struct arena *arena, const struct secret_user *user,
                      const char *name, struct secret_value *out)
{
    size_t front = strcspn(name, "/"), room;
    const struct text_node *data = name[front] ? kube_data(s, arena, user, name, front) : NULL;
    const struct text_node *one = data ? text_get(data, name + front + 1) : NULL;
    if (!one || one->kind != TEXT_STR)
        return 0;
    room = strlen(one->str);
    unsigned char *value = arena_alloc(arena, room + 1);
    if (sodium_base642bin(value, room, one->str, room, "\r\n", &out->len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return 0;
    sodium_memzero((char *)(uintptr_t)one->str, room);
    out->at = value;
    out->owner = user->name;
    return 1;
}

static int find_value(const struct secrets *s, struct arena *arena, const struct secret_user *user,
                      const char *name, struct secret_value *out, struct err *err)
{
    *out = (struct secret_value){ .at = NULL };
    int found = find_secret(s->config.accounts, arena, user, name, out, err);
    return found ? found : kube_value(s, arena, user, name, out);
}

/* Names of the set's members, each once. */
static struct words members_of(const struct secrets *s, struct arena *arena,
                               const struct secret_user *user, const char *set, size_t len)
{
    struct words all = names_of_secrets(s->config.accounts, arena, user);
    const struct text_node *data = kube_data(s, arena, user, set, len);
    struct words out = { .at = ARENA_ARRAY(arena, all.n + (data ? data->count : 0), const char *) };
    for (size_t i = 0; i < all.n; i++)
        if (of_set(all.at[i], set, len))
            out.at[out.n++] = all.at[i];
    for (const struct text_node *one = data ? data->first : NULL; one; one = one->next) {
        const char *name = arena_printf(arena, "%.*s/%s", (int)len, set, one->key);
        if (!words_have(&out, name) && secret_name_ok(name))
            out.at[out.n++] = name;
    }
    return out;
}

/* ---- at submission ---- */

static bool is_there(const struct secrets *s, struct arena *arena, const struct secret_user *user,
                     const char *name)
{
    size_t len;
    struct secret_value value = { .at = NULL };
    if (secret_is_set(name, &len))
        return members_of(s, arena, user, name, len).n > 0;
    if (has_secret(s->config.accounts, user, name))
        return true;
    bool is = kube_value(s, arena, user, name, &value) == 1;
    secret_wipe(&value);
    return is;
}

struct checking {
    const struct secrets *secrets;
    struct arena *arena;
    struct secret_user user;
    struct report *report;
};

static void say_missing(const struct checking *c, const struct job_secret *secret, const char *path)
{
    const struct words names = names_of_secrets(c->secrets->config.accounts, c->arena, &c->user);
    const char *near = scan_nearest(secret->name, names.at, names.n);
    const char *rest = arena_printf(c->arena, "\"%.120s\", and %.60s has no such secret",
                                    secret->name, c->user.name ? c->user.name : "the server");
    struct problem *p = report_error(c->report, secret->place, path, "%s is %s", path, rest);
    report_rest(c->report, p, rest);
    if (near)
        report_hint(c->report, p, "\"%s\"?", near);
    else
        report_remedy(c->report, p, REMEDY_SET_SECRET, secret->name);
}

static void check_list(const struct checking *c, const struct job_secrets *list, const char *front)
{
    for (size_t i = 0; i < list->n; i++)
        if (!list->at[i].optional && !is_there(c->secrets, c->arena, &c->user, list->at[i].name))
            say_missing(c, &list->at[i], arena_printf(c->arena, "%s[%zu]", front, i));
}

bool secrets_any(const struct job_spec *spec)
{
    bool any = spec->inputs.secrets.n > 0;
    for (size_t i = 0; i < spec->n_roles && !any; i++)
        any = spec->roles[i].secrets.n > 0;
    return any;
}

int secrets_check(struct secrets *s, const char *owner, const struct job_spec *spec,
                  struct report *report)
{
    size_t errors = report->errors;
    struct arena *arena = arena_create();
    const struct checking c = { .secrets = s,
                                .arena = arena,
                                .user = { .name = owner, .project = spec->project },
                                .report = report };
    check_list(&c, &spec->inputs.secrets, "inputs.secrets");
    for (size_t i = 0; i < spec->n_roles; i++)
        check_list(&c, &spec->roles[i].secrets,
                   arena_printf(arena, "roles.%s.secrets", spec->roles[i].name));
    arena_wipe(arena); /* Secrets that kubectl left were read whole */
    arena_destroy(arena);
    return report->errors > errors ? -1 : 0;
}

/* ---- at a launch ---- */

struct adding {
    struct secrets *secrets;
    struct live_job *job;
    struct arena *arena;
    struct launch *launch;
    struct secret_user user;
    bool renews; /* tasks that run have it: what is not there any more they keep */
    size_t bytes;
    struct err *err;
};

static const struct launch_secret *added(const struct launch *launch, const char *name)
{
    for (size_t i = 0; i < launch->n_secrets; i++)
        if (strcmp(launch->secrets[i].name, name) == 0)
            return &launch->secrets[i];
    return NULL;
}

static int add_value(struct adding *a, const char *name, const void *at, size_t len)
{
    a->bytes += len;
    if (a->launch->n_secrets == VALUES_MAX || a->bytes > BYTES_MAX)
        return err_set(a->err, ERR_INPUT, "its tasks get more than %u secrets, or %u MiB of them",
                       VALUES_MAX, BYTES_MAX >> 20);
    if (!a->launch->secrets)
        a->launch->secrets = ARENA_ARRAY(a->arena, VALUES_MAX, struct launch_secret);
    a->launch->secrets[a->launch->n_secrets++] =
        (struct launch_secret){ .name = name, .at = at, .len = len };
    return 0;
}

/* 1, 0: it is optional and not there. */
static int want_value(struct adding *a, const char *name, bool optional)
{
    struct secret_value value;
    if (added(a->launch, name))
        return 1;
    int found = find_value(a->secrets, a->arena, &a->user, name, &value, a->err);
    if (found < 0 && !a->renews) {
        a->err->code = ERR_INPUT;
        return -1;
    }
    if (!found && !optional && !a->renews) {
        err_set(a->err, ERR_INPUT, "the secret \"%.120s\" is not there any more", name);
        return err_remedy_of(a->err, REMEDY_SET_SECRET, "%s", name);
    }
    if (found <= 0)
        return 0;
    if (add_value(a, name, value.at, value.len))
        return -1;
    if (a->renews)
        return 1;
    const struct launch_task *first = &a->launch->tasks[0];
    secret_changes_use(
        &a->secrets->changes,
        (struct secret_usage){
            .owner = mem_strdup(a->user.name ? a->user.name : ""),
            .project = a->user.project ? mem_strdup(a->user.project) : NULL,
            .name = mem_strdup(name),
            .what = mem_printf(
                "secret %s of %s%s, job %llu, from %s/%u on %s, %zu task%s", name,
                value.project ? "project " : "", value.project ? value.project : a->user.name,
                (unsigned long long)a->job->row.number, first->role, first->ref.index,
                a->launch->node, a->launch->n_tasks, a->launch->n_tasks == 1 ? "" : "s"),
            .job = a->job->row.number });
    return 1;
}

static int check_variable(struct adding *a, const char *name)
{
    const struct launch_secret *value = added(a->launch, name);
    if (value->len < ENV_MAX && !memchr(value->at, '\0', value->len))
        return 0;
    err_set(a->err, ERR_INPUT, "the secret \"%.120s\" cannot be a variable: it %s", name,
            value->len < ENV_MAX ? "has a zero byte" : "has 128 KiB or more");
    return err_hint(a->err, "hand it over as a file: {name: %s, file: /run/secrets/...}", name);
}

static int put_place(struct adding *a, struct launch_task *task, struct secret_place place)
{
    if (a->renews)
        return 0;
    if (place.env && check_variable(a, place.name))
        return -1;
    if (task->n_secrets == PLACES_MAX)
        return err_set(a->err, ERR_INPUT, "%s gets more than %d secrets", task->role, PLACES_MAX);
    if (!task->secrets)
        task->secrets = ARENA_ARRAY(a->arena, PLACES_MAX, struct secret_place);
    task->secrets[task->n_secrets++] = place;
    return 0;
}

static int add_set(struct adding *a, struct launch_task *task, const struct job_secret *secret,
                   size_t len)
{
    const struct words names = members_of(a->secrets, a->arena, &a->user, secret->name, len);
    if (names.n == 0 && !secret->optional && !a->renews) {
        err_set(a->err, ERR_INPUT, "no secret \"%.120s\" is there any more", secret->name);
        return err_remedy(a->err, REMEDY_LIST_SECRETS);
    }
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.at[i], *key = name + len + 1;
        struct secret_place place = { .name = name };
        if (secret->env)
            place.env = arena_printf(a->arena, "%s%s", secret->env, key);
        if (place.env && pairs_get(&a->job->spec->roles[task->ref.role].env, place.env))
            place.env = NULL; /* the job's own variable wins */
        if (secret->file)
            place.file = arena_printf(a->arena, "%s/%s", secret->file, key);
        else if (!secret->env)
            place.file = name;
        if (!place.env && !place.file)
            continue;
        int found = want_value(a, name, true);
        if (found < 0 || (found && put_place(a, task, place)))
            return -1;
    }
    return 0;
}

static int add_list(struct adding *a, struct launch_task *task, const struct job_secrets *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct job_secret *secret = &list->at[i];
        size_t len;
        if (secret_is_set(secret->name, &len)) {
            if (add_set(a, task, secret, len))
                return -1;
            continue;
        }
        const struct secret_place place = { .name = secret->name,
                                            .env = secret->env,
                                            .file = secret->file  ? secret->file
                                                    : secret->env ? NULL
                                                                  : secret->name };
        int found = want_value(a, secret->name, secret->optional);
        if (found < 0 || (found && put_place(a, task, place)))
            return -1;
    }
    return 0;
}

/* Variables that its dialect says are secret stand in the environment already. */
static int add_variables(struct adding *a, struct launch_task *task)
{
    const char *front = dialect_secret_variables(a->secrets->config.dialects, a->job->spec);
    for (size_t i = 0; front && i < task->env.n; i++) {
        const struct pair *pair = &task->env.at[i];
        if (strncmp(pair->name, front, strlen(front)) != 0 || !*pair->value)
            continue;
        /* No secret of a user has such a name. */
        const char *name = arena_printf(a->arena, "%s=%s", task->role, pair->name);
        const char *value = arena_strdup(a->arena, pair->value);
        if ((!added(a->launch, name) && add_value(a, name, value, strlen(value))) ||
            put_place(a, task, (struct secret_place){ .name = name }))
            return -1;
    }
    return 0;
}

static int add_all(struct adding *a)
{
    const struct job_spec *spec = a->job->spec;
    struct launch *launch = a->launch;
    const struct launch_task *before = NULL;
    for (size_t i = 0; i < launch->n_tasks; i++) {
        struct launch_task *task = &launch->tasks[i];
        if (before && before->ref.role == task->ref.role) { /* as the one before has them */
            task->secrets = before->secrets;
            task->n_secrets = before->n_secrets;
            continue;
        }
        before = task;
        if (add_list(a, task, &spec->inputs.secrets) ||
            add_list(a, task, &spec->roles[task->ref.role].secrets) || add_variables(a, task))
            return -1;
    }
    return 0;
}

int secrets_add(struct secrets *s, struct live_job *job, struct arena *arena, struct launch *launch,
                struct err *err)
{
    return add_all(
        &(struct adding){ .secrets = s,
                          .job = job,
                          .arena = arena,
                          .launch = launch,
                          .user = { .name = job->row.owner, .project = job->row.project },
                          .err = err });
}

void secrets_wipe(struct launch *launch)
{
    for (size_t i = 0; i < launch->n_secrets; i++)
        sodium_memzero((void *)(uintptr_t)launch->secrets[i].at, launch->secrets[i].len);
}

/* ---- set anew ---- */

static bool names_it(const struct job_secrets *list, const char *name, bool set)
{
    size_t len, front = strcspn(name, "/");
    for (size_t i = 0; i < list->n; i++) {
        const char *own = list->at[i].name;
        if (strcmp(own, name) == 0 || (secret_is_set(own, &len) && of_set(name, own, len)) ||
            (set && strncmp(own, name, front + 1) == 0))
            return true;
    }
    return false;
}

static bool job_names(const struct job_spec *spec, const char *name)
{
    size_t len;
    bool set = secret_is_set(name, &len), is = names_it(&spec->inputs.secrets, name, set);
    for (size_t i = 0; i < spec->n_roles && !is; i++)
        is = names_it(&spec->roles[i].secrets, name, set);
    return is;
}

static bool runs_there(const struct live_job *job, uint32_t role, const char *node)
{
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct task_place *place = &job->tasks[flat].place;
        if (place->role == role && place->node && strcmp(place->node, node) == 0)
            return true;
    }
    return false;
}

/* Each value that its tasks there may have; agents look which of them they know. */
static void tell_agent(struct secrets *s, struct live_job *job, const char *node)
{
    struct engine *engine = s->config.engine;
    struct arena *arena = arena_create();
    struct err err = { .code = ERR_NONE };
    struct launch launch = { .node = node,
                             .tasks = ARENA_ARRAY(arena, job->spec->n_roles, struct launch_task) };
    for (uint32_t i = 0; i < job->spec->n_roles; i++)
        if (runs_there(job, i, node))
            launch.tasks[launch.n_tasks++] =
                (struct launch_task){ .ref.role = (uint16_t)i, .role = job->spec->roles[i].name };
    struct adding a = { .secrets = s,
                        .job = job,
                        .arena = arena,
                        .launch = &launch,
                        .user = { .name = job->row.owner, .project = job->row.project },
                        .renews = true,
                        .err = &err };
    if (add_all(&a))
        log_warn("secrets.tell", "job=%llu node=%s: %s", (unsigned long long)job->row.number, node,
                 err.what);
    const struct engine_secrets secrets = { .generation = { .job = job->row.id,
                                                            .number = job->row.generation },
                                            .node = node,
                                            .at = launch.secrets,
                                            .n = launch.n_secrets };
    if (launch.n_secrets)
        engine->ops->secrets(engine, &secrets);
    secrets_wipe(&launch);
    arena_wipe(arena);
    arena_destroy(arena);
}

static bool has_spec(const struct secrets *s, struct live_job *job)
{
    return s->config.server.spec(s->config.server.arg, job) != NULL;
}

void secrets_tell(struct secrets *s, struct live_job *job, const char *node)
{
    if (s->config.engine->ops->secrets && has_spec(s, job) && job->tasks && secrets_any(job->spec))
        tell_agent(s, job, node);
}

void secrets_changed(struct secrets *s, const char *owner, const char *project, const char *name)
{
    secret_changes_set(&s->changes, owner, project, name);
}

static bool concerns(const struct changed_secret *changed, const struct live_job *job)
{
    if (changed->project)
        return strcmp(project_of(job->row.project), changed->project) == 0;
    return strcmp(job->row.owner, changed->owner ? changed->owner : "") == 0;
}

static void tell_job(struct secrets *s, struct live_job *job)
{
    for (size_t i = 0; i < job->agents.n; i++)
        if (job->agents.at[i].launched)
            secrets_tell(s, job, job->agents.at[i].node);
}

void secrets_committed(struct secrets *s)
{
    const struct secret_changes *c = &s->changes;
    size_t n = c->changed.n ? live_active(s->config.live) : 0;
    for (size_t i = 0; i < n; i++) {
        struct live_job *job = live_active_at(s->config.live, i);
        bool is = false;
        for (size_t k = 0; k < c->changed.n && !is; k++)
            is = job->agents.n && concerns(&c->changed.at[k], job) && has_spec(s, job) &&
                 job_names(job->spec, c->changed.at[k].name);
        if (is)
            tell_job(s, job);
    }
    secret_changes_clear_set(&s->changes);
}

void secrets_undone(struct secrets *s)
{
    secret_changes_clear_set(&s->changes);
}

void secrets_record(struct secrets *s)
{
    const struct secret_changes *c = &s->changes;
    for (size_t i = 0; i < c->used.n; i++) {
        const struct secret_usage *one = &c->used.at[i];
        const struct secret_user user = { .name = one->owner, .project = one->project };
        note_secret_use(s->config.accounts,
                        &(struct secret_use){
                            .user = &user, .name = one->name, .what = one->what, .job = one->job });
    }
    secret_changes_clear_used(&s->changes);
}
