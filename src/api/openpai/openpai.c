/* Which requests are OpenPAI's, whose they are, and which operation they ask for. A path is one of
 * the prefixes of the version, then the path of a route; /log-manager/ is where answers say that
 * the output of tasks lies. */
#include "api/openpai/openpai.h"

#include "api/openpai/output.h"
#include "api/openpai/routes.h"

#include "base/mem.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#define BASIC_MAX 4096

/* ---- is it ours ---- */

static const char *behind(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 && (!text[n] || strchr("/?", text[n])) ? text + n : NULL;
}

/* /api/v1 without a prefix is also Kubernetes' core group; these are OpenPAI's own words. */
static bool own_word(const char *rest)
{
    static const char *const words[] = { "/jobs",  "/user",   "/users",           "/token",
                                         "/authn", "/tokens", "/virtual-clusters" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (behind(rest, words[i]))
            return true;
    return behind(rest, "/kubernetes") != NULL;
}

/* Programs over Kubernetes' own library say so. */
static bool by_kubernetes(struct http_request *r)
{
    const char *agent = http_header(r, "User-Agent"), *accept = http_header(r, "Accept");
    return (agent && (strstr(agent, "kube") || strstr(agent, "k8s"))) ||
           (accept && strstr(accept, "apidiscovery"));
}

static bool takes(const struct call *call)
{
    struct http_request *r = call->request;
    const char *target = http_target(r), *rest;
    if (behind(target, "/rest-server") || behind(target, "/log-manager"))
        return true;
    if (http_header(r, "x-acs-version"))
        return false;
    if (behind(target, "/api/v2"))
        return true;
    rest = behind(target, "/api/v1");
    if (!rest)
        return false;
    bool root = !*rest || *rest == '?' || strcmp(rest, "/") == 0;
    return root ? !by_kubernetes(r) : own_word(rest);
}

/* ---- who ---- */

/* Basic user:token, for tokens of applications. 1: no such header; else as facade_bearer(). */
static int basic(struct pai *p, struct identity *who, struct err *err)
{
    const char *header = http_header(p->call->request, "Authorization");
    char text[BASIC_MAX];
    size_t len = 0;
    if (!header || strncasecmp(header, "Basic ", 6) != 0)
        return 1;
    if (sodium_base642bin((unsigned char *)text, sizeof text - 1, header + 6, strlen(header + 6),
                          " ", &len, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return err_set(err, ERR_UNAUTHENTICATED, "no user:token");
    text[len] = '\0';
    char *colon = strlen(text) == len ? strchr(text, ':') : NULL;
    if (!colon)
        return err_set(err, ERR_UNAUTHENTICATED, "no user:token");
    *colon = '\0';
    if (identify_by_token(ctl_accounts(p->ctl), p->a, colon + 1, who, err) < 0)
        return -1;
    if (!who->application || strcmp(who->name, text) != 0)
        return err_set(err, ERR_UNAUTHENTICATED, "not an application's token of this user");
    return 0;
}

/* As facade_bearer(). A link to output carries its token in the query. */
static int who_asks(struct pai *p, struct err *err)
{
    struct identity who;
    const char *ticket =
        p->route->flags & PAI_TICKET ? http_query(p->call->request, "token", 0) : NULL;
    int found = ticket ? identify_by_token(ctl_accounts(p->ctl), p->a, ticket, &who, err)
                       : basic(p, &who, err);
    if (found > 0)
        return facade_bearer(p->call, err);
    if (found == 0)
        facade_admit(p->call, &who);
    else
        caller_refused(p->call, "", "login", "token", err);
    return found;
}

/* false: answered. */
static bool admitted(struct pai *p)
{
    unsigned flags = p->route->flags;
    struct err err;
    p->me = "";
    if (flags & PAI_OPEN)
        return true;
    int found = who_asks(p, &err);
    const struct identity *who = &p->call->who;
    if (found > 0 && flags & PAI_READ && p->open)
        return true;
    if (found > 0)
        pai_fail(p, PAI_UNAUTHORIZED, "Guest is not allowed to do this operation.");
    else if (found < 0 || (who->job && !(flags & PAI_TICKET)))
        pai_fail(p, PAI_UNAUTHORIZED, "Your token is invalid.");
    else if (flags & PAI_PERSON && who->application)
        pai_fail(p, PAI_FORBIDDEN, "Applications are not allowed to do this operation.");
    else if (flags & PAI_ADMIN && who->role != ROLE_ADMIN)
        pai_fail(p, PAI_FORBIDDEN, "Non-admin is not allow to do this operation.");
    else {
        p->me = p->call->owner;
        return true;
    }
    return false;
}

/* ---- what ---- */

/* What is not there is asked for like all else: a guest learns nothing of that. */
static const struct pai_route no_route = { "*", PAI_BOTH, "", pai_no_api, 0 };
static const struct pai_route log_route = { "GET", PAI_V2, "", pai_log_file, PAI_TICKET };

/* Does the path of a route stand for these segments? Then param[] is what stands at its {}. */
static bool fits(struct pai *p, const char *path, const struct words *segments, size_t from)
{
    size_t params = 0;
    for (; *path; from++) {
        size_t len = strcspn(path, "/");
        if (from >= segments->n)
            return false;
        const char *one = segments->at[from];
        if (len == 2 && path[0] == '{')
            p->param[params++] = one;
        else if (strlen(one) != len || strncmp(path, one, len) != 0)
            return false;
        path += len + (path[len] == '/');
    }
    return from == segments->n;
}

static bool find(struct pai *p, const struct words *segments, size_t from)
{
    size_t n;
    const struct pai_route *routes = pai_routes(&n);
    const char *method = http_method(p->call->request);
    for (size_t i = 0; i < n; i++) {
        p->route = &routes[i];
        if (p->route->versions & p->version &&
            (*p->route->method == '*' || strcmp(p->route->method, method) == 0) &&
            fits(p, p->route->path, segments, from))
            return true;
    }
    return false;
}

/* Sets route, version and parameters. */
static bool dispatch(struct pai *p, struct words *at)
{
    size_t from = at->n && strcmp(at->at[0], "rest-server") == 0;
    while (at->n && !*at->at[at->n - 1])
        at->n--;
    p->version = PAI_V2;
    if (at->n == 6 && strcmp(at->at[0], "log-manager") == 0) {
        p->route = &log_route;
        p->param[0] = at->at[5];
        return strcmp(http_method(p->call->request), "GET") == 0;
    }
    if (at->n < from + 2 || strcmp(at->at[from], "api") != 0)
        return false;
    if (strcmp(at->at[from + 1], "v1") == 0)
        p->version = PAI_V1;
    else if (strcmp(at->at[from + 1], "v2") != 0)
        return false;
    return find(p, at, from + 2);
}

static bool setting_on(const struct api *api)
{
    for (size_t i = 0; i < api->config.n_settings; i++)
        if (strcmp(api->config.settings[i].name, OPENPAI_OPEN_READS) == 0)
            return strcmp(api->config.settings[i].value, "on") == 0;
    return false;
}

static struct pai *begun(struct call *call)
{
    struct pai *p = ARENA_NEW(call->arena, struct pai);
    const char *target = http_target(call->request), *rest = behind(target, "/rest-server");
    *p = (struct pai){ .call = call,
                       .ctl = call->api->config.ctl,
                       .a = call->arena,
                       .version = PAI_V2,
                       .url = arena_strdup(call->arena, rest ? rest : target),
                       .open = setting_on(call->api) };
    return p;
}

static void refuse(struct call *call, const struct err *err)
{
    pai_err(begun(call), err, NULL);
}

static void handle(struct call *call)
{
    struct pai *p = begun(call);
    struct words segments = { 0 };
    if (!facade_segments(call, &segments))
        pai_fail(p, PAI_PARAMETERS, "%.2000s is no path", p->url);
    else {
        if (!dispatch(p, &segments))
            p->route = &no_route;
        if (admitted(p))
            p->route->handle(p);
    }
}

const struct facade openpai_facade = {
    .name = "openpai", .takes = takes, .handle = handle, .refuse = refuse
};
