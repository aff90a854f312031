/* The environment that DLRover gives the pods of an ElasticJob, and $(NAME) in the job's own
 * values.
 *
 * Inputs: the canonical job, its placement. Effects: variables added to out, in the arena.
 *
 * Caveats: a pod's number (NODE_ID) grows with every relaunch; there all pods of a type count on
 * together, here each task by the number of replicas, so that no two are ever the same. Addresses
 * of TF_CONFIG are the tasks' own, there those of services. */
#include "dialect/elasticjob/env.h"

#include "base/buf.h"
#include "dialect/elasticjob/extra.h"
#include "dialect/elasticjob/names.h"
#include "dialect/elasticjob/pods.h"
#include "dialect/place_cache.h"
#include "job/uuid.h"

enum {
    VALUE_MAX = 131071,
    CLUSTER_MAX = VALUE_MAX - 256, /* the task's own part follows */
};

static const char *const own_variables[] = {
    "POD_NAME",
    "POD_IP",
    "NODE_IP",
    "ELASTIC_JOB_NAME",
    "JOB_UID",
    "NODE_TYPE",
    "NODE_ID",
    "NODE_NUM",
    "NODE_RANK",
    "WORKER_TYPE",
    "WORKER_ID",
    "WORKER_NUM",
    "WORKER_RANK",
    "RANK",
    "WORLD_SIZE",
    "DLROVER_MASTER_ADDR",
    "DLROVER_MASTER_SERVICE_TYPE",
    "DLROVER_TRAINING_ELASTIC_MODE",
    "DLROVER_EXTENSION_DYNAMIC_FAILOVER",
    "GRPC_ENABLE_FORK_SUPPORT",
    "MONITOR_ENABLED",
    "TF_CONFIG",
};

bool ej_own_variable(const char *name)
{
    for (size_t i = 0; i < sizeof own_variables / sizeof own_variables[0]; i++)
        if (strcmp(name, own_variables[i]) == 0)
            return true;
    return false;
}

struct writer {
    struct arena *arena;
    const struct job_spec *job;
    const struct job_place *place;
    const struct task_place *task;
    const struct role *role;
    struct pairs *out;
};

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- who the task is ---- */

/* Workers as the job was written: one of them may be the chief. */
static uint32_t nodes_of(const struct writer *w)
{
    const struct role *worker = job_role(w->job, "worker", NULL);
    uint32_t n = worker ? worker->replicas : 0;
    n += ej_extra_flag(w->job, "chiefIsWorker");
    return n ? n : w->role->replicas;
}

static void put_task(struct writer *w)
{
    struct pairs *out = w->out;
    const char *type = w->role->name;
    uint32_t id = ej_pod_id(w->role, w->task), rank = w->task->index, nodes = nodes_of(w);
    pairs_set(out, w->arena, "POD_NAME", ej_pod_name(w->arena, w->job, w->task));
    pairs_set(out, w->arena, "POD_IP", text_or_empty(w->task->address));
    pairs_set(out, w->arena, "NODE_IP", text_or_empty(w->task->address));
    static const char *const fronts[] = { "NODE", "WORKER" };
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        const char *front = fronts[i];
        pairs_set(out, w->arena, arena_printf(w->arena, "%s_TYPE", front), type);
        pairs_setf(out, w->arena, arena_printf(w->arena, "%s_ID", front), "%u", id);
        pairs_setf(out, w->arena, arena_printf(w->arena, "%s_NUM", front), "%u", nodes);
        pairs_setf(out, w->arena, arena_printf(w->arena, "%s_RANK", front), "%u", rank);
    }
}

static void put_job(struct writer *w)
{
    char uuid[UUID_TEXT];
    const char *service = ej_extra_text(w->job, "service");
    const char *mode = ej_extra_text(w->job, "elasticMode");
    pairs_set(w->out, w->arena, "ELASTIC_JOB_NAME", text_or_empty(w->job->name));
    pairs_set(w->out, w->arena, "JOB_UID", uuid_of_job(uuid, w->place->id));
    pairs_setf(w->out, w->arena, "DLROVER_MASTER_ADDR", "elasticjob-%s-" EJ_MASTER ":50001",
               text_or_empty(w->job->name));
    pairs_set(w->out, w->arena, "DLROVER_MASTER_SERVICE_TYPE", service ? service : "grpc");
    pairs_set(w->out, w->arena, "DLROVER_TRAINING_ELASTIC_MODE", mode ? mode : "base");
    pairs_set(w->out, w->arena, "DLROVER_EXTENSION_DYNAMIC_FAILOVER", "");
    pairs_set(w->out, w->arena, "GRPC_ENABLE_FORK_SUPPORT", "false");
    pairs_set(w->out, w->arena, "MONITOR_ENABLED", "true");
}

/* ---- TF_CONFIG ---- */

static uint32_t port_of(const struct task_place *task)
{
    for (uint32_t i = 0; i < task->n_ports; i++)
        if (strcmp(task->ports[i].label, EJ_PORT) == 0 && task->ports[i].count > 0)
            return task->ports[i].numbers[0];
    return 0;
}

/* The evaluator stands beside the cluster, as TensorFlow has it. NULL: too long, as when addresses
 * are not known yet. */
static const void *make_cluster(struct arena *arena, const void *arg)
{
    static const char *const types[] = { "chief", "ps", "worker" };
    const struct writer *w = arg;
    AUTO_BUF struct buf text = BUF_INIT(CLUSTER_MAX);
    bool any = false;
    buf_puts(&text, "{\"cluster\":{");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        uint32_t role;
        const char *comma = "";
        if (!job_role(w->job, types[i], &role))
            continue;
        buf_addf(&text, "%s\"%s\":[", any ? "," : "", types[i]);
        for (uint32_t t = 0; t < w->place->n && !text.overflow; t++) {
            const struct task_place *task = &w->place->tasks[t];
            if (task->role != role)
                continue;
            buf_addf(&text, "%s\"%s:%u\"", comma, text_or_empty(task->address), port_of(task));
            comma = ",";
        }
        buf_putc(&text, ']');
        any = true;
    }
    buf_putc(&text, '}');
    return text.overflow ? NULL : arena_strdup(arena, buf_str(&text));
}

/* Neither addresses nor names of roles have characters that JSON would escape. */
static void put_tf_config(struct writer *w)
{
    const char *cluster =
        place_cache_get(w->place, w->arena, "elasticjob.cluster", make_cluster, w);
    if (cluster)
        pairs_setf(w->out, w->arena, "TF_CONFIG", "%s,\"task\":{\"type\":\"%s\",\"index\":%u}}",
                   cluster, w->role->name, w->task->index);
    else
        place_leave_out(w->place, "TF_CONFIG");
}

void ej_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
            uint32_t flat, const struct site *site, struct pairs *out)
{
    (void)site;
    struct writer w = { .arena = arena, .job = job, .place = place, .out = out };
    w.task = &place->tasks[flat];
    w.role = &job->roles[w.task->role];
    const char *strategy = text_or_empty(ej_extra_text(job, "strategy"));
    put_task(&w);
    put_job(&w);
    if (strcmp(strategy, "AllreduceStrategy") ==
        0) { /* of nodes; the launcher says them of ranks */
        pairs_setf(out, arena, "RANK", "%u", w.task->index);
        pairs_setf(out, arena, "WORLD_SIZE", "%u", nodes_of(&w));
    } else if (strcmp(strategy, "ParameterServerStrategy") == 0) {
        put_tf_config(&w);
    }
}

/* ---- $(NAME) ---- */

static const char *fact(struct arena *arena, const struct dialect_task *task, const char *name)
{
    const struct task_place *place = &task->place->tasks[task->flat];
    char uuid[UUID_TEXT];
    if (strcmp(name, "spec.nodeName") == 0)
        return text_or_empty(place->node);
    if (strcmp(name, "metadata.relaunched") == 0)
        return arena_printf(arena, "%u", place->attempt > 0 ? place->attempt - 1 : 0);
    if (strcmp(name, "metadata.uid") == 0)
        return arena_strdup(
            arena, uuid_of(uuid, "pod", task->place->id, ej_pod_name(arena, task->job, place)));
    return NULL;
}

/* Kubernetes' rule: $(NAME) of a variable that is known, $$ is one $, everything else stays. */
const char *ej_expand(struct arena *arena, const struct dialect_task *task,
                      const struct pairs *known, const char *value)
{
    if (!strchr(value, '$'))
        return value;
    AUTO_BUF struct buf out = BUF_INIT(VALUE_MAX);
    for (const char *p = value; *p;) {
        size_t n = p[0] == '$' && p[1] == '(' ? strcspn(p + 2, ")") : 0;
        const char *name = n && p[2 + n] == ')' ? arena_strndup(arena, p + 2, n) : NULL;
        const char *found = name ? pairs_get(known, name) : NULL;
        found = name && !found ? fact(arena, task, name) : found;
        if (found) {
            buf_puts(&out, found);
            p += n + 3;
            continue;
        }
        buf_putc(&out, *p);
        p += p[0] == '$' && p[1] == '$' ? 2 : 1;
    }
    return out.overflow ? value : arena_strdup(arena, buf_str(&out));
}
