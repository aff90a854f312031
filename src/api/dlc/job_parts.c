/* What a job leaves: events, output, measures; and what it can be given: instance types, tokens.
 *
 * Measures of pods are not taken here, and no sanity checks are made: their lists are empty, which
 * is what is known. */
#include "api/dlc/documents.h"

#include "answer/events.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>
#include <strings.h>

#define EVENTS_PAGE 1000
#define LINES       2000

/* ---- pods ---- */

/* 0: it has none of that PodUid. */
static uint32_t attempt_of(struct dlc_call *d, const struct dlc_pod *pod, const char *uid)
{
    const struct attempt_list *all = &pod->task->attempts;
    uint32_t found = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint64_t n = all->at[i].attempt;
        if (strcasecmp(dlc_pod_uid(d->arena, pod->job, pod->id, n), uid) == 0)
            found = (uint32_t)n;
    }
    return found;
}

/* "dlc0abc-worker-0" of param 1; its attempt by PodUid. */
bool dlc_pod(struct dlc_call *d, struct dlc_pod *pod)
{
    const char *uid = dlc_query(d, "PodUid");
    struct err err;
    *pod = (struct dlc_pod){ .id = d->param[1] };
    if (!dlc_job(d, d->param[0], &pod->job))
        return false;
    const struct job_ask ask = { .job = pod->job, .owner = d->call->owner, .parts = JOB_TASKS };
    struct job_view job = { 0 };
    answer_job_view(d->ctl, d->arena, &ask, &job, &err);
    for (size_t i = 0; i < job.task_list.n; i++) {
        const struct task_view *task = &job.task_list.at[i];
        if (strcasecmp(dlc_pod_id(d->arena, pod->job, task->role, task->index), pod->id) != 0)
            continue;
        pod->role = task->role;
        pod->index = (uint32_t)task->index;
        pod->task = task;
        pod->attempt = uid ? attempt_of(d, pod, uid) : 0;
        if (!uid || pod->attempt)
            return true;
    }
    dlc_fail(d, 404, "NotFound", "job %.40s has no pod \"%.100s\"%s%.60s", d->param[0], d->param[1],
             uid ? " with PodUid " : "", uid ? uid : "");
    return false;
}

static struct text_node *pod_answer(struct dlc_call *d, const struct dlc_pod *pod)
{
    char id[DLC_JOB_ID_TEXT];
    uint64_t n = pod->attempt ? pod->attempt : pod->task->attempt;
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(id, pod->job));
    text_str(d->arena, out, "PodId", pod->id);
    text_str(d->arena, out, "PodUid", dlc_pod_uid(d->arena, pod->job, pod->id, n));
    return out;
}

void dlc_pod_logs(struct dlc_call *d)
{
    struct dlc_pod pod;
    struct words lines = { 0 };
    struct err err;
    uint64_t most = LINES, since = 0, until = 0;
    if (!dlc_pod(d, &pod) || !dlc_query_u64(d, "MaxLines", 1, 100000, &most) ||
        !dlc_query_time(d, "StartTime", &since) || !dlc_query_time(d, "EndTime", &until))
        return;
    struct facade_log log = { .job = pod.job,
                              .role = pod.role,
                              .index = pod.index,
                              .attempt = pod.attempt,
                              .lines = most,
                              .since_us = since * 1000,
                              .until_us = until * 1000 };
    struct text_node *out = pod_answer(d, &pod);
    struct text_node *list = text_list(d->arena, out, "Logs");
    if (facade_log_lines(d->call, &log, &lines, &err) && err.code != ERR_NOT_FOUND) {
        dlc_err(d, &err, NULL);
        return;
    }
    for (size_t i = 0; i < lines.n; i++)
        text_str(d->arena, list, NULL, lines.at[i]);
    dlc_ok(d, out);
}

/* ---- events ---- */

struct events_ask {
    uint64_t job, since, until, most;
    const char *task; /* "worker/0"; NULL: all */
    uint32_t attempt; /* 0: all */
};

static bool wanted(const struct events_ask *ask, const struct event_view *event)
{
    if (event->at_ms < ask->since || (ask->until && event->at_ms >= ask->until))
        return false;
    if (ask->task && (!event->task || strcmp(event->task, ask->task) != 0))
        return false;
    return !ask->attempt || event->attempt == ask->attempt;
}

/* "2021-01-28 14:07:24 Created pod: dlc...-worker-0" */
static const char *sentence(struct dlc_call *d, uint64_t job, const struct event_view *event)
{
    char at[FMT_MAX];
    const char *text = event->text && *event->text ? event->text : NULL;
    const char *pod = event->role ? dlc_pod_id(d->arena, job, event->role, event->index) : "";
    fmt_time(at, event->at_ms);
    if (strcmp(event->type, "task.placed") == 0)
        return arena_printf(d->arena, "%.10s %.8s Created pod: %s", at, at + 11, pod);
    return arena_printf(d->arena, "%.10s %.8s %s%s%s%s%s", at, at + 11, event->type,
                        *pod ? " pod: " : "", pod, text ? ": " : "", text ? text : "");
}

/* The newest of the window, oldest first. */
static void answer_events(struct dlc_call *d, struct events_ask *ask, struct text_node *out)
{
    struct text_node *all = text_list(d->arena, NULL, NULL);
    struct event_query of = { .reader = d->call->owner, .job = ask->job, .limit = EVENTS_PAGE };
    struct event_list page;
    do {
        page.n = 0;
        answer_events_view(d->ctl, d->arena, &of, &page, NULL);
        for (size_t i = 0; i < page.n; i++) {
            of.after = page.at[i].seq;
            if (page.at[i].at_ms && wanted(ask, &page.at[i]))
                text_str(d->arena, all, NULL, sentence(d, ask->job, &page.at[i]));
        }
    } while (page.n == EVENTS_PAGE);
    struct text_node *list = text_list(d->arena, out, "Events");
    size_t skip = all->count > ask->most ? all->count - (size_t)ask->most : 0;
    for (const struct text_node *one = all->first; one; one = one->next)
        if (skip > 0)
            skip--;
        else
            text_str(d->arena, list, NULL, one->str);
    dlc_ok(d, out);
}

static bool read_events(struct dlc_call *d, struct events_ask *ask)
{
    ask->most = 2000;
    return dlc_query_u64(d, "MaxEventsNum", 1, 10000, &ask->most) &&
           dlc_query_time(d, "StartTime", &ask->since) && dlc_query_time(d, "EndTime", &ask->until);
}

void dlc_job_events(struct dlc_call *d)
{
    struct events_ask ask = { 0 };
    char id[DLC_JOB_ID_TEXT];
    if (!dlc_job(d, d->param[0], &ask.job) || !read_events(d, &ask))
        return;
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(id, ask.job));
    answer_events(d, &ask, out);
}

void dlc_pod_events(struct dlc_call *d)
{
    struct dlc_pod pod;
    struct events_ask ask = { 0 };
    if (!dlc_pod(d, &pod) || !read_events(d, &ask))
        return;
    ask.job = pod.job;
    ask.task = arena_printf(d->arena, "%s/%u", pod.role, pod.index);
    ask.attempt = pod.attempt;
    answer_events(d, &ask, pod_answer(d, &pod));
}

/* ---- measures and checks ---- */

static int add_metrics(void *lists, struct arena *a, struct text_node *to, struct err *err)
{
    struct text_node *pods = text_list(a, NULL, NULL);
    int more = dlc_add_pods(lists, a, pods, err);
    for (const struct text_node *pod = pods->first; pod; pod = pod->next) {
        struct text_node *one = text_map(a, to, NULL);
        text_str(a, one, "PodId", text_get(pod, "PodId")->str);
        text_list(a, one, "Metrics");
    }
    return more;
}

void dlc_job_metrics(struct dlc_call *d)
{
    static const char *const kinds[] = { "GpuCoreUsage", "GpuMemoryUsage",   "CpuCoreUsage",
                                         "MemoryUsage",  "NetworkInputRate", "NetworkOutputRate",
                                         "DiskReadRate", "DiskWriteRate" };
    const char *kind = dlc_query(d, "MetricType");
    uint64_t id, when;
    char text[DLC_JOB_ID_TEXT];
    bool known = false;
    if (!dlc_job(d, d->param[0], &id))
        return;
    for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    if (!kind) {
        dlc_missing(d, "MetricType");
        return;
    }
    if (!known) {
        dlc_fail(d, 400, "InvalidParameter", "MetricType is \"%.40s\", and there is no such one",
                 kind);
        return;
    }
    if (!dlc_query_time(d, "StartTime", &when) || !dlc_query_time(d, "EndTime", &when))
        return;
    dlc_note(d, "no measures of pods are taken: there are no points");
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "JobId", dlc_job_id(text, id));
    const struct long_list list = { .list = text_list(d->arena, out, "PodMetrics"),
                                    .add = add_metrics };
    dlc_ok_lists(d, id, out, &list, 1);
}

void dlc_cms_metrics(struct dlc_call *d)
{
    const char *job = dlc_query(d, "JobId");
    uint64_t id, when;
    if ((job && !dlc_job(d, job, &id)) || !dlc_query_time(d, "StartTime", &when) ||
        !dlc_query_time(d, "EndTime", &when))
        return;
    dlc_note(d, "no measures of pods are taken: there are no points");
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "Code", "200");
    text_bool(d->arena, out, "Success", true);
    text_str(d->arena, out, "Period", dlc_query(d, "Period") ? dlc_query(d, "Period") : "60");
    text_str(d->arena, out, "DataPoints", "[]");
    dlc_ok(d, out);
}

void dlc_sanity_result(struct dlc_call *d)
{
    uint64_t id, number = 0;
    if (!dlc_job(d, d->param[0], &id) ||
        !dlc_query_u64(d, "SanityCheckNumber", 1, 1000000, &number))
        return;
    if (!number) {
        dlc_missing(d, "SanityCheckNumber");
        return;
    }
    dlc_note(d, "no sanity checks are made");
    struct text_node *out = dlc_map(d);
    text_list(d->arena, out, "SanityCheckResult");
    text_str(d->arena, out, "RequestID", d->request_id);
    dlc_ok(d, out);
}

void dlc_sanity_results(struct dlc_call *d)
{
    uint64_t id;
    bool ascending;
    if (!dlc_job(d, d->param[0], &id) || !dlc_order(d, false, &ascending))
        return;
    dlc_note(d, "no sanity checks are made");
    struct text_node *out = dlc_map(d);
    text_list(d->arena, out, "SanityCheckResults");
    text_int(d->arena, out, "TotalCount", 0);
    text_str(d->arena, out, "RequestID", d->request_id);
    dlc_ok(d, out);
}

/* ---- instance types ---- */

static const struct dlc_list_type ecs_specs = { .key = "EcsSpecs",
                                                .size = 10,
                                                .descending = true,
                                                .sorts = { "GmtCreateTime", "Cpu", "Gpu", "Memory",
                                                           "InstanceType" } };

static struct text_node *shown_ecs(struct dlc_call *d, const struct entry *entry)
{
    struct arena *a = d->arena;
    struct text_node *out = dlc_map(d);
    text_str(a, out, "InstanceType", entry->name);
    text_str(a, out, "AcceleratorType", entry->gpu_milli ? "GPU" : "CPU");
    text_int(a, out, "Cpu", (int64_t)((entry->cpu_milli + 999) / 1000));
    text_int(a, out, "Memory", (int64_t)(entry->memory >> 30));
    text_int(a, out, "Gpu", (int64_t)(entry->gpu_milli / 1000));
    text_str(a, out, "GpuType", entry->gpu_type ? entry->gpu_type : "");
    text_bool(a, out, "IsAvailable", true);
    text_str(a, out, "ResourceType", "ECS");
    text_str(a, text_list(a, out, "PaymentTypes"), NULL, "PostPaid");
    return out;
}

void dlc_ecs_specs(struct dlc_call *d)
{
    static const char *const same[] = { "AcceleratorType", "ResourceType" };
    const char *names = dlc_query(d, "InstanceTypes");
    const struct entry_list all = ctl_catalogue_view(d->ctl, d->arena, ENTRY_INSTANCE_TYPE);
    struct dlc_listing l;
    if (!dlc_listing_begin(&l, d, &ecs_specs))
        return;
    for (size_t k = 0; k < all.n; k++) {
        const struct text_node *row = shown_ecs(d, all.at[k]);
        bool wanted = !names || dlc_in_list(names, all.at[k]->name);
        for (size_t i = 0; i < ARRAY_LEN(same); i++) {
            const char *said = dlc_query(d, same[i]);
            wanted = wanted && (!said || strcasecmp(said, dlc_text(row, same[i])) == 0);
        }
        if (wanted)
            dlc_listing_add(&l, row, NULL);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* ---- tokens ---- */

static void token_made(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    if (!dlc_done(d, answer))
        return;
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "Token", answer->made.token->secret);
    dlc_ok(d, out);
}

/* Reads one job, for who has no key: handed on as Token= of the reading calls. */
void dlc_get_token(struct dlc_call *d)
{
    const char *type = dlc_query(d, "TargetType"), *target = dlc_query(d, "TargetId");
    uint64_t id = 0, seconds = 604800;
    char text[JOB_ID_TEXT];
    if (!dlc_query_u64(d, "ExpireTime", 0, 604800ull * 52, &seconds))
        return;
    if (!target) {
        dlc_missing(d, "TargetId");
        return;
    }
    if (type && strcmp(type, "tensorboard") == 0) {
        const char *job = dlc_text(dlc_spec(dlc_object(d, "dlc.tensorboard", "", target)), "Runs");
        target = job ? job : target;
    } else if (type && strcmp(type, "job") != 0) {
        dlc_fail(d, 400, "InvalidParameter", "TargetType is \"%.40s\", not job or tensorboard",
                 type);
        return;
    }
    if (!dlc_job(d, target, &id))
        return;
    call_keep(d->call);
    ctl_token_create(d->ctl,
                     &(struct token_request){ .by = d->call->owner,
                                              .owner = d->call->owner,
                                              .label = "dlc: one job",
                                              .life_ms = (seconds ? seconds : 1) * 1000,
                                              .job = job_id_format(text, id) },
                     token_made, d);
}
