/* Servers of the history of Ray clusters: the files that Ray left below StoragePath (logs, events,
 * dumps of its sessions), to be read in a browser by python3's own server of files. The package ray
 * has no program that shows them as its dashboard would. */
#include "api/dlc/log_service.h"

#include "base/scan.h"

#include <string.h>

#define MOUNTED "/mnt/ray-history"
#define COMMAND                                                                                    \
    "command -v python3 >/dev/null || exit 127; "                                                  \
    "[ -d \"$LOGDIR\" ] || { echo \"StoragePath: there is no directory $LOGDIR\" >&2; exit 1; }; " \
    "exec python3 -m http.server --bind \"$MUSTER_ADDRESS\" --directory \"$LOGDIR\" "              \
    "\"$MUSTER_PORT_WEB\""

static const struct dlc_list_type listed = {
    .key = "RayHistoryServers",
    .size = 10,
    .descending = true,
    .sorts = { "GmtCreateTime", "GmtModifyTime", "DisplayName", "UserId", "ResourceId", "Status" }
};
static const char *const kept[] = { "WorkspaceId",       "DisplayName",
                                    "StoragePath",       "ResourceId",
                                    "MaxRuntimeMinutes", "EcsSpec",
                                    "Accessibility",     NULL };
static const char *const same[] = { "WorkspaceId", "StoragePath",   "Status", "Username",
                                    "ResourceId",  "Accessibility", NULL };

static struct text_node *job_of(struct dlc_call *, const struct text_node *spec);
static void more(struct dlc_call *, struct text_node *out);
static bool wanted(struct dlc_call *, const struct text_node *row);
static const struct dlc_log_service history = { .document = "dlc.rayhistory",
                                                .shown = "Ray history server",
                                                .role = "history",
                                                .id = "RayHistoryServerId",
                                                .prefix = "rhs",
                                                .url = "RayHistoryServerUrl",
                                                .waits = "Queuing",
                                                .done = "Stopped",
                                                .command = COMMAND,
                                                .lacks = "python3 is not installed on the node",
                                                .list = &listed,
                                                .kept = kept,
                                                .same = same,
                                                .more = more,
                                                .wanted = wanted,
                                                .job = job_of };

/* A path is read where it is; a data set or an address is mounted. NULL: neither, and answered. */
static const char *directory(struct dlc_call *d, const char *path, struct text_node *data)
{
    const char *from = NULL;
    if (path[0] == '/')
        return path;
    if (strstr(path, "://"))
        from = path;
    else if (dlc_entry(d, ENTRY_DATASET, path))
        from = arena_printf(d->arena, "dataset:%s", path);
    if (!from) {
        dlc_fail(d, 400, "InvalidParameter",
                 "StoragePath is \"%.200s\": an absolute path, an address such as "
                 "nas://server/share, or the id of a data set",
                 path);
        return NULL;
    }
    struct text_node *one = text_map(d->arena, data, NULL);
    text_str(d->arena, one, "from", from);
    text_str(d->arena, one, "at", MOUNTED);
    return MOUNTED;
}

/* With a unit where that says it exactly. */
static const char *exact_size(struct arena *a, uint64_t bytes)
{
    char text[FMT_MAX];
    uint64_t back = 0;
    if (scan_size(fmt_size(text, bytes), &back) && back == bytes)
        return arena_strdup(a, text);
    return arena_printf(a, "%llu", (unsigned long long)bytes);
}

static struct text_node *job_of(struct dlc_call *d, const struct text_node *spec)
{
    struct text_node *data = text_list(d->arena, NULL, NULL);
    const char *ecs = dlc_text(spec, "EcsSpec"), *minutes = dlc_text(spec, "MaxRuntimeMinutes");
    const struct entry *type = ecs ? dlc_entry(d, ENTRY_INSTANCE_TYPE, ecs) : NULL;
    char cpu[FMT_MAX];
    struct log_service_job job = { .dir = directory(d, dlc_text(spec, "StoragePath"), data),
                                   .project = dlc_text(spec, "WorkspaceId"),
                                   .queue = dlc_text(spec, "ResourceId"),
                                   .cpu = type ? fmt_milli(cpu, type->cpu_milli) : NULL,
                                   .memory = type ? exact_size(d->arena, type->memory) : NULL,
                                   .data = data };
    if (!job.dir)
        return NULL;
    if (ecs && !type) {
        dlc_fail(d, 400, "InvalidParameter", "no instance type \"%.100s\": ListEcsSpecs", ecs);
        return NULL;
    }
    if (type && type->gpu_milli % 1000 == 0)
        job.gpus = type->gpu_milli / 1000;
    if (minutes && !scan_u64(minutes, 1, SERVED_MINUTES, &job.minutes)) {
        dlc_fail(d, 400, "InvalidParameter", "MaxRuntimeMinutes is %.20s, not 1 to %d", minutes,
                 SERVED_MINUTES);
        return NULL;
    }
    return log_service_job_of(d, &history, &job);
}

void dlc_history_create(struct dlc_call *d)
{
    const char *name, *path, *space, *id = dlc_new_id(d->arena, history.prefix, 13);
    struct text_node *spec = dlc_map(d), *out = dlc_map(d);
    if (!dlc_need(d, "DisplayName", &name) || !dlc_need(d, "StoragePath", &path) ||
        !dlc_need(d, "WorkspaceId", &space) || !dlc_space_there(d, space))
        return;
    for (const char *const *key = kept; *key; key++)
        dlc_copy(d->arena, spec, d->body, *key);
    text_str(d->arena, out, history.id, id);
    log_service_start(d, &history, id, spec, out);
}

static void more(struct dlc_call *d, struct text_node *out)
{
    dlc_put(d->arena, out, "ResourceName", dlc_text(out, "ResourceId"));
    text_str(d->arena, out, "TenantId", "muster");
}

static bool wanted(struct dlc_call *d, const struct text_node *row)
{
    const char *user = dlc_query(d, "UserIdForFilter"), *prefix = dlc_query(d, "IdPrefix");
    if (user && strcmp(dlc_text(row, "UserId"), user) != 0)
        return false;
    return !prefix || strncmp(dlc_text(row, history.id), prefix, strlen(prefix)) == 0;
}

void dlc_history_get(struct dlc_call *d)
{
    log_service_get(d, &history);
}

void dlc_history_list(struct dlc_call *d)
{
    log_service_list(d, &history);
}

void dlc_history_start(struct dlc_call *d)
{
    log_service_again(d, &history);
}

void dlc_history_stop(struct dlc_call *d)
{
    log_service_stop(d, &history);
}

void dlc_history_delete(struct dlc_call *d)
{
    log_service_delete(d, &history);
}
