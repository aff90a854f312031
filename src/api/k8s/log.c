/* `kubectl logs`: the output of a pod's attempt as it is, or followed; of the master's pod, which
 * is the server, the events of its job. */
#include "api/k8s/log.h"

#include "answer/events.h"
#include "answer/pods.h"
#include "api/k8s/answer.h"
#include "api/k8s/jobs.h"
#include "api/k8s/object.h"
#include "api/k8s/read.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/scan.h"

#include <string.h>

#define EVENTS_BYTES (2u << 20)
#define EVENTS_MAX   1000

/* ---- which ---- */

struct pod_task {
    uint64_t job;
    bool master;
    const char *role;
    uint32_t index;
};

static int find_place(struct kube *k, const struct kube_job *job, void *arg)
{
    struct pod_task *p = arg;
    struct err err;
    struct pod_ask ask = { .owner = k->call->owner, .job = job->listed, .like = k->name };
    struct pod_list list = { 0 };
    answer_pods_view(k->ctl, k->scratch, &ask, &list, &err);
    for (size_t i = 0; i < list.n; i++) {
        const struct pod_view *pod = &list.at[i];
        if (strcmp(kube_name(k->scratch, pod->name), k->name) != 0)
            continue;
        *p = (struct pod_task){ .job = job->id,
                                .master = !pod->role,
                                .role = arena_strdup(k->arena, pod->role),
                                .index = pod->index };
    }
    return 0;
}

/* ---- how much ---- */

static bool read_query(struct kube *k, struct facade_log *ask, struct err *err)
{
    struct call *call = k->call;
    uint64_t since = 0, now = clock_wall_ms();
    const char *tail = http_query(call->request, "tailLines", 0);
    const char *from = http_query(call->request, "sinceTime", 0);
    bool all = !tail || strcmp(tail, "-1") == 0;
    ask->limited = http_query(call->request, "limitBytes", 0) != NULL;
    if (!call_u64(call, "limitBytes", 1, INT64_MAX, &ask->limit, err) ||
        !call_u64(call, "sinceSeconds", 1, UINT32_MAX, &since, err) ||
        (!all && !call_u64(call, "tailLines", 0, INT32_MAX, &ask->lines, err)))
        return false;
    if (from && !kube_time(from))
        return err_set(err, ERR_INPUT, "sinceTime is \"%.40s\"", from), false;
    ask->since_us = since && now > since * 1000 ? (now - since * 1000) * 1000 : 0;
    ask->since_us = from ? kube_time(from) * 1000 : ask->since_us;
    ask->skips = !all && ask->lines == 0;
    ask->times = call_flag(call, "timestamps");
    ask->follow = call_flag(call, "follow");
    ask->previous = call_flag(call, "previous");
    return true;
}

/* ---- what ---- */

static void master_log(struct kube *k, const struct pod_task *p)
{
    struct err err;
    AUTO_BUF struct buf text = BUF_INIT(EVENTS_BYTES);
    const struct event_query ask = { .reader = k->call->owner, .job = p->job, .limit = EVENTS_MAX };
    struct event_list list = { 0 };
    char at[FMT_MAX];
    answer_events_view(k->ctl, k->arena, &ask, &list, &err);
    for (const struct event_view *one = list.at; one < list.at + list.n; one++)
        buf_addf(&text, "%s %s%s%s %s\n", fmt_time(at, one->at_ms), one->type, one->task ? " " : "",
                 one->task ? one->task : "", one->text ? one->text : "");
    kube_text(k, 200, "text/plain", &text);
}

static void no_output(struct kube *k, const struct text_node *pod, bool previous)
{
    bool pending = strcmp(kube_in(pod, "status", "phase"), "Pending") == 0;
    if (previous)
        kube_bad(k, "previous terminated container \"main\" in pod \"%.260s\" not found", k->name);
    else
        kube_bad(k, "container \"main\" in pod \"%.260s\" is waiting to start: %s", k->name,
                 pending && !text_get(text_get(pod, "status"), "containerStatuses")
                     ? "the pod has no node yet"
                     : "ContainerCreating");
}

static void task_log(struct kube *k, const struct pod_task *p, const struct text_node *pod)
{
    struct facade_log ask = { .job = p->job, .role = p->role, .index = p->index };
    struct err err = { 0 };
    if (!read_query(k, &ask, &err))
        kube_problem(k, &err, NULL);
    else if (facade_log_stream(k->call, &ask, &err) == 0)
        kube_free(k);
    else if (err.code == ERR_NOT_FOUND)
        no_output(k, pod, ask.previous);
    else
        kube_problem(k, &err, NULL);
}

void pods_log(struct kube *k)
{
    const char *container = http_query(k->call->request, "container", 0);
    struct pod_task place = { 0 };
    const struct text_node *pod = kube_find(k, k->of, k->name);
    const char *owner =
        pod ? kube_in(text_get(text_get(pod, "metadata"), "ownerReferences")->first, "name", NULL)
            : NULL;
    struct kube_selection want = { .ns = k->ns, .name = owner };
    if (pod)
        kube_each_job(k, &want, find_place, &place);
    if (!pod || !place.job)
        kube_not_found(k);
    else if (container && *container && strcmp(container, "main") != 0)
        kube_bad(k, "container %.100s is not valid for pod %.260s", container, k->name);
    else if (place.master)
        master_log(k, &place);
    else
        task_log(k, &place, pod);
}
