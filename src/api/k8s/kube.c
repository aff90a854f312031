/* From a request to a resource and a verb: the path, who asks, the options of the query. What is
 * refused here never reaches a resource. */
#include "api/k8s/k8s.h"

#include "api/k8s/answer.h"
#include "api/k8s/body.h"
#include "api/k8s/discovery.h"
#include "api/k8s/log.h"
#include "api/k8s/openapi.h"
#include "api/k8s/pods.h"
#include "api/k8s/protobuf.h"
#include "api/k8s/read.h"
#include "api/k8s/review.h"
#include "api/k8s/watch.h"
#include "api/k8s/write.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/detect.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- is it ours ---- */

static bool begins(const char *path, const char *with)
{
    size_t n = strlen(with);
    return strncmp(path, with, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* "/api/v1" has other systems' paths as well: ours are known by the resource. */
static bool core_path(const struct call *call, const char *rest)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    if (http_header(call->request, "x-acs-version"))
        return false;
    if (*rest == '\0' || strcmp(rest, "/") == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (all[i].core && begins(rest + 1, all[i].plural))
            return true;
    return false;
}

static bool takes(const struct call *call)
{
    const char *path = http_path(call->request);
    if (begins(path, "/apis") || begins(path, "/openapi") || strcmp(path, "/version") == 0 ||
        strcmp(path, "/api") == 0)
        return true;
    return begins(path, "/api/v1") && core_path(call, path + strlen("/api/v1"));
}

/* ---- who asks ---- */

static const char *setting(const struct call *call, const char *name)
{
    const struct api_config *c = &call->api->config;
    for (size_t i = 0; i < c->n_settings; i++)
        if (strcmp(c->settings[i].name, name) == 0)
            return c->settings[i].value;
    return "";
}

/* With or without a port. A name that only begins like one ("127.0.0.1.example.org") is none. */
static bool loopback(const char *host)
{
    static const char *const names[] = { "localhost", "[::1]" };
    if (!host)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (host[n] == '\0' || host[n] == ':'))
            return true;
    }
    size_t n = strspn(host, "0123456789.");
    return strncmp(host, "127.", 4) == 0 && (host[n] == '\0' || host[n] == ':');
}

/* kubectl sends no credentials over plain http. Where that is switched on, who reaches this
 * machine's own address is the server's user; not a page of another site in a browser. */
static bool open_to(const struct call *call)
{
    const char *address = call->api->address ? strstr(call->api->address, "://") : NULL;
    return strcmp(setting(call, "kubectl_http"), "on") == 0 && address && loopback(address + 3) &&
           !http_over_tls(call->request) && !http_header(call->request, "Origin") &&
           loopback(http_header(call->request, "Host"));
}

static bool admitted(struct kube *k)
{
    struct call *call = k->call;
    struct err err = { 0 };
    int rc = facade_bearer(call, &err);
    if (rc == 1 && open_to(call)) {
        struct identity who;
        identify_by_name(ctl_accounts(k->ctl), call->arena, ctl_own_user(k->ctl), &who);
        facade_admit(call, &who);
        rc = 0;
    }
    if (rc == 0)
        return true;
    k->of = NULL;
    kube_fail(k, &(struct kube_status){ 401, "Unauthorized", "Unauthorized", NULL });
    return false;
}

/* ---- what is asked ---- */

/* "[namespaces/NS/]plural[/name[/sub]]" behind group and version. */
static bool find_resource(struct kube *k, const char *group, const char *version,
                          const struct words *path, size_t at)
{
    size_t left = path->n - at;
    const char *const *p = path->at + at;
    bool of_ns = left >= 1 && strcmp(p[0], "namespaces") == 0;
    bool inner = of_ns && left >= 3 && strcmp(p[2], "status") != 0 && strcmp(p[2], "finalize") != 0;
    if (inner) {
        k->ns = p[1];
        p += 2;
        left -= 2;
    }
    if (left < 1 || left > 3)
        return false;
    k->of = kube_resource(group, version, p[0]);
    k->name = left > 1 ? p[1] : NULL;
    k->sub = left > 2 ? p[2] : NULL;
    return k->of && (!k->ns || k->of->namespaced) && (!k->name || k->ns || !k->of->namespaced);
}

static bool flag(const struct call *call, const char *name)
{
    const char *text = http_query(call->request, name, 0);
    return text && strcmp(text, "true") == 0;
}

static bool fields_known(const struct selector *s, struct err *err)
{
    static const char *const known[] = {
        "metadata.name",
        "metadata.namespace",
        "status.phase",
        "spec.nodeName",
        "spec.restartPolicy",
        "involvedObject.name",
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.uid",
        "type",
        "reason",
        "involvedObject.apiVersion",
    };
    for (size_t i = 0; i < s->n_fields; i++) {
        bool found = false;
        for (size_t n = 0; n < ARRAY_LEN(known); n++)
            found |= strcmp(s->fields[i].key, known[n]) == 0;
        if (!found)
            return err_set(err, ERR_INPUT, "field label not supported: %.80s", s->fields[i].key),
                   false;
    }
    return true;
}

static bool read_options(struct kube *k, struct err *err)
{
    struct http_request *r = k->call->request;
    const char *accept = http_header(r, "Accept"), *dry = http_query(r, "dryRun", 0);
    const char *check = http_query(r, "fieldValidation", 0);
    const char *include = http_query(r, "includeObject", 0);
    k->table = accept && strstr(accept, "as=Table") && strstr(accept, "v=v1;");
    k->include = !include                         ? TABLE_METADATA
                 : strcmp(include, "Object") == 0 ? TABLE_OBJECT
                 : strcmp(include, "None") == 0   ? TABLE_NONE
                                                  : TABLE_METADATA;
    k->manager = http_query(r, "fieldManager", 0);
    k->validation = !check || strcmp(check, "Warn") == 0 ? VALIDATE_WARN
                    : strcmp(check, "Strict") == 0       ? VALIDATE_STRICT
                                                         : VALIDATE_IGNORE;
    k->dry_run = dry && strcmp(dry, "All") == 0;
    if (dry && *dry && !k->dry_run)
        return err_set(err, ERR_INPUT, "dryRun is \"%.40s\", not All", dry), false;
    if (selector_parse(k->arena, http_query(r, "labelSelector", 0),
                       http_query(r, "fieldSelector", 0), &k->selector, err))
        return false;
    return fields_known(&k->selector, err);
}

/* ---- verbs ---- */

static const struct verb {
    const char *method;
    bool named;
    unsigned verb;
    bool body;
    void (*run)(struct kube *);
} verbs[] = {
    { "GET", true, KUBE_GET, false, kube_get },
    { "GET", false, KUBE_LIST, false, kube_list },
    { "POST", false, KUBE_CREATE, true, kube_create },
    { "PUT", true, KUBE_UPDATE, true, kube_update },
    { "PATCH", true, KUBE_PATCH, true, kube_patch },
    { "DELETE", true, KUBE_DELETE, true, kube_delete },
    { "DELETE", false, KUBE_COLLECTION, true, kube_delete_all },
};

static const struct verb *verb_of(const struct kube *k, const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].method, method) == 0 && verbs[i].named == (k->name != NULL))
            return k->of->verbs & verbs[i].verb ? &verbs[i] : NULL;
    return NULL;
}

static void no_path(struct kube *k)
{
    k->of = NULL;
    k->name = NULL;
    kube_fail(k, &(struct kube_status){ 404, "NotFound",
                                        "the server could not find the requested resource", NULL });
}

static bool within_limits(struct kube *k, unsigned verb, struct err *err)
{
    bool submits = k->of->is_job && verb & (KUBE_CREATE | KUBE_UPDATE | KUBE_PATCH);
    return (verb != KUBE_LIST || limit_one(k->call, LIMIT_LIST, err) == 0) &&
           (!submits || limit_one(k->call, LIMIT_SUBMIT, err) == 0);
}

static void run(struct kube *k)
{
    const char *method = http_method(k->call->request);
    struct err err = { 0 };
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    if (k->sub) {
        if (k->of->each == pods_each && strcmp(k->sub, "log") == 0 && strcmp(method, "GET") == 0)
            pods_log(k);
        else
            no_path(k);
        return;
    }
    const struct verb *verb = verb_of(k, method);
    if (!verb) {
        const char *why = k->of->instead;
        const char *text = arena_printf(
            k->arena, "the server does not allow this method on the requested resource%s%s",
            why ? ": " : "", why ? why : "");
        kube_fail(k, &(struct kube_status){ 405, "MethodNotAllowed", text, NULL });
        return;
    }
    if (verb->verb != KUBE_GET && verb->verb != KUBE_LIST && k->call->who.role == ROLE_READER) {
        err_set(&err, ERR_DENIED, "%.60s is a reader: it changes nothing", k->call->owner);
        kube_problem(k, &err, NULL);
        return;
    }
    if (!within_limits(k, verb->verb, &err) || !read_options(k, &err)) {
        kube_problem(k, &err, NULL);
        return;
    }
    if (verb->body && !kube_read_body(k, method))
        return;
    if (verb->verb == KUBE_LIST &&
        (flag(k->call, "watch") || http_query(k->call->request, "watch", 0)))
        kube_watch(k);
    else
        verb->run(k);
}

static void handle(struct call *call)
{
    struct kube *k = mem_new(sizeof *k);
    struct words path = { 0 };
    *k = (struct kube){ .call = call, .arena = call->arena, .ctl = call->api->config.ctl };
    k->scratch = arena_create();
    if (!facade_segments(call, &path)) {
        kube_bad(k, "the path has an escape that is none");
        return;
    }
    bool open = path.n == 1 && strcmp(path.at[0], "version") == 0;
    if (!open && !admitted(k))
        return;
    bool api = path.n > 2 && strcmp(path.at[0], "api") == 0;
    bool apis = path.n > 3 && strcmp(path.at[0], "apis") == 0;
    if (api && find_resource(k, "", path.at[1], &path, 2))
        run(k);
    else if (apis && find_resource(k, path.at[1], path.at[2], &path, 3))
        run(k);
    else if (!kube_discover(k, &path) && !kube_openapi(k, &path) && !kube_review(k, &path))
        no_path(k);
}

/* What the server itself refuses (a body that is too large, "%00" in a path) as a Status. */
static void refuse(struct call *call, const struct err *err)
{
    struct kube *k = mem_new(sizeof *k);
    *k = (struct kube){ .call = call, .arena = call->arena, .ctl = call->api->config.ctl };
    k->scratch = arena_create();
    kube_problem(k, err, NULL);
}

const struct facade k8s_facade = {
    .name = "k8s", .takes = takes, .handle = handle, .refuse = refuse
};
