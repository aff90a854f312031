/* Answers: every answer a JSON object with RequestId, every error with Code, Message,
 * RequestId and HostId, as the clients read them.
 *
 * The codes are the vendor's where public material names them; a status of 5xx is kept for faults
 * of the server, because the clients try those again. */
#include "api/dlc/op.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/remedies.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text_node *dlc_map(struct dlc_call *d)
{
    return text_map(d->arena, NULL, NULL);
}

static void finish(struct dlc_call *d, unsigned status, struct text_node *tree)
{
    if (d->answer)
        return;
    d->answer = tree;
    d->status = status;
    if (!d->running)
        dlc_send(d);
}

void dlc_send(struct dlc_call *d)
{
    if (d->call->request)
        http_add_header(d->call->request, "x-acs-request-id", d->request_id);
    d->rest.tree = d->answer;
    if (d->rest.n && d->status == 200)
        answer_long(d->call, &d->rest);
    else
        call_answer(d->call, d->status, d->answer);
}

void dlc_ok(struct dlc_call *d, struct text_node *tree)
{
    if (!text_get(tree, "RequestID") && !text_get(tree, "RequestId"))
        text_str(d->arena, tree, "RequestId", d->request_id);
    if (d->warnings)
        text_copy(d->arena, tree, "Warnings", d->warnings);
    finish(d, 200, tree);
}

static void fail(struct dlc_call *d, unsigned status, const char *code, const char *message)
{
    const char *host = dlc_header(d, "Host");
    struct text_node *tree = dlc_map(d);
    text_str(d->arena, tree, "Code", code);
    text_str(d->arena, tree, "Message", message);
    text_str(d->arena, tree, "RequestId", d->request_id);
    text_str(d->arena, tree, "HostId", host ? host : "");
    finish(d, status, tree);
}

void dlc_fail(struct dlc_call *d, unsigned status, const char *code, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    /* What is cut may end within a character. */
    fail(d, status, code, arena_strndup(d->arena, text, scan_utf8_prefix(text, strlen(text))));
}

static const struct {
    enum err_code code;
    unsigned status;
    const char *word;
} codes[] = {
    { ERR_INPUT, 400, "InvalidParameter" },     { ERR_UNAUTHENTICATED, 401, "Unauthorized" },
    { ERR_DENIED, 403, "Forbidden.RAM" },       { ERR_NOT_FOUND, 404, "NotFound" },
    { ERR_METHOD, 405, "InvalidMethod" },       { ERR_CONFLICT, 400, "BadRequest" },
    { ERR_TOO_LARGE, 413, "RequestTooLarge" },  { ERR_CANNOT, 400, "InvalidParameter" },
    { ERR_BUSY, 429, "Throttling.User" },       { ERR_UNAVAILABLE, 503, "ServiceUnavailable" },
    { ERR_TIMEOUT, 503, "ServiceUnavailable" }, { ERR_FULL, 503, "ServiceUnavailable" },
};

/* Where the body says what the canonical job has there. */
static const struct {
    const char *path, *field;
} request_fields[] = {
    { "project", "WorkspaceId" },
    { "queue", "ResourceId" },
    { "priority", "Priority" },
    { "name", "DisplayName" },
    { "inputs.code", "CodeSource" },
    { "inputs.python", "ThirdpartyLibs" },
    { "inputs.requirements", "ThirdpartyLibDir" },
    { "inputs.data", "DataSources" },
    { "limits.run_time", "JobMaxRunningTimeMinutes" },
    { "limits.hold", "Settings.JobReservedMinutes" },
    { "place.nodes", "JobSpecs.AssignNodeSpec" },
    { "roles", "JobSpecs" },
    { "resources", "JobSpecs" },
};

/* The n-th mount of the job is the n-th data source; those that follow are of JobSpecs. */
static const char *data_field(struct dlc_call *d, const char *path)
{
    const struct text_node *sources = dlc_list(d->body, "DataSources");
    const struct text_node *one = sources ? sources->first : NULL;
    const char *number = strchr(path, '[');
    size_t digits = number ? strspn(number + 1, "0123456789") : 0;
    uint64_t index;
    if (!digits || !scan_u64(arena_strndup(d->arena, number + 1, digits), 0, UINT32_MAX, &index))
        return "DataSources";
    for (uint64_t i = 0; one && i < index; i++)
        one = one->next;
    if (!one)
        return "JobSpecs.LocalMountSpecs";
    return arena_printf(d->arena, "DataSources[%llu].%s", (unsigned long long)index,
                        text_get(one, "DataSourceId") ? "DataSourceId" : "Uri");
}

static const char *request_field(struct dlc_call *d, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(request_fields); i++) {
        size_t len = strlen(request_fields[i].path);
        if (strncmp(path, request_fields[i].path, len) != 0 ||
            (path[len] && !strchr(".[", path[len])))
            continue;
        return strcmp(request_fields[i].field, "DataSources") == 0 ? data_field(d, path)
                                                                   : request_fields[i].field;
    }
    return NULL;
}

/* What the dialect says is in the body's words; what the core says is about the job that became of
 * it, and its hints are about the command line. */
static void put_problem(struct dlc_call *d, const struct problem *p, const char *before,
                        struct buf *out)
{
    bool own = !*p->path || !p->of_job;
    const char *field = own ? NULL : request_field(d, p->path);
    const char *hint = own ? remedies_line(d->arena, p->hint, p->remedies) : "";
    buf_addf(out, "%s%s%s%s%s%s", before, field ? field : "", field ? ": " : "", p->what,
             *hint ? ": " : "", hint);
}

void dlc_err(struct dlc_call *d, const struct err *err, const struct report *report)
{
    AUTO_BUF struct buf text = BUF_INIT(16384);
    unsigned status = 500;
    const char *word = "InternalError";
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == err->code) {
            status = codes[i].status;
            word = codes[i].word;
        }
    size_t said = 0;
    for (size_t i = 0; report && i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (p->severity != SEVERITY_ERROR)
            continue;
        put_problem(d, p, said++ ? "; " : "", &text);
    }
    const char *hint = remedies_line(d->arena, err->hint, &err->remedies);
    if (!said)
        buf_addf(&text, "%s%s%s", err->what, *hint ? ": " : "", hint);
    size_t len = scan_utf8_prefix(buf_str(&text), text.len);
    fail(d, status, word, arena_strndup(d->arena, buf_str(&text), len));
}

void dlc_missing(struct dlc_call *d, const char *name)
{
    dlc_fail(d, 400, "MissingParameter", "%s is missing", name);
}

void dlc_note(struct dlc_call *d, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!d->warnings)
        d->warnings = text_list(d->arena, NULL, NULL);
    size_t len = scan_utf8_prefix(text, strlen(text));
    text_str(d->arena, d->warnings, NULL, arena_strndup(d->arena, text, len));
}

bool dlc_done(struct dlc_call *d, const struct ctl_answer *answer)
{
    if (answer->err)
        dlc_err(d, answer->err, answer->report);
    return !answer->err;
}

void dlc_done_plain(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    if (dlc_done(d, answer))
        dlc_ok(d, d->more ? d->more : dlc_map(d));
}

/* ---- building ---- */

void dlc_put(struct arena *a, struct text_node *map, const char *key, const char *value)
{
    if (value && *value)
        text_str(a, map, key, value);
}

void dlc_copy(struct arena *a, struct text_node *map, const struct text_node *from, const char *key)
{
    const struct text_node *node = from ? text_get(from, key) : NULL;
    if (node && node->kind != TEXT_NULL)
        text_copy(a, map, key, node);
}

const char *dlc_workspace(const char *project)
{
    return project && *project ? project : "default";
}

bool dlc_is_admin(const struct dlc_call *d)
{
    return d->call->who.role == ROLE_ADMIN;
}

/* {k: v} as [{Key, Value}]; a list of such pairs as it is. */
struct text_node *dlc_labels(struct arena *a, struct text_node *map, const struct text_node *pairs)
{
    if (pairs && pairs->kind == TEXT_LIST)
        return text_copy(a, map, "Labels", pairs);
    struct text_node *list = text_list(a, map, "Labels");
    for (const struct text_node *one = pairs ? pairs->first : NULL; one; one = one->next) {
        struct text_node *label = text_map(a, list, NULL);
        text_str(a, label, "Key", one->key);
        text_str(a, label, "Value", one->str ? one->str : "");
    }
    return list;
}
