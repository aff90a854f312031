/* The environment that OpenPAI v0.11 to v0.14 promises a task, with the few later names that
 * cost nothing; and for jobs of protocol version 2 that of v1.x, with the older names.
 *
 * Role: facts of a placed job -> variables. Two tables: what a task knows of itself and its job
 * (one value under all the names it had over the years), and what every task knows of every
 * other one.
 *
 * Inputs: the canonical job, its placement, the site. Effects: variables added to out, in the
 * arena.
 *
 * Caveats: a role or label with '.' or '~' makes names that no shell can read, so it is exported
 * with '_' in their place as well, and a role also as lower-case letters and digits, the form of
 * the Kubernetes releases; a form that is the name of another role is left to that role. The
 * working directory is known to the agent alone (OPENPAI_WORK_DIR). GPU visibility is not set
 * here. What every task knows of every other grows with the square of the job: beyond what a
 * program can be started with, and what one node's launch can carry, variables about single
 * tasks are left out and PAI_OMITTED_VARIABLES says how many. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/v1.h"
#include "dialect/openpai/v2.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/place_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 4 << 20,
    VALUE_MAX = 131071,  /* of one variable with its name: the kernel's limit */
    TASK_MAX = 3 << 19,  /* of one task: 1.5 MiB, below the kernel's usual 2 MiB for arguments and
                            environment */
    NODE_MAX = 12 << 20, /* of all tasks of a node */
    POINTERS = sizeof(void *) /* what a variable costs besides its text */
};

/* ---- one value, all its names ---- */

enum variable_value {
    OWN_JOB_NAME,
    OWN_USER,
    OWN_FS_URI,
    OWN_FRAMEWORK,
    OWN_APP_ID,
    OWN_QUEUE,
    OWN_ROLES,
    OWN_ROLE_LIST,
    OWN_TASKS,
    OWN_INSTANCES,
    OWN_ROLE,
    OWN_INDEX,
    OWN_ROLE_TASKS,
    OWN_CPU,
    OWN_MEMORY,
    OWN_SHM,
    OWN_GPU,
    OWN_RESOURCE,
    OWN_MIN_FAILED,
    OWN_MIN_SUCCEEDED,
    OWN_ADDRESS,
    OWN_HTTP,
    OWN_SSH,
    OWN_PORTS,
    OWN_CONTAINER_ID,
    OWN_DATA,
    OWN_OUTPUT,
    OWN_CODE,
    OWN_WORK_DIR,
    OWN_KILL_ALL,
    OWN_N
};

static const struct {
    const char *name;
    enum variable_value value;
} own_names[] = {
    { .name = "PAI_JOB_NAME", .value = OWN_JOB_NAME },
    { .name = "PAI_USER_NAME", .value = OWN_USER },
    { .name = "PAI_USERNAME", .value = OWN_USER },
    { .name = "PAI_DEFAULT_FS_URI", .value = OWN_FS_URI },
    { .name = "PAI_FRAMEWORK_NAME", .value = OWN_FRAMEWORK },
    { .name = "FRAMEWORK_NAME", .value = OWN_FRAMEWORK },
    { .name = "APP_ID", .value = OWN_APP_ID },
    { .name = "HADOOP_USER_NAME", .value = OWN_USER },
    { .name = "PAI_JOB_VC_NAME", .value = OWN_QUEUE },
    { .name = "PAI_VIRTUAL_CLUSTER", .value = OWN_QUEUE },
    { .name = "PAI_DATA_DIR", .value = OWN_DATA },
    { .name = "PAI_OUTPUT_DIR", .value = OWN_OUTPUT },
    { .name = "PAI_CODE_DIR", .value = OWN_CODE },
    { .name = "PAI_WORK_DIR", .value = OWN_WORK_DIR },
    { .name = "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", .value = OWN_KILL_ALL },
    { .name = "PAI_TASK_ROLE_COUNT", .value = OWN_ROLES },
    { .name = "PAI_TASK_ROLES_NUM", .value = OWN_ROLES },
    { .name = "PAI_JOB_TASK_ROLE_COUNT", .value = OWN_ROLES },
    { .name = "PAI_TASK_ROLE_LIST", .value = OWN_ROLE_LIST },
    { .name = "PAI_JOB_TASK_ROLE_LIST", .value = OWN_ROLE_LIST },
    { .name = "PAI_TASKS_NUM", .value = OWN_TASKS },
    { .name = "PAI_JOB_TASK_COUNT", .value = OWN_TASKS },
    { .name = "PAI_TASK_ROLE_INSTANCES", .value = OWN_INSTANCES },
    { .name = "PAI_CURRENT_TASK_ROLE_NAME", .value = OWN_ROLE },
    { .name = "PAI_TASK_ROLE_NAME", .value = OWN_ROLE },
    { .name = "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", .value = OWN_INDEX },
    { .name = "PAI_TASK_INDEX", .value = OWN_INDEX },
    { .name = "PAI_TASK_ROLE_INDEX", .value = OWN_INDEX },
    { .name = "PAI_CURRENT_TASK_ROLE_TASK_COUNT", .value = OWN_ROLE_TASKS },
    { .name = "PAI_TASK_ROLE_NUM", .value = OWN_ROLE_TASKS },
    { .name = "PAI_CURRENT_TASK_ROLE_CPU_COUNT", .value = OWN_CPU },
    { .name = "PAI_TASK_CPU_NUM", .value = OWN_CPU },
    { .name = "PAI_CURRENT_TASK_ROLE_MEM_MB", .value = OWN_MEMORY },
    { .name = "PAI_TASK_MEM_MB", .value = OWN_MEMORY },
    { .name = "PAI_CURRENT_TASK_ROLE_SHM_MB", .value = OWN_SHM },
    { .name = "PAI_CURRENT_TASK_ROLE_GPU_COUNT", .value = OWN_GPU },
    { .name = "PAI_TASK_GPU_NUM", .value = OWN_GPU },
    { .name = "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", .value = OWN_MIN_FAILED },
    { .name = "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", .value = OWN_MIN_SUCCEEDED },
    { .name = "PAI_RESOURCE", .value = OWN_RESOURCE },
    { .name = "PAI_CURRENT_CONTAINER_IP", .value = OWN_ADDRESS },
    { .name = "PAI_CONTAINER_HOST_IP", .value = OWN_ADDRESS },
    { .name = "PAI_CURRENT_CONTAINER_PORT", .value = OWN_HTTP },
    { .name = "PAI_CONTAINER_HOST_PORT", .value = OWN_HTTP },
    { .name = "PAI_CONTAINER_SSH_PORT", .value = OWN_SSH },
    { .name = "PAI_CONTAINER_HOST_PORT_LIST", .value = OWN_PORTS },
    { .name = "PAI_CONTAINER_ID", .value = OWN_CONTAINER_ID },
};

/* ---- the writer ---- */

enum spelling { SPELL_WRITTEN, SPELL_SHELL, SPELL_CONVERTED, SPELL_N };

struct role_view {
    const char *spelled[SPELL_N]; /* NULL: no such form */
    uint32_t first, count;        /* its tasks in place->tasks */
};

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    const struct job_place *place;
    const struct task_place *task;
    const struct site *site;
    bool v2;
    const struct role_view *roles;
    struct string_map *seen; /* names added here: the first holds; a look-up in out would take time
                          by the square of the tasks */
    struct pairs *out;
    size_t left;    /* bytes */
    size_t omitted; /* variables */
};

static bool room(struct writer *w, const char *name, const char *value)
{
    size_t need = strlen(name) + strlen(value) + 2;
    if (need > VALUE_MAX || need + POINTERS > w->left) {
        w->omitted++;
        return false;
    }
    w->left -= need + POINTERS;
    return true;
}

struct node_tasks { /* how many tasks a node has */
    const char *node;
    size_t tasks;
};
struct all_nodes {
    struct node_tasks *at; /* in order of their names */
    size_t n;
};

static int by_node(const void *a, const void *b)
{
    const struct node_tasks *x = a, *y = b;
    return strcmp(x->node, y->node);
}

static const void *count_nodes(struct arena *arena, const void *arg)
{
    const struct job_place *place = ((const struct writer *)arg)->place;
    struct all_nodes *all = arena_alloc(arena, sizeof *all);
    *all = (struct all_nodes){ .at = ARENA_ARRAY(arena, place->n, struct node_tasks) };
    struct string_map *seen = string_map_create();
    for (uint32_t t = 0; t < place->n; t++) {
        const char *node = place->tasks[t].node;
        struct node_tasks *known = node ? string_map_get(seen, node) : NULL;
        if (known) {
            known->tasks++;
        } else if (node) {
            all->at[all->n] = (struct node_tasks){ .node = node, .tasks = 1 };
            string_map_set(seen, node, &all->at[all->n++]);
        }
    }
    string_map_destroy(seen);
    if (all->n)
        qsort(all->at, all->n, sizeof *all->at, by_node);
    return all;
}

/* A task's share of what its node's launch may carry. */
static size_t budget(const struct writer *w)
{
    const struct all_nodes *all =
        place_cache_get(w->place, w->arena, "openpai.nodes", count_nodes, w);
    const struct node_tasks key = { .node = w->task->node };
    const struct node_tasks *node =
        key.node && all->n ? bsearch(&key, all->at, all->n, sizeof key, by_node) : NULL;
    size_t share = NODE_MAX / (node ? node->tasks : 1);
    return share < TASK_MAX ? share : TASK_MAX;
}

static void append(struct writer *w, struct pair pair)
{
    struct pairs *out = w->out;
    if (out->n == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 128;
        struct pair *at = ARENA_ARRAY(w->arena, cap, struct pair);
        if (out->n)
            memcpy(at, out->at, out->n * sizeof *at);
        out->at = at;
        out->cap = cap;
    }
    out->at[out->n++] = pair;
}

static void add(struct writer *w, const char *name, const char *value)
{
    if (!value || string_map_get(w->seen, name) || !room(w, name, value))
        return;
    string_map_set(w->seen, name, w);
    append(w, (struct pair){ .name = name, .value = value });
}

static const char *keep(struct writer *w, const struct buf *text)
{
    return arena_strdup(w->arena, buf_str(text));
}

static const char *number(struct writer *w, uint64_t n)
{
    return arena_printf(w->arena, "%llu", (unsigned long long)n);
}

/* ---- spellings ---- */

static const char *shell_form(struct arena *arena, const char *name)
{
    if (!strpbrk(name, ".~-"))
        return NULL;
    char *form = arena_strdup(arena, name);
    for (char *c = form; *c; c++)
        if (*c == '.' || *c == '~' || *c == '-')
            *c = '_';
    return form;
}

static const char *converted_form(struct arena *arena, const char *name)
{
    char *form = arena_strdup(arena, name), *to = form;
    for (const char *c = name; *c; c++) {
        bool upper = *c >= 'A' && *c <= 'Z';
        if (upper || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
            *to++ = upper ? (char)(*c - 'A' + 'a') : *c;
    }
    *to = '\0';
    return *form && strcmp(form, name) != 0 ? form : NULL;
}

static bool taken(const struct job_spec *job, const struct role_view *roles, size_t role,
                  const char *form)
{
    for (size_t i = 0; i < job->n_roles; i++)
        for (size_t s = 0; s < SPELL_N && i != role; s++) {
            const char *other = roles[i].spelled[s];
            if (other && strcmp(other, form) == 0)
                return true;
        }
    return false;
}

static const void *view_roles(struct arena *arena, const void *arg)
{
    const struct writer *w = arg;
    size_t n = w->job->n_roles;
    struct role_view *roles = ARENA_ARRAY(arena, n, struct role_view);
    for (size_t i = 0; i < n; i++)
        roles[i].spelled[SPELL_WRITTEN] = w->job->roles[i].name;
    for (size_t i = 0; i < n; i++) {
        const char *shell = shell_form(arena, w->job->roles[i].name);
        const char *converted = converted_form(arena, w->job->roles[i].name);
        if (shell && !taken(w->job, roles, i, shell))
            roles[i].spelled[SPELL_SHELL] = shell;
        if (converted && !taken(w->job, roles, i, converted))
            roles[i].spelled[SPELL_CONVERTED] = converted;
    }
    for (uint32_t t = w->place->n; t-- > 0;) {
        struct role_view *view = &roles[w->place->tasks[t].role];
        view->first = t;
        view->count++;
    }
    return roles;
}

/* ---- values ---- */

static const char *owner_of(const struct writer *w)
{
    if (w->place->owner)
        return w->place->owner;
    return w->site && w->site->owner ? w->site->owner : "";
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static const char *extra_text(const struct writer *w, const char *key)
{
    const struct text_node *ours = w->job->extra ? text_get(w->job->extra, V1_EXTRA) : NULL;
    const struct text_node *node = ours && !w->v2 ? text_get(ours, key) : NULL;
    if (node && node->kind == TEXT_INT)
        return arena_printf(w->arena, "%lld", (long long)node->integer);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

static const char *count_text(struct writer *w, struct count count)
{
    if (count.kind == COUNT_NUMBER)
        return number(w, count.n);
    return w->v2 ? "-1" : ""; /* null in v1 */
}

static const char *milli_text(struct writer *w, uint64_t milli)
{
    char text[FMT_MAX];
    return arena_strdup(w->arena, fmt_milli(text, milli));
}

/* Version 2 shows 0 for shared memory that the job does not ask for, whatever the task gets. */
static uint64_t shown_shm(const struct writer *w, const struct role *role)
{
    const struct text_node *ours = w->job->extra ? text_get(w->job->extra, V2_EXTRA) : NULL;
    const struct text_node *names = ours && w->v2 ? text_get(ours, "default_shm") : NULL;
    for (const struct text_node *n = names ? names->first : NULL; n; n = n->next)
        if (n->kind == TEXT_STR && strcmp(n->str, role->name) == 0)
            return 0;
    return role->resources.shm;
}

static const char *resource_text(struct writer *w, const struct role *role)
{
    const struct resources *r = &role->resources;
    return arena_printf(w->arena, "%s,%s,%llu,%llu", milli_text(w, r->gpu_milli),
                        milli_text(w, r->cpu_milli), (unsigned long long)(r->memory >> 20),
                        (unsigned long long)(shown_shm(w, role) >> 20));
}

static const char *numbers_text(struct writer *w, const struct placed_port *port)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < port->count; i++)
        buf_addf(&text, "%s%u", i ? "," : "", port->numbers[i]);
    return keep(w, &text);
}

/* The first port of a label, NULL when the task has none. */
static const uint32_t *first_port(const struct task_place *task, const char *label)
{
    for (uint32_t i = 0; i < task->n_ports; i++)
        if (task->ports[i].count > 0 && strcmp(task->ports[i].label, label) == 0)
            return &task->ports[i].numbers[0];
    return NULL;
}

static const char *port_text(struct writer *w, const char *label)
{
    const uint32_t *port = first_port(w->task, label);
    return port ? number(w, *port) : NULL;
}

/* "L0:p0,p1;L1:p2;": every group ends with a semicolon. */
static const char *ports_text(struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < w->task->n_ports; i++)
        buf_addf(&text, "%s:%s;", w->task->ports[i].label, numbers_text(w, &w->task->ports[i]));
    return keep(w, &text);
}

static const char *role_list_text(struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < w->job->n_roles; i++)
        buf_addf(&text, "%s%s", i ? "," : "", w->job->roles[i].name);
    return keep(w, &text);
}

static const void *make_instances(struct arena *arena, const void *arg)
{
    const struct writer *w = arg;
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t t = 0; t < w->place->n; t++) {
        const struct task_place *task = &w->place->tasks[t];
        buf_addf(&text, "%s%s:%u", t ? "," : "", w->job->roles[task->role].name, task->index);
    }
    return arena_strdup(arena, buf_str(&text));
}

/* Without a gang, tasks that come later have no address yet: nothing is said of them. */
static bool placed(const struct task_place *task)
{
    return task->address && *task->address;
}

/* "ip:port,ip:port" by the first http port, without a comma at the end; a job of another origin may
 * have no such port: 0. */
static const char *host_list_text(struct writer *w, const struct role_view *view)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < view->count; i++) {
        const struct task_place *task = &w->place->tasks[view->first + i];
        const uint32_t *port = first_port(task, V1_LABEL_HTTP);
        if (placed(task))
            buf_addf(&text, "%s%s:%u", text.len ? "," : "", task->address, port ? *port : 0);
    }
    return keep(w, &text);
}

/* As read it has its directory; in a native file it may have the word for it. */
static const char *data_dir(struct writer *w)
{
    return dialect_substitute(w->arena, text_or_empty(extra_text(w, "dataDir")), w->job->name,
                              w->site);
}

static void value_job(struct writer *w, const char *value[OWN_N])
{
    const struct job_spec *job = w->job;
    const char *name = text_or_empty(job->name);
    value[OWN_JOB_NAME] = name;
    value[OWN_USER] = owner_of(w);
    value[OWN_FS_URI] = w->site ? text_or_empty(w->site->fs_uri) : "";
    value[OWN_FRAMEWORK] = arena_printf(w->arena, "%s~%s", owner_of(w), name);
    value[OWN_APP_ID] =
        arena_printf(w->arena, "application_%llu_%04llu", (unsigned long long)(w->place->id >> 20),
                     (unsigned long long)w->place->number);
    value[OWN_QUEUE] = job->queue ? job->queue : "default";
    value[OWN_ROLES] = number(w, job->n_roles);
    value[OWN_ROLE_LIST] = role_list_text(w);
    value[OWN_TASKS] = number(w, w->place->n);
    value[OWN_INSTANCES] =
        place_cache_get(w->place, w->arena, "openpai.instances", make_instances, w);
    value[OWN_DATA] = w->v2 ? NULL : data_dir(w);
    value[OWN_OUTPUT] = w->v2 ? job->output : text_or_empty(job->output);
    value[OWN_CODE] = w->v2 ? job->inputs.code.dir : text_or_empty(job->inputs.code.dir);
    value[OWN_WORK_DIR] = OPENPAI_WORK_DIR;
    value[OWN_KILL_ALL] = extra_text(w, "killAllOnCompletedTaskNumber");
}

static void value_task(struct writer *w, const char *value[OWN_N])
{
    const struct task_place *task = w->task;
    const struct role *role = &w->job->roles[task->role];
    char id[JOB_ID_TEXT];
    value[OWN_ROLE] = role->name;
    value[OWN_INDEX] = number(w, task->index);
    value[OWN_ROLE_TASKS] = number(w, w->roles[task->role].count);
    value[OWN_CPU] = milli_text(w, role->resources.cpu_milli);
    value[OWN_MEMORY] = number(w, role->resources.memory >> 20);
    value[OWN_SHM] = number(w, role->resources.shm >> 20);
    value[OWN_GPU] = milli_text(w, role->resources.gpu_milli);
    value[OWN_RESOURCE] = resource_text(w, role);
    value[OWN_MIN_FAILED] = count_text(w, role->done.failed);
    value[OWN_MIN_SUCCEEDED] = count_text(w, role->done.succeeded);
    value[OWN_ADDRESS] = task->address;
    value[OWN_HTTP] = port_text(w, V1_LABEL_HTTP);
    value[OWN_SSH] = port_text(w, V1_LABEL_SSH);
    value[OWN_PORTS] = ports_text(w);
    value[OWN_CONTAINER_ID] =
        arena_printf(w->arena, "%s-%u-%s-%u-%u", job_id_format(id, w->place->id),
                     w->place->generation, role->name, task->index, task->attempt);
}

static void add_own(struct writer *w)
{
    const char *value[OWN_N] = { NULL };
    value_job(w, value);
    value_task(w, value);
    for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
        add(w, own_names[i].name, value[own_names[i].value]);
    for (uint32_t i = 0; i < w->task->n_ports; i++) {
        const struct placed_port *port = &w->task->ports[i];
        const char *shell = shell_form(w->arena, port->label), *text = numbers_text(w, port);
        add(w, arena_printf(w->arena, "PAI_CONTAINER_HOST_%s_PORT_LIST", port->label), text);
        if (shell)
            add(w, arena_printf(w->arena, "PAI_CONTAINER_HOST_%s_PORT_LIST", shell), text);
    }
}

/* ---- names of the Kubernetes releases that version 2 has beside ---- */

static const char *device_list(struct writer *w)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (uint32_t i = 0; i < w->task->n_gpus; i++)
        buf_addf(&text, "%s%u", i ? "," : "", w->task->gpus[i]);
    return keep(w, &text);
}

/* Identity as FrameworkController had it: unique ids are made of the job's, attempts count from 0.
 */
static void add_framework(struct writer *w)
{
    struct arena *a = w->arena;
    char text[JOB_ID_TEXT];
    const char *id = arena_strdup(a, job_id_format(text, w->place->id));
    const struct role_view *view = &w->roles[w->task->role];
    const char *role = view->spelled[SPELL_CONVERTED] ? view->spelled[SPELL_CONVERTED]
                                                      : view->spelled[SPELL_WRITTEN];
    uint32_t generation = w->place->generation ? w->place->generation - 1 : 0;
    uint32_t attempt = w->task->attempt ? w->task->attempt - 1 : 0;
    const char *run = arena_printf(a, "%s-%u", id, generation);
    const char *role_id = arena_printf(a, "%s-%s", run, role);
    const char *task_id = arena_printf(a, "%s-%u", role_id, w->task->index);
    const char *pod_id = arena_printf(a, "%s-%u", task_id, attempt);
    add(w, "FC_FRAMEWORK_NAMESPACE", "default");
    add(w, "FC_FRAMEWORK_NAME", id);
    add(w, "FC_FRAMEWORK_UID", id);
    add(w, "FC_FRAMEWORK_ATTEMPT_ID", number(w, generation));
    add(w, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", run);
    add(w, "FC_CONFIGMAP_NAME", arena_printf(a, "%s-attempt", id));
    add(w, "FC_CONFIGMAP_UID", run);
    add(w, "FC_TASKROLE_NAME", role);
    add(w, "FC_TASKROLE_UID", role_id);
    add(w, "FC_TASK_INDEX", number(w, w->task->index));
    add(w, "FC_TASK_UID", task_id);
    add(w, "FC_TASK_ATTEMPT_ID", number(w, attempt));
    add(w, "FC_TASK_ATTEMPT_INSTANCE_UID", pod_id);
    add(w, "FC_POD_NAME", arena_printf(a, "%s-%s-%u", id, role, w->task->index));
    add(w, "FC_POD_UID", pod_id);
    add(w, "HIVED_VISIBLE_DEVICES", device_list(w));
}

/* ---- what everybody knows of everybody ---- */

static void add_label(struct writer *w, const char *role, uint32_t index, const char *label,
                      const char *text)
{
    add(w, arena_printf(w->arena, "PAI_PORT_LIST_%s_%u_%s", role, index, label), text);
    add(w, arena_printf(w->arena, "PAI_%s_%u_%s_PORT", role, index, label), text);
}

static void add_peer(struct writer *w, const char *role, const struct task_place *task)
{
    add(w, arena_printf(w->arena, "PAI_HOST_IP_%s_%u", role, task->index), task->address);
    for (uint32_t i = 0; i < task->n_ports; i++) {
        const char *label = task->ports[i].label, *shell = shell_form(w->arena, label);
        const char *text = numbers_text(w, &task->ports[i]);
        add_label(w, role, task->index, label, text);
        if (shell)
            add_label(w, role, task->index, shell, text);
    }
}

static void add_role(struct writer *w, const struct role *role, const struct role_view *view,
                     const char *name)
{
    struct arena *a = w->arena;
    add(w, arena_printf(a, "PAI_TASK_ROLE_TASK_COUNT_%s", name), number(w, view->count));
    add(w, arena_printf(a, "PAI_RESOURCE_%s", name), resource_text(w, role));
    add(w, arena_printf(a, "PAI_MIN_FAILED_TASK_COUNT_%s", name), count_text(w, role->done.failed));
    add(w, arena_printf(a, "PAI_MIN_SUCCEEDED_TASK_COUNT_%s", name),
        count_text(w, role->done.succeeded));
    add(w, arena_printf(a, "PAI_TASK_ROLE_%s_HOST_LIST", name), host_list_text(w, view));
}

/* Names as written first: where two forms make the same variable, that one holds. Roles before
 * single tasks: they are few. */
static void write_peers(struct writer *w)
{
    for (size_t s = 0; s < SPELL_N; s++)
        for (size_t i = 0; i < w->job->n_roles; i++)
            if (w->roles[i].spelled[s])
                add_role(w, &w->job->roles[i], &w->roles[i], w->roles[i].spelled[s]);
    for (size_t s = 0; s < SPELL_N; s++)
        for (uint32_t t = 0; t < w->place->n; t++) {
            const struct task_place *task = &w->place->tasks[t];
            if (w->roles[task->role].spelled[s] && placed(task))
                add_peer(w, w->roles[task->role].spelled[s], task);
        }
}

struct peers { /* what a task with that share could be told of all others */
    struct pairs pairs;
    size_t omitted;
};

static const void *make_peers(struct arena *arena, const void *arg)
{
    struct peers *peers = arena_alloc(arena, sizeof *peers);
    *peers = (struct peers){ .omitted = 0 };
    struct writer w = *(const struct writer *)arg;
    w.arena = arena;
    w.seen = string_map_create();
    w.out = &peers->pairs;
    w.left = budget(&w);
    w.omitted = 0;
    write_peers(&w);
    string_map_destroy(w.seen);
    peers->omitted = w.omitted;
    return peers;
}

/* Of those what fits beside the task's own variables. */
static void add_peers(struct writer *w)
{
    char key[64];
    snprintf(key, sizeof key, "openpai.peers.%d.%zu", w->v2, budget(w));
    const struct peers *peers = place_cache_get(w->place, w->arena, key, make_peers, w);
    w->omitted += peers->omitted;
    for (size_t i = 0; i < peers->pairs.n; i++) {
        const struct pair *pair = &peers->pairs.at[i];
        if (!string_map_get(w->seen, pair->name) && room(w, pair->name, pair->value))
            append(w, *pair);
    }
    if (w->omitted > 0) {
        place_leave_out(w->place, "PAI_* of single tasks");
        w->left = VALUE_MAX;
        add(w, "PAI_OMITTED_VARIABLES", number(w, w->omitted));
    }
}

static void write_all(struct writer *w)
{
    w->seen = string_map_create();
    w->left = budget(w);
    w->roles = place_cache_get(w->place, w->arena, "openpai.roles", view_roles, w);
    add_own(w);
    if (w->v2)
        add_framework(w);
    add_peers(w);
    string_map_destroy(w->seen);
}

void v1_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
            uint32_t flat, const struct site *site, struct pairs *out)
{
    struct writer w = { .arena = arena,
                        .job = job,
                        .place = place,
                        .task = &place->tasks[flat],
                        .site = site,
                        .out = out };
    write_all(&w);
}

void v2_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
            uint32_t flat, const struct site *site, struct pairs *out)
{
    struct writer w = { .arena = arena,
                        .job = job,
                        .place = place,
                        .task = &place->tasks[flat],
                        .site = site,
                        .v2 = true,
                        .out = out };
    write_all(&w);
}
