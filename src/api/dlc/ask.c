/* Questions: what the query and the body of a request say, as texts, numbers, times and lists. What
 * cannot be read becomes an error of the operation that names the parameter. */
#include "api/dlc/op.h"

#include "api/dlc/sign.h"
#include "base/scan.h"
#include "text/json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the query ---- */

const char *dlc_query(const struct dlc_call *d, const char *name)
{
    const char *value = pairs_get(&d->query, name);
    return value && *value ? value : NULL;
}

const char *dlc_header(const struct dlc_call *d, const char *name)
{
    return d->call->request ? http_header(d->call->request, name) : NULL;
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

bool dlc_empty(const struct text_node *node)
{
    return node->kind == TEXT_NULL || (node->kind == TEXT_STR && !*node->str) ||
           ((node->kind == TEXT_MAP || node->kind == TEXT_LIST) && !node->count);
}

bool dlc_need(struct dlc_call *d, const char *key, const char **out)
{
    *out = dlc_text(d->body, key);
    if (!*out)
        dlc_missing(d, key);
    return *out != NULL;
}

const struct text_node *dlc_parse(struct arena *a, const char *text)
{
    struct report report;
    report_init(&report, a);
    const struct text_node *root = text ? json_parse(a, text, strlen(text), 0, &report) : NULL;
    return root && root->kind == TEXT_MAP && report_ok(&report) ? root : NULL;
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
