/* The way in of façades: whose request it is, the bearer token, what a façade refuses. And the
 * small things they all say: ids, times, pages, segments of paths. */
#include "api/facade.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/form.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define SEGMENTS_MAX 32

void facades_begin(struct api *api)
{
    const struct api_config *c = &api->config;
    api->facade_states = mem_new((c->n_facades + 1) * sizeof *api->facade_states);
    for (size_t i = 0; i < c->n_facades; i++)
        if (c->facades[i]->begin)
            api->facade_states[i] = c->facades[i]->begin(c);
}

void facades_end(struct api *api)
{
    const struct api_config *c = &api->config;
    for (size_t i = 0; i < c->n_facades; i++)
        if (c->facades[i]->end)
            c->facades[i]->end(api->facade_states[i]);
    free(api->facade_states);
}

bool facade_handle(struct call *call)
{
    const struct api_config *c = &call->api->config;
    for (size_t i = 0; i < c->n_facades; i++)
        if (c->facades[i]->takes(call)) {
            call->facade_state = call->api->facade_states[i];
            c->facades[i]->handle(call);
            return true;
        }
    return false;
}

bool facade_refuse(struct call *call, const struct err *err)
{
    const struct api_config *c = &call->api->config;
    for (size_t i = 0; i < c->n_facades; i++)
        if (c->facades[i]->refuse && c->facades[i]->takes(call)) {
            c->facades[i]->refuse(call, err);
            return true;
        }
    return false;
}

/* ---- who ---- */

void facade_admit(struct call *call, const struct identity *who)
{
    call->who = identity_copy(call->arena, who);
    if (call->request)
        http_known(call->request, who->name);
    call->owner = call->who.name;
    caller_tell(call);
}

int facade_bearer(struct call *call, struct err *err)
{
    struct identity who = { 0 };
    int rc = auth_bearer(call, &who, err);
    if (rc == 0 && who.of.job)
        rc = err_set(err, ERR_DENIED, "a job's programs ask the server itself only");
    if (rc == 0)
        facade_admit(call, &who);
    else if (rc < 0)
        caller_refused(call, "", "login", "token", err);
    return rc;
}

/* ---- the path ---- */

bool facade_segments(struct call *call, struct words *out)
{
    const char *at = http_target(call->request);
    size_t len = strcspn(at, "?");
    const char *end = at + len;
    out->at = ARENA_ARRAY(call->arena, SEGMENTS_MAX, const char *);
    out->n = 0;
    while (at < end) {
        if (*at == '/') {
            at++;
            continue;
        }
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = slash ? (size_t)(slash - at) : (size_t)(end - at);
        char *text = arena_alloc(call->arena, n + 1);
        if (out->n == SEGMENTS_MAX || !form_decode(at, n, false, text))
            return false;
        out->at[out->n++] = text;
        at += n;
    }
    return true;
}

/* ---- what is said ---- */

const char *facade_uuid(struct arena *a)
{
    unsigned char raw[16];
    char hex[33];
    randombytes_buf(raw, sizeof raw);
    raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40);
    raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80);
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    return arena_printf(a, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

const char *facade_time(struct arena *a, uint64_t unix_ms)
{
    char text[FMT_MAX];
    if (unix_ms == 0)
        return "";
    fmt_time(text, unix_ms);
    memcpy(text + sizeof "2026-01-02T03:04:05" - 1, "Z", 2);
    return arena_strdup(a, text);
}

const char *facade_time_ms(struct arena *a, uint64_t unix_ms)
{
    char text[FMT_MAX];
    return unix_ms ? arena_strdup(a, fmt_time(text, unix_ms)) : "";
}

/* ---- pages ---- */

int facade_page_read(const struct call *call, const struct facade_paging *paging,
                     struct facade_page *page, struct err *err)
{
    const char *number_text = http_query(call->request, paging->number, 0);
    const char *size_text = http_query(call->request, paging->size, 0);
    uint64_t number = 1, size = paging->first;
    if (number_text && *number_text && !scan_u64(number_text, 1, INT32_MAX, &number))
        return err_set(err, ERR_INPUT, "%s is \"%.40s\"", paging->number, number_text);
    if (size_text && *size_text && !scan_u64(size_text, 1, INT32_MAX, &size))
        return err_set(err, ERR_INPUT, "%s is \"%.40s\"", paging->size, size_text);
    page->limit = size > paging->most ? paging->most : size;
    page->offset = (number - 1) * page->limit;
    return 0;
}

size_t facade_page_of(const struct facade_page *page, size_t n, size_t *first)
{
    *first = page->offset < n ? page->offset : n;
    size_t left = n - *first;
    return left < page->limit ? left : page->limit;
}
