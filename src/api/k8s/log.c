/* `kubectl logs`: the output of a pod's attempt as it is, or followed; of the master's pod, which
 * is the server, the events of its job. */
#include "api/k8s/kube.h"

#include "api/log_text.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_MAX  (2u << 20)
#define EVENTS_MAX 1000

struct pod_log {
    struct follower follower; /* first */
    struct kube *k;
    struct log_reader *reader;
    uint64_t tail, left, since_us; /* lines; bytes that may still be sent; 0: all */
    size_t skip;
    bool times, follow, limited, ended, mid_line, idle;
    struct task_ref task;
    uint32_t attempt;
};

static struct pod_log *log_of(struct follower *f)
{
    return (struct pod_log *)(void *)f;
}

/* ---- writing ---- */

static void put(struct pod_log *l, const char *data, size_t len)
{
    if (l->limited && len > l->left)
        len = l->left;
    l->left -= l->limited ? len : 0;
    if (len)
        http_stream_write(l->follower.call->request, data, len);
}

/* Each line begins with when its first piece was written. */
static void put_timed(struct pod_log *l, uint64_t time_us, const char *data, size_t len)
{
    char time[FMT_MAX];
    AUTO_BUF struct buf out = BUF_INIT(CHUNK_MAX);
    fmt_time(time, time_us / 1000);
    while (len) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) + 1 : len;
        if (!l->mid_line)
            buf_addf(&out, "%.23s%03uZ ", time, (unsigned)(time_us % 1000));
        buf_add(&out, data, n);
        l->mid_line = !end;
        data += n;
        len -= n;
    }
    put(l, buf_str(&out), out.len);
}

static bool next(struct pod_log *l, struct log_item *item)
{
    while (!l->idle) {
        l->idle = log_reader_next(l->reader, item) != 1;
        if (!l->idle && (item->gap || item->record.time_us >= l->since_us))
            return true;
    }
    return false;
}

static void drain(struct pod_log *l)
{
    struct log_item item;
    while (http_stream_room(l->follower.call->request) > 0 && !(l->limited && !l->left) &&
           next(l, &item)) {
        if (item.gap)
            continue;
        const char *data = (const char *)item.data + l->skip;
        size_t len = item.record.len - l->skip;
        l->skip = 0;
        if (l->times)
            put_timed(l, item.record.time_us, data, len);
        else
            put(l, data, len);
    }
}

/* The attempt is over when the job is, or when its pod has ended. */
static bool over(struct pod_log *l)
{
    struct kube *k = l->k;
    const struct text_node *pod;
    const char *state;
    if (!l->follow || follow_final(&l->follower, &state))
        return true;
    pod = kube_find(k, k->of, k->name);
    const char *phase = pod ? kube_in(pod, "status", "phase") : "";
    return !pod || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void pump(struct follower *f)
{
    struct pod_log *l = log_of(f);
    if (l->ended)
        return;
    bool last = over(l); /* asked before reading */
    if (last)
        l->idle = false;
    drain(l);
    if (!(l->limited && !l->left) && (!last || !l->idle))
        return;
    l->ended = true;
    follow_end(f);
}

static void on_log(struct follower *f, uint64_t job, struct task_ref task, uint32_t attempt)
{
    struct pod_log *l = log_of(f);
    (void)job;
    if (l->ended || task.role != l->task.role || task.index != l->task.index ||
        attempt != l->attempt)
        return;
    l->idle = false;
    drain(l);
}

static void fini(struct follower *f)
{
    struct pod_log *l = log_of(f);
    log_reader_destroy(l->reader);
    kube_free(l->k);
}

/* ---- the request ---- */

static bool read_query(struct kube *k, struct pod_log *l, struct err *err)
{
    struct call *call = k->call;
    uint64_t since = 0;
    const char *tail = http_query(call->request, "tailLines", 0);
    l->limited = http_query(call->request, "limitBytes", 0) != NULL;
    if (!call_u64(call, "limitBytes", 1, INT64_MAX, &l->left, err) ||
        !call_u64(call, "sinceSeconds", 1, UINT32_MAX, &since, err))
        return false;
    if (tail && strcmp(tail, "-1") != 0 && !call_u64(call, "tailLines", 0, 1000000, &l->tail, err))
        return false;
    uint64_t now = clock_wall_ms();
    l->since_us = since && now > since * 1000 ? (now - since * 1000) * 1000 : 0;
    l->times = call_flag(call, "timestamps");
    l->follow = call_flag(call, "follow");
    return true;
}

/* The pod's job, as the core has it: task and attempt of its last one. */
struct spot {
    uint64_t job;
    const char *task; /* NULL: the master */
    const char *dir;
    struct task_ref ref;
    uint32_t attempt;
};

static int find_place(struct kube *k, const struct kube_job *job, void *arg)
{
    struct spot *p = arg;
    struct err err;
    struct ctl_log *logs;
    size_t n = 0;
    struct pod_ask ask = { .owner = k->call->owner, .job = job->id };
    const struct text_node *tree = ctl_pods_tree(k->ctl, k->scratch, &ask, &err);
    const struct text_node *list = tree ? text_get(tree, "pods") : NULL;
    for (const struct text_node *pod = list ? list->first : NULL; pod; pod = pod->next) {
        if (strcmp(kube_name(k->scratch, kube_in(pod, "name", NULL)), k->name) != 0)
            continue;
        p->job = job->id;
        p->task = text_get(pod, "task") ? arena_strdup(k->arena, kube_in(pod, "task", NULL)) : NULL;
    }
    if (!p->job || !p->task || ctl_logs(k->ctl, k->arena, job->id, &logs, &n, &err))
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_printf(k->scratch, "%s/%u", logs[i].role_name, logs[i].index);
        if (strcmp(name, p->task) != 0 || logs[i].attempt <= p->attempt)
            continue;
        p->attempt = logs[i].attempt;
        p->ref = (struct task_ref){ .role = (uint16_t)logs[i].role, .index = logs[i].index };
        p->dir = logs[i].dir;
    }
    return 0;
}

static void master_log(struct kube *k, uint64_t job)
{
    struct err err;
    AUTO_BUF struct buf text = BUF_INIT(CHUNK_MAX);
    const struct text_node *list = ctl_events_tree(k->ctl, k->arena, job, 0, EVENTS_MAX, &err);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        buf_addf(&text, "%s %s%s%s %s\n", kube_in(one, "at", NULL), kube_in(one, "type", NULL),
                 *kube_in(one, "task", NULL) ? " " : "", kube_in(one, "task", NULL),
                 kube_in(one, "text", NULL));
    kube_text(k, 200, "text/plain", &text);
}

static void begin(struct kube *k, const struct spot *p)
{
    struct pod_log *l = mem_new(sizeof *l);
    struct err err = { 0 };
    *l = (struct pod_log){ .k = k, .task = p->ref, .attempt = p->attempt };
    l->follower = (struct follower){
        .call = k->call, .job = p->job, .pump = pump, .log = on_log, .fini = fini
    };
    const char *tail = http_query(k->call->request, "tailLines", 0);
    if (!read_query(k, l, &err)) {
        free(l);
        kube_problem(k, &err, NULL);
        return;
    }
    l->reader = log_reader_create(p->dir, 0);
    if (tail && strcmp(tail, "-1") != 0) {
        struct log_tail found = { .lines = l->tail ? l->tail : 1 };
        log_tail_find(l->reader, &found);
        log_reader_seek(l->reader, found.offset);
        l->skip = found.skip;
        l->limited |= l->tail == 0 && !l->follow; /* none of what is there */
    }
    follow_begin(&l->follower, "text/plain");
}

void pods_log(struct kube *k)
{
    const char *container = http_query(k->call->request, "container", 0);
    struct spot place = { 0 };
    const struct text_node *pod = kube_find(k, k->of, k->name);
    const char *owner =
        pod ? kube_in(text_get(text_get(pod, "metadata"), "ownerReferences")->first, "name", NULL)
            : NULL;
    struct kube_want want = { .ns = k->ns, .name = owner };
    if (pod)
        kube_each_job(k, &want, find_place, &place);
    if (!pod || !place.job)
        kube_not_found(k);
    else if (container && *container && strcmp(container, "main") != 0)
        kube_bad(k, "container %.100s is not valid for pod %.260s", container, k->name);
    else if (!place.task)
        master_log(k, place.job);
    else if (!place.dir)
        kube_bad(k, "container \"main\" in pod \"%.260s\" is waiting to start: %s", k->name,
                 strcmp(kube_in(pod, "status", "phase"), "Pending") == 0 &&
                         !text_get(text_get(pod, "status"), "containerStatuses")
                     ? "the pod has no node yet"
                     : "ContainerCreating");
    else
        begin(k, &place);
}
