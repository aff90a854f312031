/* Answers and questions: every answer a JSON object with RequestId, every error with Code, Message,
 * RequestId and HostId, as the clients read them.
 *
 * The codes are the vendor's where public material names them; a status of 5xx is kept for faults
 * of the server, because the clients try those again. */
#include "api/dlc/op.h"

#include "api/dlc/sign.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    call_answer(d->call, d->status, d->answer);
}

void dlc_ok(struct dlc_call *d, struct text_node *tree)
{
    if (!text_get(tree, "RequestID") && !text_get(tree, "RequestId"))
        text_str(d->arena, tree, "RequestId", d->request_id);
    finish(d, 200, tree);
}

static void fail(struct dlc_call *d, unsigned status, const char *code, const char *message)
{
    const char *host = d->call->request ? http_header(d->call->request, "Host") : NULL;
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
        buf_addf(&text, "%s%s%s%s", said++ ? "; " : "", p->what, p->hint && *p->hint ? ": " : "",
                 p->hint ? p->hint : "");
    }
    if (!said)
        buf_addf(&text, "%s%s%s", err->what, *err->hint ? ": " : "", err->hint);
    size_t len = scan_utf8_prefix(buf_str(&text), text.len);
    fail(d, status, word, arena_strndup(d->arena, buf_str(&text), len));
}

void dlc_missing(struct dlc_call *d, const char *name)
{
    dlc_fail(d, 400, "MissingParameter", "%s is missing", name);
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

/* ---- the query ---- */

const char *dlc_query(const struct dlc_call *d, const char *name)
{
    const char *value = http_query(d->call->request, name, 0);
    return value && *value ? value : NULL;
}

bool dlc_query_flag(const struct dlc_call *d, const char *name, bool otherwise)
{
    const char *value = dlc_query(d, name);
    return value ? strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0 : otherwise;
}

bool dlc_query_u64(struct dlc_call *d, const char *name, uint64_t least, uint64_t most,
                   uint64_t *out)
{
    const char *value = dlc_query(d, name);
    if (!value || scan_u64(value, least, most, out))
        return true;
    dlc_fail(d, 400, "InvalidParameter", "%s is \"%.80s\", not a whole number from %llu to %llu",
             name, value, (unsigned long long)least, (unsigned long long)most);
    return false;
}

bool dlc_scan_time(const char *text, uint64_t *ms)
{
    char seconds[32];
    uint64_t part = 0;
    if (scan_u64(text, 0, INT64_MAX / 1000, ms) || sign_iso_date(text, ms))
        return true;
    if (strlen(text) != 24 || text[19] != '.' || text[23] != 'Z')
        return false;
    snprintf(seconds, sizeof seconds, "%.3s", text + 20);
    if (!scan_u64(seconds, 0, 999, &part))
        return false;
    snprintf(seconds, sizeof seconds, "%.19sZ", text);
    if (!sign_iso_date(seconds, ms))
        return false;
    *ms += part;
    return true;
}

bool dlc_query_time(struct dlc_call *d, const char *name, uint64_t *ms)
{
    const char *value = dlc_query(d, name);
    if (!value || dlc_scan_time(value, ms))
        return true;
    dlc_fail(d, 400, "InvalidParameter", "%s is \"%.80s\", not a time like 2020-11-08T16:00:00Z",
             name, value);
    return false;
}

bool dlc_page(struct dlc_call *d, uint64_t size, struct facade_page *page)
{
    uint64_t number = 1;
    if (!dlc_query_u64(d, "PageNumber", 1, 1000000, &number) ||
        !dlc_query_u64(d, "PageSize", 1, 1000, &size))
        return false;
    *page = (struct facade_page){ .offset = (number - 1) * size, .limit = size };
    return true;
}

int64_t dlc_page_number(const struct facade_page *page)
{
    return page->limit ? (int64_t)(page->offset / page->limit + 1) : 1;
}

bool dlc_order(struct dlc_call *d, bool otherwise, bool *ascending)
{
    const char *order = dlc_query(d, "Order");
    *ascending = order ? strcasecmp(order, "asc") == 0 : otherwise;
    if (!order || *ascending || strcasecmp(order, "desc") == 0)
        return true;
    dlc_fail(d, 400, "InvalidParameter", "Order is \"%.40s\", not asc or desc", order);
    return false;
}

/* ---- the body ---- */

const char *dlc_text(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    if (!node || node->kind == TEXT_NULL || node->kind == TEXT_MAP || node->kind == TEXT_LIST)
        return NULL;
    return node->str && *node->str ? node->str : NULL;
}

const struct text_node *dlc_list(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_LIST && node->count ? node : NULL;
}

bool dlc_true(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node &&
           (node->kind == TEXT_BOOL ? node->boolean
                                    : node->kind == TEXT_STR && strcasecmp(node->str, "true") == 0);
}

bool dlc_need(struct dlc_call *d, const char *key, const char **out)
{
    *out = dlc_text(d->body, key);
    if (!*out)
        dlc_missing(d, key);
    return *out != NULL;
}

bool dlc_within(const char *part, const char *text)
{
    size_t len = strlen(part);
    for (; text && strlen(text) >= len; text++)
        if (strncasecmp(text, part, len) == 0)
            return true;
    return false;
}

bool dlc_in_list(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " ");
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || !at[len]))
            return true;
    }
    return false;
}

const char *dlc_new_id(struct arena *a, const char *prefix, size_t len)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char *id = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++)
        id[i] = letters[randombytes_uniform(sizeof letters - 1)];
    return arena_printf(a, "%s%s", prefix, id);
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

/* ---- documents ---- */

struct text_node *dlc_object(struct dlc_call *d, const char *kind, const char *project,
                             const char *name)
{
    return ctl_object_tree(d->ctl, d->arena, &(struct ctl_object){ kind, project, name, NULL });
}

const struct text_node *dlc_spec(const struct text_node *object)
{
    static const struct text_node none = { .kind = TEXT_MAP };
    const struct text_node *spec = object ? text_get(object, "spec") : NULL;
    return spec && spec->kind == TEXT_MAP ? spec : &none;
}

uint64_t dlc_when(const struct text_node *object, const char *key)
{
    const struct text_node *node = object ? text_get(object, key) : NULL;
    return node && node->kind == TEXT_INT ? (uint64_t)node->integer : 0;
}

bool dlc_own(const struct dlc_call *d, const struct text_node *object)
{
    const char *owner = dlc_text(object, "owner");
    return dlc_is_admin(d) || !owner || strcmp(owner, d->call->owner) == 0;
}

void dlc_store(struct dlc_call *d, const struct ctl_object *object, bool create,
               struct text_node *ready)
{
    d->more = ready;
    call_keep(d->call);
    ctl_objects_put(
        d->ctl,
        &(struct ctl_objects){ .by = d->call->owner, .create = create, .at = object, .n = 1 },
        dlc_done_plain, d);
}
