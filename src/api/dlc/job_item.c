/* A job in the words of the API, whoever submitted it: what it was asked for (its CreateJob body,
 * or the one that would make it), what became of it, and its tasks as pods.
 *
 * Inputs: the views of ctl. Effects: none.
 *
 * Caveats: a job of another format is said as dlc_dialect.write says it; secrets of an image's
 * registry are never answered. Spelling is the vendor's: GmtSuccessedTime. */
#include "api/dlc/documents.h"

#include "answer/jobs.h"
#include "answer/pages.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/detect.h"
#include "text/json.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

static const char *word(const struct text_node *map, const char *key)
{
    const char *text = map ? dlc_text(map, key) : NULL;
    return text ? text : "";
}

static bool of_dlc(const struct job_view *job)
{
    return strcmp(job->dialect, "dlc") == 0;
}

/* ---- names ---- */

const char *dlc_pod_id(struct arena *a, uint64_t job, const char *role, uint64_t index)
{
    char id[DLC_JOB_ID_TEXT];
    char *pod = arena_printf(a, "%s-%s-%llu", dlc_job_id(id, job), role, (unsigned long long)index);
    for (char *c = pod; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return pod;
}

/* The same for the same attempt, also after a restart of the server. */
const char *dlc_pod_uid(struct arena *a, uint64_t job, const char *pod, uint64_t attempt)
{
    unsigned char h[crypto_hash_sha256_BYTES];
    const char *text =
        arena_printf(a, "%llu %s %llu", (unsigned long long)job, pod, (unsigned long long)attempt);
    crypto_hash_sha256(h, (const unsigned char *)text, strlen(text));
    return arena_printf(a, "%02x%02x%02x%02x-%02x%02x-4%01x%02x-a%01x%02x-%02x%02x%02x%02x%02x%02x",
                        h[0], h[1], h[2], h[3], h[4], h[5], h[6] & 15, h[7], h[8] & 15, h[9], h[10],
                        h[11], h[12], h[13], h[14], h[15]);
}

/* ---- states ---- */

const char *dlc_job_status(const struct job_view *job)
{
    if (of_dlc(job) && job->word)
        return job->word;
    return dlc_convention.job_word(job->state, job->tasks_running > 0);
}

static const struct {
    const char *code, *time; /* members: why it ended, when */
} ends[JOB_STATE_N] = {
    [JOB_SUCCEEDED] = { "JobSucceeded", "GmtSuccessedTime" },
    [JOB_FAILED] = { "JobFailed", "GmtFailedTime" },
    [JOB_STOPPED] = { "JobStoppedByUser", "GmtStoppedTime" },
};

static const char *reason_code(enum job_state state)
{
    return ends[state].code ? ends[state].code : "";
}

static void put_times(struct arena *a, struct text_node *out, const struct job_view *job)
{
    const char *submitted = facade_time(a, job->submitted_ms), *end = ends[job->state].time;
    dlc_put(a, out, "GmtCreateTime", submitted);
    dlc_put(a, out, "GmtSubmittedTime", submitted);
    dlc_put(a, out, "GmtRunningTime", facade_time(a, job->started_ms));
    if (end && job->ended_ms) {
        dlc_put(a, out, end, facade_time(a, job->ended_ms));
        dlc_put(a, out, "GmtFinishTime", facade_time(a, job->ended_ms));
    }
}

/* to 0: it lasts. */
static int64_t seconds_between(uint64_t from_ms, uint64_t to_ms, uint64_t now_ms)
{
    uint64_t ended = to_ms ? to_ms : now_ms;
    return from_ms && ended > from_ms ? (int64_t)((ended - from_ms) / 1000) : 0;
}

/* ---- what was asked for ---- */

static struct text_node *parsed_origin(struct arena *a, const char *text)
{
    struct report report;
    size_t n = 0;
    if (!text || !*text)
        return NULL;
    report_init(&report, a);
    struct text_node *root = text_parse_documents(a, text, strlen(text), &n, &report);
    root = root && root->kind == TEXT_MAP ? dlc_body(a, root, &report) : NULL;
    return root && report_ok(&report) ? root : NULL;
}

static struct text_node *written(struct arena *a, const struct text_node *spec)
{
    struct report report;
    report_init(&report, a);
    struct job_spec *job = spec ? job_decode(a, spec, &report) : NULL;
    return job ? dlc_dialect.write(a, job, &report) : NULL;
}

/* What a registry wants to know is answered to nobody. */
static void hide_secrets(struct text_node *body)
{
    const struct text_node *specs = text_get(body, "JobSpecs");
    for (struct text_node *spec = specs ? specs->first : NULL; spec; spec = spec->next) {
        struct text_node *image = text_get(spec, "ImageConfig");
        for (struct text_node *one = image ? image->first : NULL; one; one = one->next)
            if ((strcmp(one->key, "Password") == 0 || strcmp(one->key, "Auth") == 0) &&
                one->kind == TEXT_STR)
                one->str = "";
    }
}

struct text_node *dlc_job_body(struct dlc_call *d, const struct job_view *job)
{
    struct text_node *body = of_dlc(job) ? parsed_origin(d->arena, job->origin) : NULL;
    if (!body)
        body = written(d->arena, job->spec);
    if (body)
        hide_secrets(body);
    return body;
}

static void put_asked(struct arena *a, struct text_node *out, const struct text_node *body)
{
    static const char *const same[] = {
        "JobSpecs",       "UserCommand",      "DataSources",   "CodeSource",
        "ThirdpartyLibs", "ThirdpartyLibDir", "Envs",          "Settings",
        "ElasticSpec",    "CredentialConfig", "SuccessPolicy", "JobMaxRunningTimeMinutes",
        "Options",        "CustomEnvs",       "TemplateId",    "TemplateVersion",
    };
    static const char *const lists[] = { "JobSpecs", "DataSources", "ThirdpartyLibs" };
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(a, out, body, same[i]);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (!text_get(out, lists[i]))
            text_list(a, out, lists[i]);
    if (!text_get(out, "Settings"))
        text_map(a, out, "Settings");
    const struct text_node *vpc = body ? text_get(body, "UserVpc") : NULL;
    struct text_node *copy = vpc && vpc->kind == TEXT_MAP ? text_map(a, out, "UserVpc") : NULL;
    for (const struct text_node *one = copy ? vpc->first : NULL; one; one = one->next)
        text_copy(a, copy, strcmp(one->key, "ExtendedCIDRs") == 0 ? "ExtendedCidrs" : one->key,
                  one);
}

/* Tags put on it later count before those it came with. */
static void put_tags(struct dlc_call *d, struct text_node *out, uint64_t id)
{
    char text[JOB_ID_TEXT];
    const struct document_list later =
        documents_list(ctl_documents(d->ctl), d->arena, "job.tag", job_id_format(text, id));
    struct text_node *settings = text_get(out, "Settings");
    const struct text_node *was = settings ? text_get(settings, "Tags") : NULL;
    if (!later.n || !settings)
        return;
    struct text_node *tags = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = was ? was->first : NULL; one; one = one->next)
        text_copy(d->arena, tags, one->key, one);
    for (size_t i = 0; i < later.n; i++) {
        const char *key = later.at[i].name, *value = word(dlc_spec(&later.at[i]), "value");
        struct text_node *there = text_get(tags, key);
        if (there) {
            there->kind = TEXT_STR;
            there->str = value;
        } else {
            text_str(d->arena, tags, key, value);
        }
    }
    struct text_node *fresh = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = settings->first; one; one = one->next)
        if (strcmp(one->key, "Tags") != 0)
            text_copy(d->arena, fresh, one->key, one);
    text_copy(d->arena, fresh, "Tags", tags);
    settings->first = fresh->first;
    settings->last = fresh->last;
    settings->count = fresh->count;
}

static void put_requests(struct arena *a, struct text_node *out, const struct job_view *job)
{
    uint64_t cpu = 0, memory = 0, nodes = 0, retries = 0;
    char text[FMT_MAX];
    struct report report;
    report_init(&report, a);
    const struct job_spec *spec = job->spec ? job_decode(a, job->spec, &report) : NULL;
    for (size_t i = 0; spec && i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];
        cpu += role->replicas * role->resources.cpu_milli;
        memory += role->replicas * role->resources.memory;
        nodes += role->replicas;
    }
    text_int(a, out, "RequestCPU", (int64_t)((cpu + 999) / 1000));
    text_str(a, out, "RequestMemory", fmt_size(text, memory));
    text_str(a, out, "RequestGPU", fmt_milli(text, job->gpu_milli));
    text_str(a, out, "NodeCount", arena_printf(a, "%llu", (unsigned long long)nodes));
    if (spec && spec->retry.unknown.kind == COUNT_NUMBER)
        retries = spec->retry.unknown.n;
    text_str(a, out, "RestartTimes",
             arena_printf(a, "%llu/%llu", (unsigned long long)job->restarts,
                          (unsigned long long)retries));
    text_int(a, out, "RetryCount", (int64_t)job->restarts);
}

/* ---- history ---- */

/* Lists of one job that are filled a page at a time. */
struct dlc_lists {
    struct dlc_call *d;
    uint64_t id;
    struct answer_pages *pages;
    struct text_node *history, *last; /* in the call's arena; last: its newest, or NULL */
};

/* The states it went through, each with its beginning and end: few, of all its events. */
static void note_state(struct dlc_lists *l, const struct event_view *event)
{
    struct arena *a = l->d->arena;
    const char *at = facade_time(a, event->at_ms);
    if (event->job_state == JOB_NONE)
        return;
    const char *status = dlc_convention.job_word(event->job_state, false);
    if (l->last && strcmp(word(l->last, "Status"), status) == 0)
        return;
    if (l->last)
        dlc_put(a, l->last, "EndTime", at);
    l->last = text_map(a, l->history, NULL);
    text_str(a, l->last, "Status", status);
    dlc_put(a, l->last, "StartTime", at);
    text_str(a, l->last, "ReasonCode", reason_code(event->job_state));
    text_str(a, l->last, "ReasonMessage", event->text ? event->text : "");
}

static int add_history(void *lists, struct arena *a, struct text_node *to, struct err *err)
{
    struct dlc_lists *l = lists;
    struct event_list events;
    int more = answer_pages_timeline(l->pages, a, &events, err);
    for (size_t i = 0; i < events.n; i++)
        note_state(l, &events.at[i]);
    for (const struct text_node *one = more == 0 ? l->history->first : NULL; one; one = one->next)
        text_copy(a, to, NULL, one);
    return more;
}

static const char *pod_status(enum attempt_state state)
{
    static const char *const words[ATTEMPT_STATE_N] = { [ATTEMPT_STARTING] = "Pending",
                                                        [ATTEMPT_RUNNING] = "Running",
                                                        [ATTEMPT_SUCCEEDED] = "Succeeded",
                                                        [ATTEMPT_LOST] = "Unknown" };
    return words[state] ? words[state] : "Failed";
}

static struct text_node *put_pod(const struct dlc_lists *l, struct arena *a, struct text_node *list,
                                 const struct task_view *task, const struct attempt_view *attempt)
{
    struct text_node *pod = text_map(a, list, NULL);
    const char *id = dlc_pod_id(a, l->id, task->role, task->index);
    text_str(a, pod, "Type", task->role);
    text_str(a, pod, "PodId", id);
    text_str(a, pod, "PodUid", dlc_pod_uid(a, l->id, id, attempt->attempt));
    text_str(a, pod, "Status", pod_status(attempt->state));
    text_str(a, pod, "SubStatus", "Normal");
    text_str(a, pod, "ResourceType", "Normal");
    dlc_put(a, pod, "Ip", attempt->address);
    dlc_put(a, pod, "NodeName", attempt->node);
    dlc_put(a, pod, "GmtCreateTime", facade_time(a, attempt->placed_ms));
    dlc_put(a, pod, "GmtStartTime", facade_time(a, attempt->started_ms));
    dlc_put(a, pod, "GmtFinishTime", facade_time(a, attempt->ended_ms));
    text_int(a, pod, "Duration",
             seconds_between(attempt->started_ms, attempt->ended_ms, l->d->now_ms));
    return pod;
}

/* The newest attempt is the pod, those before it are its history. */
int dlc_add_pods(void *lists, struct arena *a, struct text_node *to, struct err *err)
{
    struct dlc_lists *l = lists;
    struct task_list tasks;
    int more = answer_pages_tasks(l->pages, a, &tasks, err);
    for (const struct task_view *task = tasks.at; task < tasks.at + tasks.n; task++) {
        const struct attempt_list *attempts = &task->attempts;
        if (!attempts->n)
            continue;
        struct text_node *pod = put_pod(l, a, to, task, &attempts->at[attempts->n - 1]);
        struct text_node *history = text_list(a, pod, "HistoryPods");
        for (size_t i = 0; i + 1 < attempts->n; i++)
            put_pod(l, a, history, task, &attempts->at[i]);
    }
    return more;
}

static void lists_close(void *lists)
{
    answer_pages_close(((struct dlc_lists *)lists)->pages);
}

void dlc_ok_lists(struct dlc_call *d, uint64_t id, struct text_node *tree,
                  const struct long_list *lists, size_t n)
{
    struct err err;
    struct dlc_lists *l = ARENA_NEW(d->arena, struct dlc_lists);
    *l = (struct dlc_lists){ .d = d,
                             .id = id,
                             .pages = answer_pages_open(d->ctl, id, d->call->owner, &err),
                             .history = text_list(d->arena, NULL, NULL) };
    if (!l->pages) {
        dlc_err(d, &err, NULL);
        return;
    }
    struct long_list *copy = ARENA_ARRAY(d->arena, n, struct long_list);
    memcpy(copy, lists, n * sizeof *copy);
    d->rest = (struct long_answer){ .lists = copy, .n = n, .arg = l, .close = lists_close };
    dlc_ok(d, tree);
}

/* ---- the whole ---- */

static void put_end(struct arena *a, struct text_node *out, const struct job_view *job,
                    const char *type)
{
    const char *reason = job->reason ? job->reason : "";
    if (job->state == JOB_SUCCEEDED)
        reason = arena_printf(a, "%s %s is successfully completed.", type, word(out, "JobId"));
    text_str(a, out, "ReasonCode", reason_code(job->state));
    text_str(a, out, "ReasonMessage", reason);
}

static void put_notes(struct dlc_call *d, struct text_node *out, const struct text_node *body,
                      uint64_t id)
{
    char text[JOB_ID_TEXT];
    const struct document_view *note = dlc_object(d, "job.note", job_id_format(text, id), "dlc");
    const char *access = dlc_text(dlc_spec(note), "Accessibility");
    const char *about = dlc_text(dlc_spec(note), "Description");
    access = access ? access : body ? dlc_text(body, "Accessibility") : NULL;
    text_str(d->arena, out, "Accessibility", access ? access : "PRIVATE");
    dlc_put(d->arena, out, "Description",
            about  ? about
            : body ? dlc_text(body, "Description")
                   : NULL);
}

struct text_node *dlc_job_item(struct dlc_call *d, uint64_t id)
{
    struct arena *a = d->arena;
    char text[DLC_JOB_ID_TEXT];
    const struct job_ask ask = { .job = id,
                                 .owner = d->call->owner,
                                 .parts = JOB_ORIGIN | JOB_SPEC };
    struct job_view job;
    if (answer_job_view(d->ctl, a, &ask, &job, NULL))
        return NULL;
    const char *owner = job.owner, *space = dlc_workspace(job.project);
    struct text_node *out = text_map(a, NULL, NULL);
    const struct text_node *body = dlc_job_body(d, &job);
    const char *type = body ? word(body, "JobType") : "PyTorchJob";
    const char *queue = body ? word(body, "ResourceId") : "";
    text_str(a, out, "JobId", dlc_job_id(text, id));
    text_str(a, out, "DisplayName", job.name);
    text_str(a, out, "JobType", type);
    text_str(a, out, "Status", dlc_job_status(&job));
    text_str(a, out, "SubStatus", "");
    put_end(a, out, &job, type);
    put_asked(a, out, body);
    put_tags(d, out, id);
    put_notes(d, out, body, id);
    put_times(a, out, &job);
    text_int(a, out, "Duration", seconds_between(job.started_ms, job.ended_ms, d->now_ms));
    text_int(a, out, "Priority", (int64_t)job.priority);
    text_str(a, out, "UserId", owner);
    text_str(a, out, "Username", owner);
    text_str(a, out, "WorkspaceId", space);
    text_str(a, out, "WorkspaceName", space);
    text_str(a, out, "ResourceId", queue);
    text_str(a, out, "ResourceName", queue);
    text_str(a, out, "ResourceQuotaName", queue);
    text_str(a, out, "ResourceLevel", "L0");
    text_str(a, out, "ResourceType", "ECS");
    text_str(a, out, "ClusterId", "muster");
    text_bool(a, out, "EnabledDebugger", false);
    text_bool(a, out, "UseOversoldResource", false);
    put_requests(a, out, &job);
    return out;
}

void dlc_answer_item(struct dlc_call *d, uint64_t id, struct text_node *item)
{
    const struct long_list lists[] = {
        { .list = text_list(d->arena, item, "StatusHistory"), .add = add_history },
        { .list = text_list(d->arena, item, "Pods"), .add = dlc_add_pods },
    };
    dlc_ok_lists(d, id, item, lists, ARRAY_LEN(lists));
}
