/* TensorBoards: a document of what was asked for, and a job of one task that runs it.
 *
 * The program is the node's own `tensorboard`; where there is none the job ends with 127, and the
 * answer says so. Stopping is stopping that job, starting makes another one; so its states are the
 * job's, in the words of this API. */
#include "api/dlc/kept.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <string.h>

#define KIND         "dlc.tensorboard"
#define TEXT_SIZE    TEXT_MAX_BYTES
#define MINUTES      10080 /* a week */
#define PRIORITY_MAX 9
#define COMMAND                                                                                    \
    "command -v tensorboard >/dev/null || { echo 'tensorboard is not installed on this node' "     \
    ">&2; exit 127; }; exec tensorboard --logdir \"$LOGDIR\" --bind_all --port "                   \
    "\"$MUSTER_PORT_WEB\""

static const struct dlc_list_of listed = { .key = "Tensorboards",
                                           .size = 10,
                                           .descending = true,
                                           .sorts = { "GmtCreateTime", "DisplayName" } };
static const char *const kept[] = {
    "WorkspaceId",   "JobId",
    "DataSourceId",  "DataSourceType",
    "Uri",           "Options",
    "SummaryPath",   "SummaryRelativePath",
    "DisplayName",   "SourceType",
    "SourceId",      "MaxRunningTimeMinutes",
    "Cpu",           "Memory",
    "Priority",      "QuotaId",
    "Accessibility", "TensorboardDataSources",
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

static struct text_node *shown(struct dlc_call *d, const struct text_node *object)
{
    const struct text_node *spec = dlc_spec(object);
    struct text_node *out = dlc_map(d);
    uint64_t id, began = 0, end = d->now_ms;
    const struct text_node *job = job_of(d, spec, &id);
    const char *status = status_of(job), *started = job ? dlc_text(job, "started") : NULL;
    const char *finished = job ? dlc_text(job, "ended") : NULL;
    text_str(d->arena, out, "TensorboardId", dlc_text(object, "name"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        dlc_copy(d->arena, out, spec, kept[i]);
    if (!text_get(out, "Accessibility"))
        text_str(d->arena, out, "Accessibility", "PRIVATE");
    if (!text_get(out, "WorkspaceId"))
        text_str(d->arena, out, "WorkspaceId", dlc_workspace(NULL));
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
    return out;
}

static bool visible(struct dlc_call *d, const struct text_node *object)
{
    const char *runs = dlc_text(dlc_spec(object), "Runs");
    uint64_t id;
    return dlc_own(d, object) ||
           (runs && job_id_parse(runs, &id) && ctl_may_read(d->ctl, &d->call->who, id));
}

/* By a token of the job it runs as, too (GetToken of a TensorBoard). */
static bool by_token(struct dlc_call *d, const struct text_node *object)
{
    const char *runs = dlc_text(dlc_spec(object), "Runs");
    uint64_t id;
    return !(d->op->flags & DLC_WRITES) && runs && job_id_parse(runs, &id) && dlc_by_token(d, id);
}

/* Is it the one of the workspace and the job that the query names, if it names any? The job is
 * spelt JodId by the clients. */
static bool meant(struct dlc_call *d, const struct text_node *object)
{
    static const char *const same[][2] = { { "WorkspaceId", "WorkspaceId" },
                                           { "JodId", "JobId" },
                                           { "JobId", "JobId" } };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *said = dlc_query(d, same[i][0]);
        const char *is = dlc_text(dlc_spec(object), same[i][1]);
        is = is || i > 0 ? is : dlc_workspace(NULL);
        if (said && (!is || strcmp(is, said) != 0))
            return false;
    }
    return true;
}

static const struct text_node *board(struct dlc_call *d)
{
    const struct text_node *object = dlc_object(d, KIND, "", d->param[0]);
    if (!object || !(visible(d, object) || by_token(d, object)) || !meant(d, object))
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
    const struct text_node *object = board(d);
    if (object)
        dlc_ok(d, shown(d, object));
}

static bool wanted(struct dlc_call *d, const struct text_node *board)
{
    static const char *const same[] = { "WorkspaceId",   "SourceType",   "SourceId", "JobId",
                                        "TensorboardId", "Status",       "UserId",   "Username",
                                        "QuotaId",       "Accessibility" };
    const char *name = dlc_query(d, "DisplayName"), *payment = dlc_query(d, "PaymentType");
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *said = dlc_query(d, same[i]), *is = dlc_text(board, same[i]);
        if (said && (!is || strcmp(is, said) != 0))
            return false;
    }
    if (dlc_query_flag(d, "ShowOwn", false) &&
        strcmp(dlc_text(board, "UserId"), d->call->owner) != 0)
        return false;
    if (payment && strcmp(payment, "Free") != 0) /* nothing is paid for here */
        return false;
    return !name || dlc_within(name, dlc_text(board, "DisplayName"));
}

void dlc_board_list(struct dlc_call *d)
{
    struct dlc_listing l;
    uint64_t since = 0, until = 0;
    if (!dlc_listing_begin(&l, d, &listed) || !dlc_query_time(d, "StartTime", &since) ||
        !dlc_query_time(d, "EndTime", &until))
        return;
    const struct text_node *all = ctl_objects_tree(d->ctl, d->arena, KIND, NULL);
    for (const struct text_node *one = all->first; one; one = one->next) {
        uint64_t when = dlc_when(one, "created_ms");
        if (!visible(d, one) || when < since || (until && when >= until))
            continue;
        const struct text_node *row = shown(d, one);
        if (wanted(d, row))
            dlc_listing_add(&l, row, one);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* ---- running ---- */

struct starting {
    const char *id;
    struct text_node *spec, *ready;
};

/* Options.mountpath, in the spellings that are in use; false: answered. */
static bool mount_path(struct dlc_call *d, const struct text_node *spec, const char **path)
{
    static const char *const spellings[] = { "mountpath", "mountPath", "MountPath" };
    const char *options = dlc_text(spec, "Options");
    const struct text_node *map = dlc_parse(d->arena, options);
    *path = NULL;
    for (size_t i = 0; i < ARRAY_LEN(spellings) && !*path; i++)
        *path = map ? dlc_text(map, spellings[i]) : NULL;
    if (!options || (map && (!*path || **path == '/')))
        return true;
    dlc_fail(d, 400, "InvalidParameter",
             "Options is not the JSON text of an object with an absolute mountpath");
    return false;
}

/* Where the summaries are, and what has to be mounted for that. */
static const char *log_dir(struct dlc_call *d, const struct text_node *spec, struct text_node *data)
{
    const char *path = dlc_text(spec, "SummaryPath"), *rest = dlc_text(spec, "SummaryRelativePath");
    const char *source = dlc_text(spec, "DataSourceId"), *uri = dlc_text(spec, "Uri"), *mount;
    if (!source && !uri)
        return path ? path : rest;
    if (!mount_path(d, spec, &mount))
        return NULL;
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
    uint64_t minutes = 0, priority = 0;
    struct text_node *job = text_map(a, NULL, NULL), *data = text_list(a, NULL, NULL);
    const char *first = dlc_text(spec, "Priority");
    const char *limit = dlc_text(spec, "MaxRunningTimeMinutes");
    const char *cpu = dlc_text(spec, "Cpu"), *memory = dlc_text(spec, "Memory");
    const char *dir = log_dir(d, spec, data);
    copy_mounts(d, dlc_text(spec, "JobId"), data);
    text_str(a, job, "name", id);
    dlc_put(a, job, "project", dlc_text(spec, "WorkspaceId"));
    dlc_put(a, job, "queue", dlc_text(spec, "QuotaId"));
    if (first && scan_u64(first, 1, PRIORITY_MAX, &priority))
        text_int(a, job, "priority", (int64_t)priority);
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
    if (d->answer)
        return;
    struct starting *s = ARENA_NEW(d->arena, struct starting);
    *s = (struct starting){ .id = id, .spec = spec, .ready = ready };
    d->more = s;
    call_keep(d->call);
    ctl_submit(d->ctl,
               &(struct ctl_submit){
                   .owner = d->call->owner, .text = text, .len = strlen(text), .from = "native" },
               submitted, d);
}

/* The one of TensorboardDataSources, as the members that say the same of one source; false:
 * answered. What it says goes first, as the clients' manual has it. */
static bool one_source(struct dlc_call *d, struct text_node *spec)
{
    const struct text_node *list = dlc_list(d->body, "TensorboardDataSources");
    const struct text_node *one = list ? list->first : NULL;
    static const char *const flat[] = { "JobId",         "DataSourceId", "Uri",
                                        "SummaryPath",   "SourceType",   "SourceId",
                                        "DataSourceType" };
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        bool over = false;
        for (size_t k = 0; one && k < ARRAY_LEN(flat); k++)
            over = over || strcmp(kept[i], flat[k]) == 0;
        if (!over)
            dlc_copy(d->arena, spec, d->body, kept[i]);
        else if (text_get(d->body, kept[i]))
            dlc_note(d, "%s is not used: TensorboardDataSources says what is looked at", kept[i]);
    }
    if (!one)
        return true;
    const char *type = dlc_text(one, "SourceType"), *path = dlc_text(one, "FullSummaryPath");
    bool job = type && strcmp(type, "dlcjob") == 0;
    if (list->count > 1) {
        dlc_fail(d, 400, "NotSupported", "TensorboardDataSources has %zu sources: one is looked at",
                 list->count);
        return false;
    }
    dlc_put(d->arena, spec, job ? "JobId" : "DataSourceId", dlc_text(one, "Id"));
    if (!dlc_text(one, "Id"))
        dlc_put(d->arena, spec, "Uri", dlc_text(one, "Uri"));
    dlc_put(d->arena, spec, "DataSourceType", dlc_text(one, "DataSourceType"));
    dlc_put(d->arena, spec, "SummaryPath", path ? path : dlc_text(one, "SummaryPath"));
    return true;
}

/* Does it say where the summaries are, once? Else answered. */
static bool good_source(struct dlc_call *d, const struct text_node *spec, bool job)
{
    const char *source = dlc_text(spec, "DataSourceId"), *uri = dlc_text(spec, "Uri");
    uint64_t n = 1;
    const char *minutes = dlc_text(spec, "MaxRunningTimeMinutes");
    const char *priority = dlc_text(spec, "Priority");
    if (!job && !source && !uri && !dlc_text(spec, "SummaryPath"))
        dlc_fail(d, 400, "MissingParameter",
                 "one of JobId, DataSourceId, Uri and SummaryPath says where the summaries are");
    else if (source && uri)
        dlc_fail(d, 400, "InvalidParameter", "DataSourceId or Uri, not both");
    else if (minutes && !scan_u64(minutes, 1, MINUTES, &n))
        dlc_fail(d, 400, "InvalidParameter", "MaxRunningTimeMinutes is %.20s, not 1 to %d", minutes,
                 MINUTES);
    else if (priority && !scan_u64(priority, 1, PRIORITY_MAX, &n))
        dlc_fail(d, 400, "InvalidParameter", "Priority is %.20s, not 1 to %d", priority,
                 PRIORITY_MAX);
    else
        return true;
    return false;
}

void dlc_board_create(struct dlc_call *d)
{
    static const char *const said[] = { "JobId", "DataSourceId" };
    struct text_node *spec = text_map(d->arena, NULL, NULL), *out = dlc_map(d);
    if (!one_source(d, spec))
        return;
    const char *job = dlc_text(spec, "JobId"), *id = dlc_new_id(d->arena, "tbc", 13);
    const char *type = dlc_text(spec, "SourceType"), *source = dlc_text(spec, "SourceId");
    uint64_t number;
    if (!job && type && strcmp(type, "job") == 0 && source)
        job = source;
    else if (source && (!job || strcmp(job, source) != 0))
        dlc_note(d, "SourceId is not used: %s",
                 job ? "JobId says which job" : "SourceType is not said");
    if (!good_source(d, spec, job != NULL) || (job && !dlc_job(d, job, &number)))
        return;
    if (dlc_text(spec, "SummaryPath") && dlc_text(spec, "SummaryRelativePath"))
        dlc_note(d, "SummaryRelativePath is not used: SummaryPath says the directory");
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
    uint64_t minutes = 0, priority = 0;
    if (!object || !dlc_query_u64(d, "MaxRunningTimeMinutes", 1, MINUTES, &minutes) ||
        !dlc_query_u64(d, "Priority", 1, PRIORITY_MAX, &priority))
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
