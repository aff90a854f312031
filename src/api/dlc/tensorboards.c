/* TensorBoards: each is a job that runs the node's own `tensorboard` over the summaries of a job, a
 * data set or a path. What the operations answer is read from that job. */
#include "api/dlc/log_service.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

#define COMMAND                                                                                    \
    "command -v tensorboard >/dev/null || { echo 'tensorboard is not installed on this node' "     \
    ">&2; exit 127; }; exec tensorboard --logdir \"$LOGDIR\" --bind_all --port "                   \
    "\"$MUSTER_PORT_WEB\""

static const struct dlc_list_type listed = { .key = "Tensorboards",
                                             .size = 10,
                                             .descending = true,
                                             .sorts = { "GmtCreateTime", "DisplayName" } };
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
    NULL,
};
static const char *const same[] = { "WorkspaceId",   "SourceType",    "SourceId", "JobId",
                                    "TensorboardId", "Status",        "UserId",   "Username",
                                    "QuotaId",       "Accessibility", NULL };

/* ---- its job ---- */

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
    struct job_ask ask = { .owner = d->call->owner, .parts = JOB_SPEC };
    struct job_view view;
    if (!job || !job_id_parse(job, &ask.job) ||
        answer_job_view(d->ctl, d->arena, &ask, &view, NULL))
        return;
    const struct text_node *spec = view.spec;
    const struct text_node *inputs = spec ? text_get(spec, "inputs") : NULL;
    const struct text_node *list = inputs ? text_get(inputs, "data") : NULL;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        text_copy(d->arena, data, NULL, one);
}

static struct text_node *job_of(struct dlc_call *, const struct text_node *spec);
static const struct dlc_log_service board = { .document = "dlc.tensorboard",
                                              .shown = "TensorBoard",
                                              .role = "tensorboard",
                                              .id = "TensorboardId",
                                              .prefix = "tbc",
                                              .url = "TensorboardUrl",
                                              .waits = "Creating",
                                              .done = "Succeeded",
                                              .command = COMMAND,
                                              .lacks =
                                                  "tensorboard is not installed on the node: pip "
                                                  "install tensorboard there",
                                              .list = &listed,
                                              .kept = kept,
                                              .same = same,
                                              .job = job_of };

static struct text_node *job_of(struct dlc_call *d, const struct text_node *spec)
{
    struct text_node *data = text_list(d->arena, NULL, NULL);
    const char *minutes = dlc_text(spec, "MaxRunningTimeMinutes");
    const char *priority = dlc_text(spec, "Priority"), *memory = dlc_text(spec, "Memory");
    struct log_service_job job = { .dir = log_dir(d, spec, data),
                                   .project = dlc_text(spec, "WorkspaceId"),
                                   .queue = dlc_text(spec, "QuotaId"),
                                   .cpu = dlc_text(spec, "Cpu"),
                                   .memory = memory ? arena_printf(d->arena, "%sGi", memory) : NULL,
                                   .data = data };
    if (d->answer)
        return NULL;
    copy_mounts(d, dlc_text(spec, "JobId"), data);
    if (priority)
        scan_u64(priority, 1, JOB_PRIORITY, &job.priority);
    if (minutes)
        scan_u64(minutes, 1, SERVED_MINUTES, &job.minutes);
    return log_service_job_of(d, &board, &job);
}

/* ---- reading ---- */

void dlc_board_get(struct dlc_call *d)
{
    log_service_get(d, &board);
}

void dlc_board_list(struct dlc_call *d)
{
    log_service_list(d, &board);
}

/* The address is the task's own: whoever reaches the node sees it, for as long as it runs. */
void dlc_board_shared(struct dlc_call *d)
{
    const struct document_view *object = log_service_find(d, &board);
    const char *status;
    uint64_t seconds = 0;
    if (!object || !dlc_query_u64(d, "ExpireTimeSeconds", 1, 604800, &seconds))
        return;
    const char *url = log_service_url(d, &board, object, &status);
    if (!url) {
        dlc_fail(d, 400, "BadRequest", "TensorBoard \"%.100s\" is %s", d->param[0], status);
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "TensorboardSharedUrl", url);
    dlc_ok(d, out);
}

/* ---- changing ---- */

/* The one of TensorboardDataSources, as the members that say the same of one source; false:
 * answered. What it says goes first, as the clients' manual has it. */
static bool one_source(struct dlc_call *d, struct text_node *spec)
{
    const struct text_node *list = dlc_list(d->body, "TensorboardDataSources");
    const struct text_node *one = list ? list->first : NULL;
    static const char *const flat[] = { "JobId",         "DataSourceId", "Uri",
                                        "SummaryPath",   "SourceType",   "SourceId",
                                        "DataSourceType" };
    for (size_t i = 0; kept[i]; i++) {
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
    else if (minutes && !scan_u64(minutes, 1, SERVED_MINUTES, &n))
        dlc_fail(d, 400, "InvalidParameter", "MaxRunningTimeMinutes is %.20s, not 1 to %d", minutes,
                 SERVED_MINUTES);
    else if (priority && !scan_u64(priority, 1, JOB_PRIORITY, &n))
        dlc_fail(d, 400, "InvalidParameter", "Priority is %.20s, not 1 to %u", priority,
                 JOB_PRIORITY);
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
    const char *job = dlc_text(spec, "JobId"), *id = dlc_new_id(d->arena, board.prefix, 13);
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
    log_service_start(d, &board, id, spec, out);
}

void dlc_board_update(struct dlc_call *d)
{
    static const char *const may[] = { "MaxRunningTimeMinutes", "Accessibility", "Priority" };
    const struct document_view *object = log_service_find(d, &board);
    uint64_t minutes = 0, priority = 0;
    if (!object || !dlc_query_u64(d, "MaxRunningTimeMinutes", 1, SERVED_MINUTES, &minutes) ||
        !dlc_query_u64(d, "Priority", 1, JOB_PRIORITY, &priority))
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
    struct document put = { board.document, "", d->param[0], spec };
    dlc_store(d, &put, false, log_service_id(d, &board));
}

void dlc_board_start(struct dlc_call *d)
{
    log_service_again(d, &board);
}

void dlc_board_stop(struct dlc_call *d)
{
    log_service_stop(d, &board);
}

void dlc_board_delete(struct dlc_call *d)
{
    log_service_delete(d, &board);
}
