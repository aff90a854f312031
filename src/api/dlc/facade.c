/* The door: which requests are meant, who they are from, which operation they ask for.
 *
 * Inputs: a request of any kind. Effects: exactly one answer; the nonce of a signed request is
 * remembered.
 *
 * A client signs its path without the prefix of its endpoint, so what counts begins at /api/v1. The
 * operation is found by method and path; x-acs-action is a hint that nobody needs. */
#include "api/dlc/dlc.h"

#include "api/dlc/op.h"
#include "api/dlc/sign.h"
#include "api/dlc/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <string.h>

#define ROOT       "/api/v1/"
#define NONCES_MAX (1u << 20)

static const char *const versions[] = { [DLC_JOBS] = "2020-12-03", [DLC_SPACES] = "2021-02-04" };

static bool signed_here(const struct call *call)
{
    const char *said = http_header(call->request, "Authorization");
    return said && (strncmp(said, "acs ", 4) == 0 || strncmp(said, "ACS3-", 5) == 0);
}

static bool takes(const struct call *call)
{
    return http_header(call->request, "x-acs-version") || signed_here(call) ||
           strstr(http_path(call->request), TERMINAL_PATH);
}

/* ---- who ---- */

/* Also what is there twice: it is signed twice. */
static void add(struct pairs *pairs, struct arena *a, const char *name, const char *value)
{
    if (pairs->n == pairs->cap) {
        struct pair *wider = ARENA_ARRAY(a, pairs->cap ? pairs->cap * 2 : 16, struct pair);
        if (pairs->n)
            memcpy(wider, pairs->at, pairs->n * sizeof *wider);
        pairs->cap = pairs->cap ? pairs->cap * 2 : 16;
        pairs->at = wider;
    }
    pairs->at[pairs->n++] = (struct pair){ name, value };
}

/* The path from /api/v1 on, as on the wire; the whole of it when that is not in it. */
static const char *wire_path(struct dlc_call *d)
{
    const char *target = http_target(d->call->request);
    const char *path = arena_strndup(d->arena, target, strcspn(target, "?"));
    const char *root = strstr(path, ROOT);
    return root ? root : path;
}

static struct signed_request as_signed(struct dlc_call *d, const char *path)
{
    struct http_request *r = d->call->request;
    struct signed_request out = { .method = http_method(r),
                                  .path = path,
                                  .query = d->query,
                                  .body = d->text,
                                  .body_len = d->text_len };
    const char *name, *value;
    for (size_t i = 0; http_header_at(r, i, &name, &value); i++)
        add(&out.headers, d->arena, name, value);
    return out;
}

static enum sign_fault key_fault(const struct err *err)
{
    return err->code == ERR_NOT_FOUND         ? SIGN_UNKNOWN_KEY
           : err->code == ERR_UNAUTHENTICATED ? SIGN_TOKEN_EXPIRED
                                              : SIGN_INACTIVE_KEY;
}

/* Signature first, nonce last: only a request that proved itself is remembered. */
static enum sign_fault identify(struct dlc_call *d, const struct signed_request *r,
                                struct identity *who, const char **why)
{
    struct nonces *nonces = ((const struct dlc_state *)d->call->facade_state)->nonces;
    struct sign_claim claim;
    struct err err;
    const char *secret;
    enum sign_fault fault = sign_read(d->arena, r, &claim, why);
    if (fault)
        return fault;
    if (claim.scheme == SIGN_BEARER) {
        bool good = identify_by_token(ctl_accounts(d->ctl), d->arena, claim.bearer, who, &err) == 0;
        if (good && !who->job)
            return SIGN_OK;
        /* One that somebody was given to look at a job says nothing of who asks. */
        *why = good ? "this token is good for one thing only" : arena_strdup(d->arena, err.what);
        return SIGN_BAD_BEARER;
    }
    const struct identity_key key = { claim.key_id, claim.security_token, &secret };
    if (identify_by_key(ctl_accounts(d->ctl), d->arena, &key, who, &err)) {
        *why = arena_strdup(d->arena, err.what);
        return key_fault(&err);
    }
    fault = sign_verify(d->arena, r, &claim, secret, why);
    if (fault)
        return fault;
    if (!nonces_timely(nonces, claim.time_ms, d->now_ms)) {
        *why = "the date of the request is more than 15 minutes off: look at both clocks";
        return SIGN_TIME;
    }
    if (!nonces_add(nonces, claim.key_id, claim.nonce, claim.time_ms, d->now_ms)) {
        *why = "this request was here before: x-acs-signature-nonce must be new";
        return SIGN_REPLAYED;
    }
    note_key_use(ctl_accounts(d->ctl), claim.key_id);
    return SIGN_OK;
}

static bool admitted(struct dlc_call *d, const char *path)
{
    struct signed_request r = as_signed(d, path);
    struct identity who = { 0 };
    struct err err;
    const char *why = "";
    enum sign_fault fault = identify(d, &r, &who, &why);
    if (fault == SIGN_OK) {
        facade_admit(d->call, &who);
        return true;
    }
    err_set(&err, ERR_UNAUTHENTICATED, "%s", why);
    if (fault != SIGN_MISSING)
        caller_refused(d->call, "", "login", sign_fault_code(fault), &err);
    dlc_fail(d, sign_fault_status(fault), sign_fault_code(fault), "%s", why);
    return false;
}

/* ---- which operation ---- */

/* Matches "jobs/{}/stop" against segments; a last "*" is any number of them. */
static bool match(const char *pattern, const char *const *at, size_t n, const char **param)
{
    size_t i = 0, params = 0;
    for (; *pattern && i < n; i++) {
        size_t len = strcspn(pattern, "/");
        if (*pattern == '*')
            return true;
        if (strncmp(pattern, "{}", len) == 0 && len == 2) {
            if (!*at[i] || params == DLC_PARAMS)
                return false;
            param[params++] = at[i];
        } else if (strlen(at[i]) != len || strncmp(pattern, at[i], len) != 0) {
            return false;
        }
        pattern += len + (pattern[len] == '/');
    }
    return i == n && (!*pattern || *pattern == '*');
}

static bool service_of(struct dlc_call *d, enum dlc_service *service)
{
    const char *version = http_header(d->call->request, "x-acs-version");
    for (size_t i = 0; version && i < ARRAY_LEN(versions); i++)
        if (strcmp(version, versions[i]) == 0) {
            *service = (enum dlc_service)i;
            return true;
        }
    if (!version)
        dlc_missing(d, "x-acs-version");
    else
        dlc_fail(d, 400, "InvalidVersion",
                 "x-acs-version is \"%.40s\"; 2020-12-03 (DLC) and 2021-02-04 (AIWorkspace) are "
                 "served here",
                 version);
    return false;
}

static bool find_op(struct dlc_call *d, const struct words *path)
{
    enum dlc_service service;
    const char *method = http_method(d->call->request);
    char allowed[64] = "";
    size_t n, from = 0;
    if (!service_of(d, &service))
        return false;
    while (from + 1 < path->n &&
           (strcmp(path->at[from], "api") != 0 || strcmp(path->at[from + 1], "v1") != 0))
        from++;
    from = from + 2 < path->n ? from + 2 : path->n;
    const struct dlc_op *ops = dlc_ops(&n);
    for (size_t i = 0; i < n; i++) {
        const char *param[DLC_PARAMS] = { NULL };
        if (ops[i].service != service ||
            !match(ops[i].path, path->at + from, path->n - from, param))
            continue;
        if (strcmp(ops[i].method, method) == 0 || !*ops[i].method) {
            d->op = &ops[i];
            memcpy(d->param, param, sizeof param);
            return true;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", ops[i].method);
    }
    if (*allowed) {
        http_add_header(d->call->request, "Allow", allowed);
        dlc_fail(d, 405, "InvalidMethod", "this path takes %s, not %.20s", allowed, method);
    } else {
        dlc_fail(d, 404, "InvalidAction.NotFound", "%s has no operation at %.200s %.200s",
                 versions[service], method, http_path(d->call->request));
    }
    return false;
}

/* ---- the call ---- */

static struct dlc_call *begun(struct call *call)
{
    struct dlc_call *d = ARENA_NEW(call->arena, struct dlc_call);
    const char *name, *value;
    *d = (struct dlc_call){ .call = call,
                            .arena = call->arena,
                            .ctl = call->api->config.ctl,
                            .request_id = facade_uuid(call->arena),
                            .now_ms = clock_wall_ms(),
                            .running = true };
    d->text = http_body(call->request, &d->text_len);
    for (size_t i = 0; http_query_at(call->request, i, &name, &value); i++)
        add(&d->query, d->arena, name, value);
    return d;
}

/* The handler has returned: it answered, or waits for the core. */
static void conclude(struct dlc_call *d)
{
    d->running = false;
    if (d->answer)
        dlc_send(d);
}

static void refuse(struct call *call, const struct err *err)
{
    struct dlc_call *d = begun(call);
    dlc_err(d, err, NULL);
    conclude(d);
}

static void handle(struct call *call)
{
    struct dlc_call *d = begun(call);
    struct words path;
    if (!dlc_terminal(d) && admitted(d, wire_path(d))) {
        if (!facade_segments(call, &path))
            dlc_fail(d, 400, "InvalidParameter", "the path cannot be decoded");
        else if (find_op(d, &path))
            dlc_run(d);
    }
    if (!d->gone)
        conclude(d);
}

static void *begin(const struct api_config *c)
{
    struct dlc_state *state = mem_new(sizeof *state);
    struct nonces_place place = { .dir = c->state_dir, .boot = "", .now_ms = clock_wall_ms() };
    AUTO_FREE char *boot = NULL;
    struct err err;
    size_t len;
    if (file_read("/proc/sys/kernel/random/boot_id", 4096, &boot, &len, &err) == 0)
        place.boot = boot;
    state->nonces = nonces_create(NONCES_MAX, c->state_dir ? &place : NULL);
    state->terminals = terminals_create();
    return state;
}

static void end(void *arg)
{
    struct dlc_state *state = arg;
    nonces_destroy(state->nonces);
    terminals_destroy(state->terminals);
    free(state);
}

const struct facade dlc_facade = {
    .name = "dlc", .takes = takes, .handle = handle, .refuse = refuse, .begin = begin, .end = end
};
