/* The tasks of an ElasticJob as its pods: names, labels, the words of kubectl, and the messages of
 * Koordinator's scheduler (1.3 to 1.6, as on the published page). Pure.
 *
 * A pod that asks for devices is there refused for want of gpu-core and gpu-memory-ratio, which the
 * device plugin makes of nvidia.com/gpu; so it is here. */
#include "dialect/elasticjob/pods.h"

#include "base/buf.h"
#include "dialect/elasticjob/extra.h"
#include "dialect/elasticjob/names.h"
#include "text/json.h"

#include <stdlib.h>

enum { MESSAGE_MAX = 4096 };
#define LABEL "elasticjob.dlrover/"

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

uint32_t ej_pod_id(const struct role *role, const struct task_place *task)
{
    uint32_t relaunched = task->attempt > 0 ? task->attempt - 1 : 0;
    return task->index + relaunched * role->replicas;
}

/* What ej_pod_id makes of it. */
static uint32_t index_of(const struct role *role, uint64_t id)
{
    return role->replicas ? (uint32_t)(id % role->replicas) : 0;
}

const char *ej_pod_name(struct arena *arena, const struct job_spec *job,
                        const struct task_place *task)
{
    const struct role *role = &job->roles[task->role];
    return arena_printf(arena, "%s-edljob-%s-%u", text_or_empty(job->name), role->name,
                        ej_pod_id(role, task));
}

static const char *master_name(struct arena *arena, const struct job_spec *job)
{
    return arena_printf(arena, "elasticjob-%s-" EJ_MASTER "-0", text_or_empty(job->name));
}

static void add_own(struct arena *arena, const struct text_node *kept, struct pairs *out)
{
    for (const struct text_node *one = kept ? kept->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR)
            pairs_set(out, arena, one->key, one->str);
}

/* The template's own, under those that DLRover gives. */
static void labels(struct arena *arena, const struct job_spec *job, const struct task_place *task,
                   struct pairs *out)
{
    if (!task) {
        pairs_set(out, arena, LABEL "name", text_or_empty(job->name));
        for (size_t i = 0; i < job->labels.n; i++)
            pairs_set(out, arena, job->labels.at[i].name, job->labels.at[i].value);
        pairs_set(out, arena, "app.kubernetes.io/name", "elasticjob");
        pairs_set(out, arena, LABEL "replica-type", EJ_MASTER);
        pairs_set(out, arena, LABEL "replica-index", "0");
        return;
    }
    const struct role *role = &job->roles[task->role];
    add_own(arena, ej_pod_metadata(job, role->name, "labels"), out);
    pairs_set(out, arena, LABEL "name", text_or_empty(job->name));
    pairs_set(out, arena, "app", "dlrover");
    pairs_set(out, arena, LABEL "replica-type", role->name);
    pairs_setf(out, arena, LABEL "replica-index", "%u", ej_pod_id(role, task));
    pairs_setf(out, arena, LABEL "rank-index", "%u", task->index);
    pairs_setf(out, arena, LABEL "relaunch-count", "%u", task->attempt > 0 ? task->attempt - 1 : 0);
}

/* The gang itself is among its group, as Koordinator writes it. */
static const char *groups_of(struct arena *arena, const struct job_spec *job,
                             const struct gang *gang)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    const char *project = job->project ? job->project : "default";
    struct text_node *list = text_list(arena, NULL, NULL);
    text_str(arena, list, NULL, arena_printf(arena, "%s/%s", project, gang->name));
    for (size_t i = 0; i < gang->with.n; i++)
        text_str(arena, list, NULL, gang->with.at[i]);
    json_print(list, 0, &text);
    return arena_strdup(arena, buf_str(&text));
}

void ej_gang_notes(struct arena *arena, const struct job_spec *job, const struct role *role,
                   struct pairs *out)
{
    const struct placing *p = &job->placing;
    const struct gang *gang = NULL;
    for (size_t i = 0; i < job->n_gangs && !gang; i++)
        if (words_have(&job->gangs[i].roles, role->name))
            gang = &job->gangs[i];
    if (gang) {
        pairs_set(out, arena, EJ_GANG "name", gang->name ? gang->name : text_or_empty(job->name));
        pairs_setf(out, arena, EJ_GANG "min-available", "%u", gang->min ? gang->min : role->min);
    }
    if (gang && gang->name && gang->with.n)
        pairs_set(out, arena, EJ_GANG "groups", groups_of(arena, job, gang));
    if (p->within)
        pairs_setf(out, arena, EJ_GANG "network-topology-spec",
                   "{\"gatherStrategy\":[{\"layer\":\"%s\",\"strategy\":\"%s\"}]}", p->within,
                   p->within_required ? "MustGather" : "PreferGather");
}

static void annotations(struct arena *arena, const struct job_spec *job,
                        const struct task_place *task, struct pairs *out)
{
    const struct role *role = &job->roles[task->role];
    add_own(arena, ej_pod_metadata(job, role->name, "annotations"), out);
    ej_gang_notes(arena, job, role, out);
}

/* As kubectl writes it: not the phase but what is behind it. */
static const char *status(enum task_state state, const char *phrase)
{
    switch (state) {
    case TASK_STARTING: return "ContainerCreating";
    case TASK_RUNNING: return "Running";
    case TASK_SUCCEEDED: return "Completed";
    case TASK_FAILED: return strcmp(phrase, "OOMKilled") == 0 ? phrase : "Error";
    case TASK_STOPPED: return "Terminating";
    default: return "Pending";
    }
}

/* ---- why a pod waits ---- */

struct reasons {
    struct arena *arena;
    char **at;
    size_t n;
};

static void add(struct reasons *r, uint32_t nodes, const char *what, const char *name)
{
    r->at[r->n++] = arena_printf(r->arena, "%u %s%s", nodes, what, name);
}

static void add_resource(struct reasons *r, const struct unfit *unfit)
{
    static const char insufficient[] = "Insufficient ";
    if (strcmp(unfit->name, "gpu") == 0) {
        add(r, unfit->nodes, insufficient, "koordinator.sh/gpu-core");
        add(r, unfit->nodes, insufficient, "koordinator.sh/gpu-memory-ratio");
        return;
    }
    const char *name = strcmp(unfit->name, "disk") == 0 ? "ephemeral-storage" : unfit->name;
    add(r, unfit->nodes, insufficient, name);
}

static void add_reason(struct reasons *r, const struct unfit *unfit)
{
    switch (unfit->kind) {
    case UNFIT_RESOURCE: add_resource(r, unfit); break;
    case UNFIT_PORT:
        add(r, unfit->nodes, "node(s) didn't have free ports for the requested pod ports", "");
        break;
    case UNFIT_NODE:
        add(r, unfit->nodes, "node(s) didn't match Pod's node affinity/selector", "");
        break;
    case UNFIT_APART:
        add(r, unfit->nodes, "node(s) didn't match pod anti-affinity rules", "");
        break;
    case UNFIT_DRAINED: add(r, unfit->nodes, "node(s) were unschedulable", ""); break;
    case UNFIT_DOWN:
        add(r, unfit->nodes, "node(s) had untolerated taint {node.kubernetes.io/unreachable: }",
            "");
        break;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *unfit(struct arena *arena, const struct unfits *unfits)
{
    AUTO_BUF struct buf out = BUF_INIT(MESSAGE_MAX);
    struct reasons r = { .arena = arena, .at = ARENA_ARRAY(arena, 2 * unfits->n + 1, char *) };
    for (size_t i = 0; i < unfits->n; i++)
        add_reason(&r, &unfits->at[i]);
    qsort(r.at, r.n, sizeof *r.at, by_text);
    buf_addf(&out, "0/%u nodes are available", unfits->nodes);
    for (size_t i = 0; i < r.n; i++)
        buf_addf(&out, "%s%s", i ? ", " : ": ", r.at[i]);
    buf_putc(&out, '.');
    return arena_strdup(arena, buf_str(&out));
}

/* Jobs without the annotations start as one gang as well; it has the job's name. */
static const char *gang_of(const struct job_spec *job, const char *role)
{
    for (size_t i = 0; i < job->n_gangs; i++)
        for (size_t k = 0; k < job->gangs[i].roles.n; k++)
            if (strcmp(job->gangs[i].roles.at[k], role) == 0 && job->gangs[i].name)
                return job->gangs[i].name;
    return text_or_empty(job->name);
}

static const char *rejected(struct arena *arena, const struct job_spec *job,
                            const struct unfits *unfits)
{
    struct task_place member = { .role = unfits->role, .index = unfits->index, .attempt = 1 };
    return arena_printf(arena,
                        "Gang \"%s/%s\" gets rejected due to member Pod \"%s\" is unschedulable "
                        "with reason \"%s\"",
                        job->project ? job->project : "default",
                        gang_of(job, job->roles[unfits->role].name),
                        ej_pod_name(arena, job, &member), unfit(arena, unfits));
}

const struct pod_words ej_pods = {
    .kind = EJ_KIND,
    .scheduler = "default-scheduler",
    .name = ej_pod_name,
    .index = index_of,
    .master = master_name,
    .labels = labels,
    .annotations = annotations,
    .status = status,
    .unfit = unfit,
    .rejected = rejected,
};
