/* Tasks as Pods, and what happened as Events: of pods, as the core tells it in the words of their
 * system, and of the job itself. */
#include "api/k8s/kube.h"
#include "api/view_trees.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define EVENTS_MAX  200 /* of a job itself */
#define PART        64u /* tasks of a job that are looked at together */
#define MASTER_HEAD "elasticjob-"
#define MASTER_TAIL "-dlrover-master-0"
#define WORKER_MARK "-edljob-"

struct each {
    struct kube_want *want;
    struct kube_sink *sink;
    uint64_t last; /* event of the job in hand */
};

static const char *word(const struct text_node *map, const char *key)
{
    return kube_in(map, key, NULL);
}

static uint64_t number(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_INT ? (uint64_t)node->integer : 0;
}

/* Names of jobs in other formats may have characters that are not allowed there. */
static const char *name_of(struct kube *k, const struct text_node *pod)
{
    return kube_name(k->scratch, word(pod, "name"));
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

static const char *phase_of(const char *status)
{
    if (is(status, "Running") || is(status, "Terminating"))
        return "Running";
    if (is(status, "Completed"))
        return "Succeeded";
    return is(status, "Pending") || is(status, "ContainerCreating") ? "Pending" : "Failed";
}

static void put_state(struct arena *a, struct text_node *container, const struct text_node *pod,
                      const char *status)
{
    struct text_node *state = text_map(a, container, "state"), *one;
    const char *phase = phase_of(status);
    if (is(phase, "Pending")) {
        if (is(status, "Pending"))
            return;
        one = text_map(a, state, "waiting");
        text_str(a, one, "reason", status);
    } else if (is(phase, "Running")) {
        one = text_map(a, state, "running");
        text_str(a, one, "startedAt", facade_time(a, number(pod, "started_ms")));
    } else {
        one = text_map(a, state, "terminated");
        const struct text_node *code = text_get(pod, "exit_code");
        text_int(a, one, "exitCode", code ? code->integer : is(phase, "Failed"));
        text_str(a, one, "reason", status);
        text_str(a, one, "startedAt", facade_time(a, number(pod, "started_ms")));
        text_str(a, one, "finishedAt", facade_time(a, number(pod, "ended_ms")));
    }
}

static const char *image_of(const struct text_node *pod)
{
    return *word(pod, "image") ? word(pod, "image") : "muster";
}

static void put_container_status(struct arena *a, struct text_node *status,
                                 const struct text_node *pod)
{
    struct text_node *one = text_map(a, text_list(a, status, "containerStatuses"), NULL);
    bool ready = is(word(pod, "ready"), "1/1");
    text_str(a, one, "name", "main");
    text_bool(a, one, "ready", ready);
    text_bool(a, one, "started", ready);
    text_int(a, one, "restartCount", (int64_t)number(pod, "restarts"));
    text_str(a, one, "image", image_of(pod));
    text_str(a, one, "imageID", "");
    put_state(a, one, pod, word(pod, "status"));
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

static void put_status(struct arena *a, struct text_node *object, const struct text_node *pod)
{
    struct text_node *status = text_map(a, object, "status");
    const char *phase = phase_of(word(pod, "status"));
    bool placed = *word(pod, "node") || !text_get(pod, "task"),
         ready = is(word(pod, "ready"), "1/1");
    text_str(a, status, "phase", phase);
    struct text_node *conditions = text_list(a, status, "conditions");
    put_condition(a, conditions, "PodScheduled", placed, placed ? NULL : "Unschedulable");
    put_condition(a, conditions, "Ready", ready, NULL);
    if (*word(pod, "ip")) {
        text_str(a, status, "podIP", word(pod, "ip"));
        text_str(a, text_map(a, text_list(a, status, "podIPs"), NULL), "ip", word(pod, "ip"));
        text_str(a, status, "hostIP", word(pod, "ip"));
    }
    if (number(pod, "started_ms"))
        text_str(a, status, "startTime", facade_time(a, number(pod, "started_ms")));
    if (placed)
        put_container_status(a, status, pod);
    text_str(a, status, "qosClass", "Burstable");
}

static void put_containers(struct arena *a, struct text_node *spec, const struct text_node *pod)
{
    struct text_node *one = text_map(a, text_list(a, spec, "containers"), NULL);
    const struct text_node *requests = text_get(pod, "requests");
    text_str(a, one, "name", "main");
    text_str(a, one, "image", image_of(pod));
    if (*word(pod, "command")) {
        struct text_node *command = text_list(a, one, "command");
        text_str(a, command, NULL, "/bin/bash");
        text_str(a, command, NULL, "-c");
        text_str(a, command, NULL, word(pod, "command"));
    }
    struct text_node *resources = text_map(a, one, "resources");
    if (requests) {
        text_share(a, resources, "requests", requests);
        const struct text_node *gpu = text_get(requests, "nvidia.com/gpu");
        if (gpu)
            text_str(a, text_map(a, resources, "limits"), "nvidia.com/gpu", gpu->str);
    }
}

static void put_spec(struct arena *a, struct text_node *object, const struct text_node *pod,
                     bool brief)
{
    struct text_node *spec = text_map(a, object, "spec");
    if (!brief)
        put_containers(a, spec, pod);
    text_str(a, spec, "restartPolicy", "Never");
    text_str(a, spec, "schedulerName", "default-scheduler");
    if (*word(pod, "node"))
        text_str(a, spec, "nodeName", word(pod, "node"));
}

/* What the pod itself is told by the downward API (dialect/elasticjob/env.c). */
static const char *uid_of(struct arena *a, const struct kube_job *job, const struct text_node *pod)
{
    return kube_uid(a, "pod", job->id, word(pod, "name"));
}

static void put_pod(struct kube *k, const struct kube_job *job, const struct text_node *pod,
                    const struct each *e)
{
    struct arena *a = k->scratch;
    bool ending = is(word(pod, "status"), "Terminating");
    struct kube_meta meta = { .name = name_of(k, pod),
                              .ns = job->ns,
                              .uid = uid_of(a, job, pod),
                              .version = e->last,
                              .created_ms = number(pod, "created_ms"),
                              .deleted_ms = ending ? number(pod, "created_ms") : 0,
                              .from = pod };
    struct text_node *object = kube_object(a, kube_resource("", "v1", "pods"), &meta);
    kube_owner(a, object, job->name, job->uid);
    put_spec(a, object, pod, e->want->brief);
    put_status(a, object, pod);
    e->sink->put(e->sink, object, e->last);
}

/* Of a large job some, where the rest may follow. */
static const struct text_node *pods_of(struct kube *k, const struct kube_job *job,
                                       const struct each *e, const struct pod_ask *what)
{
    struct err err;
    struct pod_ask ask = *what;
    const struct kube_rest rest = { .job = job->id, .first = e->want->first + PART };
    ask.owner = k->call->owner;
    ask.job = job->listed;
    ask.first = e->want->first;
    ask.tasks = e->want->rests ? PART : 0;
    if (job->shown && e->want->rests && job->listed->row.tasks > rest.first)
        vec_push(&e->want->rests->at, rest);
    const struct text_node *tree =
        job->shown ? ctl_pods_tree(k->ctl, k->scratch, &ask, &err) : NULL;
    const struct text_node *list = tree ? text_get(tree, "pods") : NULL;
    return list ? list->first : NULL;
}

static int put_pods(struct kube *k, const struct kube_job *job, void *arg)
{
    struct each *e = arg;
    const char *name = e->want->name;
    const struct pod_ask what = { .labels = true, .details = !e->want->brief };
    e->last = ctl_last_of(k->ctl, job->id);
    for (const struct text_node *pod = pods_of(k, job, e, &what); pod; pod = pod->next)
        if (!name || is(name, name_of(k, pod)))
            put_pod(k, job, pod, e);
    return 0;
}

int pods_each(struct kube *k, struct kube_want *want, struct kube_sink *sink)
{
    struct each e = { .want = want, .sink = sink };
    struct kube_want jobs = *want;
    struct arena *arena = arena_create();
    int rc = 0;
    jobs.gone = false;
    jobs.name = want->name ? job_of(arena, want->name) : NULL;
    if (jobs.name || !want->name)
        rc = kube_each_job(k, &jobs, put_pods, &e);
    want->next = jobs.next;
    arena_destroy(arena);
    return rc;
}

/* ---- events ---- */

struct happened { /* one event */
    const char *name, *kind, *about, *uid, *api;
    const char *type, *reason, *message, *from;
    uint64_t first_ms, last_ms, count;
};

static void put_event(struct kube *k, const struct kube_job *job, const struct happened *h,
                      const struct each *e)
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

static void put_pod_events(struct kube *k, const struct kube_job *job, const struct text_node *pod,
                           const struct each *e)
{
    const struct text_node *list = text_get(pod, "events");
    const char *name = name_of(k, pod);
    size_t n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        struct happened h = { .name = arena_printf(k->scratch, "%s.%zx", name, n++),
                              .kind = "Pod",
                              .about = name,
                              .uid = uid_of(k->scratch, job, pod),
                              .api = "v1",
                              .type = word(one, "type"),
                              .reason = word(one, "reason"),
                              .message = word(one, "message"),
                              .from = word(one, "from"),
                              .first_ms = number(one, "first_ms"),
                              .last_ms = number(one, "last_ms"),
                              .count = number(one, "count") };
        put_event(k, job, &h, e);
    }
}

/* "task.started" is told of its pod; "submitted" becomes "Submitted". */
static void put_job_events(struct kube *k, const struct kube_job *job, const struct each *e)
{
    struct arena *a = k->scratch;
    struct err err;
    const struct ctl_events ask = { .reader = k->call->owner, .job = job->id, .limit = EVENTS_MAX };
    const struct text_node *list = tree_of_events(k->ctl, a, &ask, &err);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *type = word(one, "type");
        if (strchr(type, '.') || is(type, "noted"))
            continue;
        char *reason = arena_strdup(a, type);
        reason[0] =
            (char)(reason[0] >= 'a' && reason[0] <= 'z' ? reason[0] - 'a' + 'A' : reason[0]);
        struct happened h = { .name = arena_printf(a, "%s.%llx", job->name,
                                                   (unsigned long long)number(one, "seq")),
                              .kind = "ElasticJob",
                              .about = job->name,
                              .uid = job->uid,
                              .api = KUBE_GROUP "/v1alpha1",
                              .type = is(word(one, "state"), "failed") ? "Warning" : "Normal",
                              .reason = reason,
                              .message = word(one, "text"),
                              .from = "muster",
                              .first_ms = number(one, "at_ms"),
                              .last_ms = number(one, "at_ms"),
                              .count = 1 };
        put_event(k, job, &h, e);
    }
}

static int put_events(struct kube *k, const struct kube_job *job, void *arg)
{
    struct each *e = arg;
    const char *about = e->want->about;
    e->last = ctl_last_of(k->ctl, job->id);
    if (e->want->first == 0 && (!about || is(about, job->name)))
        put_job_events(k, job, e);
    const struct pod_ask what = { .events = true };
    for (const struct text_node *pod = pods_of(k, job, e, &what); pod; pod = pod->next)
        if (!about || is(about, name_of(k, pod)))
            put_pod_events(k, job, pod, e);
    return 0;
}

/* What an event is about is a job or a pod of one. */
int pod_events_each(struct kube *k, struct kube_want *want, struct kube_sink *sink)
{
    struct each e = { .want = want, .sink = sink };
    struct kube_want jobs = *want;
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
    arena_destroy(arena);
    return rc;
}
