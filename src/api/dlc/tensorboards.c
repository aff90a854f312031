/* TensorBoards: a document of what was asked for, and a job of one task that runs it.
 *
 * The program is the node's own `tensorboard`; where there is none the job ends with 127, and the
 * answer says so. Stopping is stopping that job, starting makes another one; so its states are the
 * job's, in the words of this API. */
#include "api/dlc/op.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <string.h>
#include <strings.h>

#define KIND      "dlc.tensorboard"
#define TEXT_SIZE 65536
#define MINUTES   10080 /* a week */
#define COMMAND                                                                                    \
    "command -v tensorboard >/dev/null || { echo 'tensorboard is not installed on this node' "     \
    ">&2; exit 127; }; exec tensorboard --logdir \"$LOGDIR\" --bind_all --port "                   \
    "\"$MUSTER_PORT_WEB\""

static const char *const kept[] = {
    "WorkspaceId",
    "JobId",
    "DataSourceId",
    "DataSourceType",
    "Uri",
    "Options",
    "SummaryPath",
    "SummaryRelativePath",
    "DisplayName",
    "SourceType",
    "SourceId",
    "MaxRunningTimeMinutes",
    "Cpu",
    "Memory",
    "Priority",
    "QuotaId",
    "Accessibility",
    "TensorboardDataSources",
    "TensorboardSpec",
};

/* ---- its job ---- */

static const struct text_node *job_of(struct dlc_call *d, const struct text_node *spec,
                                      uint64_t *id)
{
    const char *text = dlc_text(spec, "Runs");
    if (!text || !job_id_parse(text, id))
        return NULL;
    return ctl_job_tree(d->ctl, d->arena, *id, d->call->owner, CTL_TASKS, NULL);
}

static const char *status_of(const struct text_node *job)
{
    static const char *const words[][2] = { { "running", "Running" },
                                            { "stopping", "Stopped" },
                                            { "stopped", "Stopped" },
                                            { "succeeded", "Succeeded" },
                                            { "failed", "Failed" } };
    const char *state = job ? dlc_text(job, "state") : NULL;
    for (size_t i = 0; state && i < ARRAY_LEN(words); i++)
        if (strcmp(state, words[i][0]) == 0)
            return words[i][1];
    return job ? "Creating" : "Stopped";
}

static bool ended(const char *status)
{
    return strcmp(status, "Creating") != 0 && strcmp(status, "Running") != 0;
}

static const struct text_node *attempt_of(const struct text_node *job)
{
    const struct text_node *tasks = job ? text_get(job, "task_list") : NULL;
    const struct text_node *attempts =
        tasks && tasks->first ? text_get(tasks->first, "attempts") : NULL;
    return attempts ? attempts->last : NULL;
}

static const char *url_of(struct dlc_call *d, const struct text_node *job)
{
    const struct text_node *attempt = attempt_of(job);
    const struct text_node *ports = attempt ? text_get(attempt, "ports") : NULL;
    const struct text_node *web = ports ? text_get(ports, "web") : NULL;
    if (!web || !web->first)
        return NULL;
    return arena_printf(d->arena, "http://%s:%lld/", dlc_text(attempt, "address"),
                        (long long)web->first->integer);
}

static const char *why(const struct text_node *job, const char *status)
{
    const struct text_node *attempt = attempt_of(job);
    const struct text_node *code = attempt ? text_get(attempt, "exit_code") : NULL;
    if (strcmp(status, "Failed") == 0 && code && code->integer == 127)
        return "tensorboard is not installed on the node: pip install tensorboard there";
    const char *reason = job ? dlc_text(job, "reason") : NULL;
    return reason ? reason : "";
}

/* ---- answers ---- */

static void put_board(struct dlc_call *d, struct text_node *out, const struct text_node *object)
{
    const struct text_node *spec = dlc_spec(object);
    uint64_t id, began = 0, end = d->now_ms;
    const struct text_node *job = job_of(d, spec, &id);
    const char *status = status_of(job), *started = job ? dlc_text(job, "started") : NULL;
    const char *finished = job ? dlc_text(job, "ended") : NULL;
    text_str(d->arena, out, "TensorboardId", dlc_text(object, "name"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        dlc_copy(d->arena, out, spec, kept[i]);
    text_str(d->arena, out, "Status", status);
    text_str(d->arena, out, "ReasonCode", strcmp(status, "Failed") == 0 ? "JobFailed" : "");
    text_str(d->arena, out, "ReasonMessage", why(job, status));
    dlc_put(d->arena, out, "TensorboardUrl", url_of(d, job));
    if (started)
        dlc_scan_time(started, &began);
    if (finished)
        dlc_scan_time(finished, &end);
    text_str(d->arena, out, "Duration",
             arena_printf(d->arena, "%llu",
                          (unsigned long long)(began && end > began ? (end - began) / 1000 : 0)));
    text_str(d->arena, out, "GmtCreateTime", facade_time(d->arena, dlc_when(object, "created_ms")));
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, dlc_when(object, "changed_ms")));
    dlc_put(d->arena, out, "GmtFinishTime", dlc_seconds(d->arena, finished));
    text_str(d->arena, out, "UserId", dlc_text(object, "owner"));
    text_str(d->arena, out, "Username", dlc_text(object, "owner"));
}

static bool visible(struct dlc_call *d, const struct text_node *object)
{
    const char *runs = dlc_text(dlc_spec(object), "Runs");
    uint64_t id;
    return dlc_own(d, object) ||
           (runs && job_id_parse(runs, &id) && ctl_may_read(d->ctl, &d->call->who, id));
}

static const struct text_node *board(struct dlc_call *d)
{
    const struct text_node *object = dlc_object(d, KIND, "", d->param[0]);
    if (!object || !visible(d, object))
        dlc_fail(d, 404, "NotFound", "no TensorBoard \"%.100s\"", d->param[0]);
    else if ((d->op->flags & DLC_WRITES) && !dlc_own(d, object))
        dlc_fail(d, 403, "Forbidden.RAM", "TensorBoard \"%.100s\" belongs to %.60s", d->param[0],
                 dlc_text(object, "owner"));
    else
        return object;
    return NULL;
}

void dlc_board_get(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    const struct text_node *object = board(d);
    if (!object)
        return;
    put_board(d, out, object);
    dlc_ok(d, out);
}

static bool listed(struct dlc_call *d, const struct text_node *board)
{
    static const char *const same[] = { "WorkspaceId",   "SourceType",   "SourceId", "JobId",
                                        "TensorboardId", "Status",       "UserId",   "Username",
                                        "QuotaId",       "Accessibility" };
    const char *name = dlc_query(d, "DisplayName");
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *wanted = dlc_query(d, same[i]), *is = dlc_text(board, same[i]);
        if (wanted && (!is || strcmp(is, wanted) != 0))
            return false;
    }
    if (dlc_query_flag(d, "ShowOwn", false) &&
        strcmp(dlc_text(board, "UserId"), d->call->owner) != 0)
        return false;
    return !name || dlc_within(name, dlc_text(board, "DisplayName"));
}

void dlc_board_list(struct dlc_call *d)
{
    struct facade_page page;
    uint64_t at = 0, since = 0, until = 0;
    bool ascending;
    if (!dlc_page(d, 10, &page) || !dlc_order(d, false, &ascending) ||
        !dlc_query_time(d, "StartTime", &since) || !dlc_query_time(d, "EndTime", &until))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Tensorboards");
    const struct text_node *all = ctl_objects_tree(d->ctl, d->arena, KIND, NULL);
    for (const struct text_node *one = all->first; one; one = one->next) {
        struct text_node *shown = text_map(d->arena, NULL, NULL);
        uint64_t when = dlc_when(one, "created_ms");
        if (!visible(d, one) || when < since || (until && when >= until))
            continue;
        put_board(d, shown, one);
        if (!listed(d, shown))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            text_copy(d->arena, list, NULL, shown);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

/* ---- running ---- */

struct starting {
    const char *id;
    struct text_node *spec, *ready;
};

/* Where the summaries are, and what has to be mounted for that. */
static const char *log_dir(struct dlc_call *d, const struct text_node *spec, struct text_node *data)
{
    const char *path = dlc_text(spec, "SummaryPath"), *rest = dlc_text(spec, "SummaryRelativePath");
    const char *source = dlc_text(spec, "DataSourceId"), *uri = dlc_text(spec, "Uri");
    const char *options = dlc_text(spec, "Options"), *mount = NULL;
    struct report report;
    if (!source && !uri)
        return path ? path : rest;
    report_init(&report, d->arena);
    const struct text_node *map =
        options ? json_parse(d->arena, options, strlen(options), 0, &report) : NULL;
    mount = map ? dlc_text(map, "mountpath") : NULL;
    mount = mount || !map ? mount : dlc_text(map, "mountPath");
    mount = mount ? mount : "/mnt/data";
    struct text_node *one = text_map(d->arena, data, NULL);
    text_str(d->arena, one, "from", source ? arena_printf(d->arena, "dataset:%s", source) : uri);
    text_str(d->arena, one, "at", mount);
    if (path)
        return path;
    return rest ? arena_printf(d->arena, "%s/%s", mount, rest) : mount;
}

static void copy_mounts(struct dlc_call *d, const char *job, struct text_node *data)
{
    uint64_t id;
    const struct text_node *tree =
        job && job_id_parse(job, &id)
            ? ctl_job_tree(d->ctl, d->arena, id, d->call->owner, CTL_SPEC, NULL)
            : NULL;
    const struct text_node *spec = tree ? text_get(tree, "spec") : NULL;
    const struct text_node *inputs = spec ? text_get(spec, "inputs") : NULL;
    const struct text_node *list = inputs ? text_get(inputs, "data") : NULL;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        text_copy(d->arena, data, NULL, one);
}

static const char *job_text(struct dlc_call *d, const char *id, const struct text_node *spec)
{
    struct arena *a = d->arena;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_SIZE);
    uint64_t minutes = 0;
    struct text_node *job = text_map(a, NULL, NULL), *data = text_list(a, NULL, NULL);
    const char *limit = dlc_text(spec, "MaxRunningTimeMinutes");
    const char *cpu = dlc_text(spec, "Cpu"), *memory = dlc_text(spec, "Memory");
    const char *dir = log_dir(d, spec, data);
    copy_mounts(d, dlc_text(spec, "JobId"), data);
    text_str(a, job, "name", id);
    dlc_put(a, job, "project", dlc_text(spec, "WorkspaceId"));
    text_str(a, job, "description", "TensorBoard");
    if (limit && scan_u64(limit, 1, MINUTES, &minutes))
        text_str(a, text_map(a, job, "limits"), "run_time",
                 arena_printf(a, "%llum", (unsigned long long)minutes));
    struct text_node *role = text_map(a, text_map(a, job, "roles"), "tensorboard");
    text_str(a, role, "run", COMMAND);
    text_str(a, text_map(a, role, "env"), "LOGDIR", dir ? dir : ".");
    text_int(a, text_map(a, role, "ports"), "web", 1);
    struct text_node *resources = text_map(a, role, "resources");
    text_str(a, resources, "cpu", cpu ? cpu : "1");
    text_str(a, resources, "memory", memory ? arena_printf(a, "%sGi", memory) : "1Gi");
    if (data->count)
        text_copy(a, text_map(a, job, "inputs"), "data", data);
    json_print(job, 0, &out);
    return arena_strdup(a, buf_str(&out));
}

static void submitted(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    struct starting *s = d->more;
    char id[DLC_JOB_ID_TEXT];
    if (!dlc_done(d, answer))
        return;
    text_str(d->arena, s->spec, "Runs", dlc_job_id(id, answer->job));
    struct ctl_object object = { KIND, "", s->id, s->spec };
    d->more = s->ready;
    ctl_objects_put(d->ctl, &(struct ctl_objects){ .by = d->call->owner, .at = &object, .n = 1 },
                    dlc_done_plain, d);
}

static void start(struct dlc_call *d, const char *id, struct text_node *spec,
                  struct text_node *ready)
{
    const char *text = job_text(d, id, spec);
    struct starting *s = ARENA_NEW(d->arena, struct starting);
    *s = (struct starting){ .id = id, .spec = spec, .ready = ready };
    d->more = s;
    call_keep(d->call);
    ctl_submit(d->ctl,
               &(struct ctl_submit){
                   .owner = d->call->owner, .text = text, .len = strlen(text), .from = "native" },
               submitted, d);
}

void dlc_board_create(struct dlc_call *d)
{
    static const char *const said[] = { "JobId", "DataSourceId" };
    const char *job = dlc_text(d->body, "JobId"), *id;
    const char *source = dlc_text(d->body, "SourceId"), *type = dlc_text(d->body, "SourceType");
    uint64_t number;
    job = job || !type || strcmp(type, "job") != 0 ? job : source;
    if (!job && !dlc_text(d->body, "DataSourceId") && !dlc_text(d->body, "Uri") &&
        !dlc_text(d->body, "SummaryPath") && !dlc_list(d->body, "TensorboardDataSources") &&
        !dlc_list(d->body, "DataSources")) {
        dlc_fail(d, 400, "MissingParameter",
                 "one of JobId, DataSourceId, Uri and SummaryPath says where the summaries are");
        return;
    }
    if (job && !dlc_job(d, job, &number))
        return;
    id = dlc_new_id(d->arena, "tbc", 13);
    struct text_node *spec = text_map(d->arena, NULL, NULL), *out = dlc_map(d);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        dlc_copy(d->arena, spec, d->body, kept[i]);
    if (job && !text_get(spec, "JobId"))
        text_str(d->arena, spec, "JobId", job);
    text_str(d->arena, out, "TensorboardId", id);
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        text_str(d->arena, out, said[i], dlc_text(spec, said[i]) ? dlc_text(spec, said[i]) : "");
    start(d, id, spec, out);
}

/* Its document without what it runs as. */
static struct text_node *fresh_spec(struct dlc_call *d, const struct text_node *spec)
{
    struct text_node *out = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = spec->first; one; one = one->next)
        if (strcmp(one->key, "Runs") != 0)
            text_copy(d->arena, out, one->key, one);
    return out;
}

static struct text_node *id_answer(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "TensorboardId", d->param[0]);
    return out;
}

void dlc_board_start(struct dlc_call *d)
{
    const struct text_node *object = board(d);
    uint64_t id;
    if (!object)
        return;
    const char *status = status_of(job_of(d, dlc_spec(object), &id));
    if (ended(status))
        start(d, d->param[0], fresh_spec(d, dlc_spec(object)), id_answer(d));
    else
        dlc_fail(d, 400, "BadRequest", "TensorBoard \"%.100s\" is %s", d->param[0], status);
}

void dlc_board_stop(struct dlc_call *d)
{
    const struct text_node *object = board(d);
    uint64_t id;
    if (!object)
        return;
    const char *status = status_of(job_of(d, dlc_spec(object), &id));
    if (ended(status)) {
        dlc_fail(d, 400, "BadRequest", "TensorBoard \"%.100s\" is %s", d->param[0], status);
        return;
    }
    d->more = id_answer(d);
    call_keep(d->call);
    ctl_command(d->ctl, d->call->owner, id, CTL_STOP, dlc_done_plain, d);
}

void dlc_board_delete(struct dlc_call *d)
{
    const struct text_node *object = board(d);
    uint64_t id;
    if (!object)
        return;
    const char *status = status_of(job_of(d, dlc_spec(object), &id));
    if (!ended(status)) {
        dlc_fail(d, 400, "BadRequest", "TensorBoard \"%.100s\" is %s: stop it first", d->param[0],
                 status);
        return;
    }
    struct ctl_object gone = { KIND, "", d->param[0], NULL };
    dlc_store(d, &gone, false, id_answer(d));
}

void dlc_board_update(struct dlc_call *d)
{
    static const char *const may[] = { "MaxRunningTimeMinutes", "Accessibility", "Priority" };
    const struct text_node *object = board(d);
    uint64_t minutes = 0;
    if (!object || !dlc_query_u64(d, "MaxRunningTimeMinutes", 1, MINUTES, &minutes))
        return;
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = dlc_spec(object)->first; one; one = one->next) {
        bool said = false;
        for (size_t i = 0; i < ARRAY_LEN(may); i++)
            said = said || (strcmp(one->key, may[i]) == 0 && dlc_query(d, may[i]));
        if (!said)
            text_copy(d->arena, spec, one->key, one);
    }
    if (minutes)
        text_int(d->arena, spec, may[0], (int64_t)minutes);
    dlc_put(d->arena, spec, may[1], dlc_query(d, may[1]));
    dlc_put(d->arena, spec, may[2], dlc_query(d, may[2]));
    struct ctl_object put = { KIND, "", d->param[0], spec };
    dlc_store(d, &put, false, id_answer(d));
}

/* The address is the task's own: whoever reaches the node sees it, for as long as it runs. */
void dlc_board_shared(struct dlc_call *d)
{
    const struct text_node *object = board(d);
    uint64_t id, seconds = 0;
    if (!object || !dlc_query_u64(d, "ExpireTimeSeconds", 1, 604800, &seconds))
        return;
    const struct text_node *job = job_of(d, dlc_spec(object), &id);
    const char *url = strcmp(status_of(job), "Running") == 0 ? url_of(d, job) : NULL;
    if (!url) {
        dlc_fail(d, 400, "BadRequest", "TensorBoard \"%.100s\" is %s", d->param[0], status_of(job));
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "TensorboardSharedUrl", url);
    dlc_ok(d, out);
}
