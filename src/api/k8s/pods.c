/* Tasks as Pods, and what happened as Events: of pods, as the core tells it in the words of their
 * system, and of the job itself. */
#include "api/k8s/pods.h"

#include "answer/events.h"
#include "answer/pods.h"
#include "api/k8s/jobs.h"
#include "api/k8s/object.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define EVENTS_MAX  200 /* of a job itself */
#define PART        64u /* tasks of a job that are looked at together */
#define MASTER_HEAD "elasticjob-"
#define MASTER_TAIL "-dlrover-master-0"
#define WORKER_MARK "-edljob-"

struct pod_walk {
    struct kube_selection *want;
    struct kube_sink *sink;
    uint64_t last; /* event of the job in hand */
};

/* Names of jobs in other formats may have characters that are not allowed there. */
static const char *name_of(struct kube *k, const struct pod_view *pod)
{
    return kube_name(k->scratch, pod->name);
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The job whose pod it may be; NULL: of none. */
static const char *job_of(struct arena *arena, const char *pod)
{
    size_t n = strlen(pod), tail = strlen(MASTER_TAIL), head = strlen(MASTER_HEAD);
    const char *mark = NULL;
    if (n > head + tail && strncmp(pod, MASTER_HEAD, head) == 0 && is(pod + n - tail, MASTER_TAIL))
        return arena_strndup(arena, pod + head, n - head - tail);
    for (const char *at = strstr(pod, WORKER_MARK); at; at = strstr(at + 1, WORKER_MARK))
        mark = at;
    return mark ? arena_strndup(arena, pod, (size_t)(mark - pod)) : NULL;
}

/* ---- the pod ---- */

static const char *phase_of(const struct pod_view *pod)
{
    static const char *const words[TASK_STATE_N] = {
        [TASK_NONE] = "Pending",    [TASK_WAITING] = "Pending",     [TASK_STARTING] = "Pending",
        [TASK_RUNNING] = "Running", [TASK_SUCCEEDED] = "Succeeded", [TASK_FAILED] = "Failed",
        [TASK_STOPPED] = "Running", /* until it is removed */
    };
    return words[pod->state];
}

static void put_state(struct arena *a, struct text_node *container, const struct pod_view *pod)
{
    struct text_node *state = text_map(a, container, "state"), *one;
    if (pod->state == TASK_STARTING) {
        one = text_map(a, state, "waiting");
        text_str(a, one, "reason", pod->status);
    } else if (pod->state == TASK_RUNNING || pod->state == TASK_STOPPED) {
        one = text_map(a, state, "running");
        text_str(a, one, "startedAt", facade_time(a, pod->started_ms));
    } else if (task_state_final(pod->state)) {
        one = text_map(a, state, "terminated");
        text_int(a, one, "exitCode",
                 pod->has_exit_code ? pod->exit_code : pod->state == TASK_FAILED);
        text_str(a, one, "reason", pod->status);
        text_str(a, one, "startedAt", facade_time(a, pod->started_ms));
        text_str(a, one, "finishedAt", facade_time(a, pod->ended_ms));
    }
}

static bool has(const char *text)
{
    return text && *text;
}

static const char *image_of(const struct pod_view *pod)
{
    return has(pod->image) ? pod->image : "muster";
}

static void put_container_status(struct arena *a, struct text_node *status,
                                 const struct pod_view *pod)
{
    struct text_node *one = text_map(a, text_list(a, status, "containerStatuses"), NULL);
    text_str(a, one, "name", "main");
    text_bool(a, one, "ready", pod->ready);
    text_bool(a, one, "started", pod->ready);
    text_int(a, one, "restartCount", (int64_t)pod->restarts);
    text_str(a, one, "image", image_of(pod));
    text_str(a, one, "imageID", "");
    put_state(a, one, pod);
}

static void put_condition(struct arena *a, struct text_node *list, const char *type, bool holds,
                          const char *reason)
{
    struct text_node *one = text_map(a, list, NULL);
    text_str(a, one, "type", type);
    text_str(a, one, "status", holds ? "True" : "False");
    if (reason)
        text_str(a, one, "reason", reason);
}

static void put_status(struct arena *a, struct text_node *object, const struct pod_view *pod)
{
    struct text_node *status = text_map(a, object, "status");
    bool placed = has(pod->node) || !pod->task;
    text_str(a, status, "phase", phase_of(pod));
    struct text_node *conditions = text_list(a, status, "conditions");
    put_condition(a, conditions, "PodScheduled", placed, placed ? NULL : "Unschedulable");
    put_condition(a, conditions, "Ready", pod->ready, NULL);
    if (has(pod->ip)) {
        text_str(a, status, "podIP", pod->ip);
        text_str(a, text_map(a, text_list(a, status, "podIPs"), NULL), "ip", pod->ip);
        text_str(a, status, "hostIP", pod->ip);
    }
    if (pod->started_ms)
        text_str(a, status, "startTime", facade_time(a, pod->started_ms));
    if (placed)
        put_container_status(a, status, pod);
    text_str(a, status, "qosClass", "Burstable");
}

static void put_containers(struct arena *a, struct text_node *spec, const struct pod_view *pod)
{
    struct text_node *one = text_map(a, text_list(a, spec, "containers"), NULL);
    text_str(a, one, "name", "main");
    text_str(a, one, "image", image_of(pod));
    if (has(pod->command)) {
        struct text_node *command = text_list(a, one, "command");
        text_str(a, command, NULL, "/bin/bash");
        text_str(a, command, NULL, "-c");
        text_str(a, command, NULL, pod->command);
    }
    struct text_node *resources = text_map(a, one, "resources");
    if (pod->requests) {
        const char *gpu = pairs_get(pod->requests, "nvidia.com/gpu");
        text_pairs(a, text_map(a, resources, "requests"), pod->requests);
        if (gpu)
            text_str(a, text_map(a, resources, "limits"), "nvidia.com/gpu", gpu);
    }
}

static void put_spec(struct arena *a, struct text_node *object, const struct pod_view *pod,
                     bool brief)
{
    struct text_node *spec = text_map(a, object, "spec");
    if (!brief)
        put_containers(a, spec, pod);
    text_str(a, spec, "restartPolicy", "Never");
    text_str(a, spec, "schedulerName", "default-scheduler");
    if (has(pod->node))
        text_str(a, spec, "nodeName", pod->node);
}

/* What the pod itself is told by the downward API (dialect/elasticjob/env.c). */
static const char *uid_of(struct arena *a, const struct kube_job *job, const struct pod_view *pod)
{
    return kube_uid(a, "pod", job->id, pod->name);
}

static void put_pod(struct kube *k, const struct kube_job *job, const struct pod_view *pod,
                    const struct pod_walk *e)
{
    struct arena *a = k->scratch;
    struct kube_meta meta = { .name = name_of(k, pod),
                              .ns = job->ns,
                              .uid = uid_of(a, job, pod),
                              .version = e->last,
                              .created_ms = pod->created_ms,
                              .deleted_ms = pod->state == TASK_STOPPED ? pod->created_ms : 0,
                              .labels = pod->labels,
                              .annotations = pod->annotations };
    struct text_node *object = kube_object(a, kube_resource("", "v1", "pods"), &meta);
    kube_owner(a, object, job->name, job->uid);
    put_spec(a, object, pod, e->want->brief);
    put_status(a, object, pod);
    e->sink->put(e->sink, object, e->last);
}

/* Of a large job some, where the rest may follow. */
static struct pod_list pods_of(struct kube *k, const struct kube_job *job, const struct pod_walk *e,
                               const struct pod_ask *what)
{
    struct err err;
    struct pod_ask ask = *what;
    const struct kube_rest rest = { .job = job->id, .first = e->want->first + PART };
    ask.owner = k->call->owner;
    ask.job = job->listed;
    ask.first = e->want->first;
    ask.tasks = e->want->rests ? PART : 0;
    struct pod_list list = { 0 };
    if (job->shown)
        answer_pods_view(k->ctl, k->scratch, &ask, &list, &err);
    if (job->shown && !list.whole && e->want->rests && job->listed->row.tasks > rest.first)
        vec_push(&e->want->rests->at, rest);
    return list;
}

static int put_pods(struct kube *k, const struct kube_job *job, void *arg)
{
    struct pod_walk *e = arg;
    const char *name = e->want->name;
    const struct pod_ask what = { .labels = true, .details = !e->want->brief, .like = name };
    e->last = ctl_last_of(k->ctl, job->id);
    const struct pod_list pods = pods_of(k, job, e, &what);
    for (size_t i = 0; i < pods.n; i++)
        if (!name || is(name, name_of(k, &pods.at[i])))
            put_pod(k, job, &pods.at[i], e);
    return 0;
}

int pods_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct pod_walk e = { .want = want, .sink = sink };
    struct kube_selection jobs = *want;
    struct arena *arena = arena_create();
    int rc = 0;
    jobs.gone = false;
    jobs.name = want->name ? job_of(arena, want->name) : NULL;
    if (jobs.name || !want->name)
        rc = kube_each_job(k, &jobs, put_pods, &e);
    want->next = jobs.next;
    want->told = jobs.told;
    arena_destroy(arena);
    return rc;
}

/* ---- events ---- */

struct pod_event { /* one event */
    const char *name, *kind, *about, *uid, *api;
    const char *type, *reason, *message, *from;
    uint64_t first_ms, last_ms, count;
};

static void put_event(struct kube *k, const struct kube_job *job, const struct pod_event *h,
                      const struct pod_walk *e)
{
    struct arena *a = k->scratch;
    struct kube_meta meta = { .name = h->name,
                              .ns = job->ns,
                              .uid = kube_uid(a, "event", job->id, h->name),
                              .version = e->last,
                              .created_ms = h->first_ms };
    struct text_node *object = kube_object(a, kube_resource("", "v1", "events"), &meta);
    struct text_node *about = text_map(a, object, "involvedObject");
    text_str(a, about, "kind", h->kind);
    text_str(a, about, "namespace", job->ns);
    text_str(a, about, "name", h->about);
    text_str(a, about, "uid", h->uid);
    text_str(a, about, "apiVersion", h->api);
    text_str(a, object, "type", h->type);
    text_str(a, object, "reason", h->reason);
    text_str(a, object, "message", h->message);
    text_str(a, text_map(a, object, "source"), "component", h->from);
    text_str(a, object, "firstTimestamp", facade_time(a, h->first_ms));
    text_str(a, object, "lastTimestamp", facade_time(a, h->last_ms));
    text_int(a, object, "count", (int64_t)h->count);
    e->sink->put(e->sink, object, e->last);
}

static void put_pod_events(struct kube *k, const struct kube_job *job, const struct pod_view *pod,
                           const struct pod_walk *e)
{
    const char *name = name_of(k, pod);
    for (size_t i = 0; i < pod->events.n; i++) {
        const struct pod_event_view *one = &pod->events.at[i];
        struct pod_event h = { .name = arena_printf(k->scratch, "%s.%zx", name, i),
                               .kind = "Pod",
                               .about = name,
                               .uid = uid_of(k->scratch, job, pod),
                               .api = "v1",
                               .type = one->type,
                               .reason = one->reason,
                               .message = one->message,
                               .from = one->from,
                               .first_ms = one->first_ms,
                               .last_ms = one->last_ms,
                               .count = one->count };
        put_event(k, job, &h, e);
    }
}

/* "task.started" is told of its pod; "submitted" becomes "Submitted". */
static void put_job_events(struct kube *k, const struct kube_job *job, const struct pod_walk *e)
{
    struct arena *a = k->scratch;
    struct err err;
    const struct event_query ask = { .reader = k->call->owner,
                                     .job = job->id,
                                     .limit = EVENTS_MAX };
    struct event_list list = { 0 };
    answer_events_view(k->ctl, a, &ask, &list, &err);
    for (const struct event_view *one = list.at; one < list.at + list.n; one++) {
        if (strchr(one->type, '.') || is(one->type, "noted"))
            continue;
        char *reason = arena_strdup(a, one->type);
        reason[0] =
            (char)(reason[0] >= 'a' && reason[0] <= 'z' ? reason[0] - 'a' + 'A' : reason[0]);
        struct pod_event h = { .name = arena_printf(a, "%s.%llx", job->name,
                                                    (unsigned long long)one->seq),
                               .kind = "ElasticJob",
                               .about = job->name,
                               .uid = job->uid,
                               .api = KUBE_GROUP "/v1alpha1",
                               .type = one->job_state == JOB_FAILED ? "Warning" : "Normal",
                               .reason = reason,
                               .message = one->text ? one->text : "",
                               .from = "muster",
                               .first_ms = one->at_ms,
                               .last_ms = one->at_ms,
                               .count = 1 };
        put_event(k, job, &h, e);
    }
}

static int put_events(struct kube *k, const struct kube_job *job, void *arg)
{
    struct pod_walk *e = arg;
    const char *about = e->want->about;
    e->last = ctl_last_of(k->ctl, job->id);
    if (e->want->first == 0 && (!about || is(about, job->name)))
        put_job_events(k, job, e);
    const struct pod_ask what = { .events = true, .like = about };
    const struct pod_list pods = pods_of(k, job, e, &what);
    for (size_t i = 0; i < pods.n; i++)
        if (!about || is(about, name_of(k, &pods.at[i])))
            put_pod_events(k, job, &pods.at[i], e);
    return 0;
}

/* What an event is about is a job or a pod of one. */
int pod_events_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct pod_walk e = { .want = want, .sink = sink };
    struct kube_selection jobs = *want;
    struct arena *arena = arena_create();
    const char *pod_job = want->about ? job_of(arena, want->about) : NULL;
    jobs.gone = false;
    jobs.name = want->about;
    int rc = 0;
    if (pod_job) {
        jobs.name = pod_job;
        rc = kube_each_job(k, &jobs, put_events, &e);
        jobs = *want;
        jobs.name = want->about;
    }
    if (rc == 0)
        rc = kube_each_job(k, &jobs, put_events, &e);
    want->next = jobs.next;
    want->told = jobs.told;
    arena_destroy(arena);
    return rc;
}
