/* The Kubernetes API as kubectl and other clients ask for it, on a core with real ElasticJobs and
 * simulated agents: every verb once good and once bad, who may what, what refusals say. What needs
 * kubectl itself is in tests/test_kubectl.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answer/job_list.h"
#include "answer/pods.h"
#include "api/k8s/discovery.h"
#include "api/k8s/k8s.h"
#include "api/k8s/object.h"
#include "api/test/served.h"
#include "base/mem.h"
#include "dialect/elasticjob/elasticjob.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS    "/apis/elastic.iml.github.io/v1alpha1/namespaces/lab/elasticjobs"
#define CONFIGS "/api/v1/namespaces/lab/configmaps"
#define SECRETS "/api/v1/namespaces/lab/secrets"
#define PODS    "/api/v1/namespaces/lab/pods"
#define TABLE   "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
#define MERGE   "application/merge-patch+json"
#define PATCH   "application/json-patch+json"

/* ---- the server, its users, its clients ---- */

static const struct dialect *const all_dialects[] = { &elasticjob_dialect };
static const struct convention *const all_conventions[] = { &elasticjob_convention };
static const struct dialects dialects = { .at = all_dialects,
                                          .n = 1,
                                          .conventions = all_conventions,
                                          .n_conventions = 1,
                                          .native = &elasticjob_convention };

struct fix {
    struct served served;
    void (*run)(struct fix *);
    char tokens[3][80];
};
/* ada and eve (who reads only) are in the project, bob is not. */
static const char *const users[] = { "ada", "bob", "eve" };

static const char *token_of(const struct fix *f, const char *who)
{
    if (!*who)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        if (strcmp(users[i], who) == 0)
            return f->tokens[i];
    return strcmp(who, "root") == 0 ? SERVED_TOKEN : who;
}

/* Every refusal of the façade is a Status with its code in it. */
static void rows(struct fix *f, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct reply r = served_ask(&f->served, token_of(f, rows[i].who), &rows[i]);
        served_check(&rows[i], &r);
        if (rows[i].status >= 400) {
            assert_non_null(r.root);
            assert_string_equal(kube_in(r.root, "kind", NULL), "Status");
            assert_string_equal(kube_in(r.root, "status", NULL), "Failure");
            assert_int_equal(text_get(r.root, "code")->integer, rows[i].status);
        }
        reply_fini(&r);
    }
}
#define ROWS(f, ...)                                                                               \
    do {                                                                                           \
        static const struct row all_[] = { __VA_ARGS__ };                                          \
        rows(f, all_, ARRAY_LEN(all_));                                                            \
    } while (0)

/* Until the answer has that part: jobs go on beside the client. */
static void await(struct fix *f, const char *path, const char *part)
{
    const struct row row = { "ada", "GET", path, NULL, NULL, 0, NULL };
    for (int i = 0; i < 5000; i++) {
        struct reply r = served_ask(&f->served, token_of(f, "ada"), &row);
        bool there = strstr(buf_str(&r.http.body), part) != NULL;
        reply_fini(&r);
        if (there)
            return;
    }
    fail_msg("%s has never %s", path, part);
}

/* A text of the object at that path: metadata.KEY. */
static char *metadata_of(struct fix *f, const char *path, const char *key)
{
    const struct row row = { "ada", "GET", path, NULL, NULL, 200, NULL };
    struct reply r = served_ask(&f->served, token_of(f, "ada"), &row);
    served_check(&row, &r);
    char *text = mem_strdup(kube_in(r.root, "metadata", key));
    reply_fini(&r);
    return text;
}

/* Names of a list's items, one after the other. */
static void names_are(struct fix *f, const char *who, const char *path, const char *wanted)
{
    const struct row row = { who, "GET", path, NULL, NULL, 200, "\"items\":[" };
    struct reply r = served_ask(&f->served, token_of(f, who), &row);
    char names[512] = "";
    served_check(&row, &r);
    for (const struct text_node *one = text_get(r.root, "items")->first; one; one = one->next) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? " " : "",
                 kube_in(one, "metadata", "name"));
    }
    reply_fini(&r);
    if (strcmp(names, wanted) != 0)
        fail_msg("%s has \"%s\", not \"%s\"", path, names, wanted);
}

static void make_users(struct fix *f)
{
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        char user[160], token[80];
        snprintf(user, sizeof user, "{\"name\":\"%s\",\"role\":\"%s\",\"projects\":[%s]}", users[i],
                 i == 2 ? "reader" : "user", i == 1 ? "" : "\"lab\"");
        snprintf(token, sizeof token, "{\"owner\":\"%s\"}", users[i]);
        const struct row make = { "root", "POST", "/v1/users", user, NULL, 201, NULL };
        const struct row give = { "root", "POST", "/v1/tokens", token, NULL, 201, NULL };
        rows(f, &make, 1);
        struct reply r = served_ask(&f->served, SERVED_TOKEN, &give);
        served_check(&give, &r);
        snprintf(f->tokens[i], sizeof f->tokens[i], "%s", kube_in(r.root, "token", NULL));
        reply_fini(&r);
    }
}

static void run_client(void *arg)
{
    struct fix *f = arg;
    f->run(f);
}

static void with_client(void **state, void (*run)(struct fix *))
{
    struct fix *f = *state;
    f->run = run;
    beside_run(&f->served.beside, run_client, f);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    served_init(&f->served,
                &(struct served_config){ .dialects = &dialects, .facade = &k8s_facade });
    *state = f;
    with_client(state, make_users);
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    served_fini(&f->served);
    free(f);
    return 0;
}

#define RUN(client)                                                                                \
    static void client##_test(void **state)                                                        \
    {                                                                                              \
        with_client(state, client);                                                                \
    }

/* ---- what there is ---- */

static void discovery(struct fix *f)
{
    ROWS(f, { "", "GET", "/version", NULL, NULL, 200, "\"gitVersion\":\"v1.32.0+muster.9.9\"" },
         { "ada", "GET", "/api", NULL, NULL, 200, "\"versions\":[\"v1\"]" },
         { "ada", "GET", "/apis", NULL, NULL, 200, "\"name\":\"elastic.iml.github.io\"" },
         { "ada", "GET", "/apis/scheduling.sigs.k8s.io", NULL, NULL, 200,
           "\"preferredVersion\":{\"groupVersion\":\"scheduling.sigs.k8s.io/v1alpha1\"" },
         { "ada", "GET", "/api/v1", NULL, NULL, 200,
           "{\"name\":\"pods/log\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Pod\","
           "\"verbs\":[\"get\"]}" },
         { "ada", "GET", "/api", NULL, "application/json;g=apidiscovery.k8s.io;v=v2;as=X", 200,
           "\"kind\":\"APIGroupDiscoveryList\"" },
         { "ada", "GET", "/api", NULL, "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=X", 200,
           "\"kind\":\"APIVersions\"" },
         { "ada", "GET", "/apis/apps", NULL, NULL, 404,
           "the server could not find the requested resource" },
         { "ada", "GET", "/apis/elastic.iml.github.io/v1", NULL, NULL, 404, "NotFound" },
         { "ada", "GET", "/api/v1/namespaces/lab/endpoints", NULL, NULL, 404, "NotFound" },
         { "ada", "GET", PODS "/p/exec", NULL, NULL, 404, "NotFound" },
         { "ada", "GET", "/api/v1/namespaces/lab/nodes", NULL, NULL, 404, "NotFound" },
         { "ada", "GET", "/apis/%zz", NULL, NULL, 400, NULL },
         { "ada", "GET", "/openapi/v3", NULL, NULL, 200, "apis/elastic.iml.github.io/v1alpha1" },
         { "ada", "GET", "/openapi/v3/apis/elastic.iml.github.io/v1alpha1", NULL, NULL, 200,
           "\"x-kubernetes-group-version-kind\"" });
}
RUN(discovery)

/* Each row of the table is in the list of its group, with its verbs, names and scope. */
static void every_resource(struct fix *f)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_create();
        const char *path =
            arena_printf(a, "%s/%s", *all[i].group ? "/apis" : "/api", kube_version(a, &all[i]));
        struct text_node *one = text_map(a, NULL, NULL);
        AUTO_BUF struct buf wanted = BUF_INIT(1u << 16);
        text_str(a, one, "name", all[i].plural);
        text_str(a, one, "singularName", all[i].singular);
        text_bool(a, one, "namespaced", all[i].namespaced);
        text_str(a, one, "kind", all[i].kind);
        kube_put_verbs(a, one, all[i].verbs);
        json_print(one, 0, &wanted);
        wanted.data[--wanted.len] = '\0'; /* short names and categories follow */
        const struct row row = { "ada", "GET", path, NULL, NULL, 200, buf_str(&wanted) };
        rows(f, &row, 1);
        arena_destroy(a);
    }
}
RUN(every_resource)

static void methods(struct fix *f)
{
    ROWS(f,
         { "ada", "POST", PODS, "{}", NULL, 405,
           "pods are made by their jobs; `muster restart` runs a job's tasks again" },
         { "ada", "PATCH", "/api/v1/nodes/n1", "{}", MERGE, 405,
           "`muster drain` keeps jobs from a node" },
         { "ada", "DELETE", "/api/v1/namespaces/lab/events/e", NULL, NULL, 405,
           "events are written by the server" },
         { "ada", "DELETE", "/api/v1/namespaces", NULL, NULL, 405, "MethodNotAllowed" },
         { "ada", "PUT", CONFIGS, "{}", NULL, 405, "MethodNotAllowed" },
         { "ada", "POST", CONFIGS, "{}", "text/csv", 415,
           "text/csv is not supported; send application/json or application/yaml" },
         { "ada", "POST", CONFIGS, "{", NULL, 400, "the body cannot be read" },
         { "ada", "POST", CONFIGS, "a: [", "application/yaml", 400, "the body cannot be read" },
         { "ada", "GET", CONFIGS "?limit=many", NULL, NULL, 400, "limit" },
         { "ada", "GET", CONFIGS "?continue=x", NULL, NULL, 400, "continue key is not valid" },
         { "ada", "GET", CONFIGS "?labelSelector=a%20in%20b", NULL, NULL, 400, NULL },
         { "ada", "GET", CONFIGS "?fieldSelector=data.x%3D1", NULL, NULL, 400,
           "field label not supported: data.x" },
         { "ada", "GET", CONFIGS "?watch=1&resourceVersion=new", NULL, NULL, 400, NULL });
}
RUN(methods)

/* ---- who may ---- */

#define CONFIG(name, data)                                                                         \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                 \
    "\",\"labels\":{\"of\":\"" name "\"}},\"data\":{" data "}}"
#define SECRET(name, data) "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"" name "\"}," data "}"

static void who_may(struct fix *f)
{
    ROWS(f, { "", "GET", "/api", NULL, NULL, 401, "Unauthorized" },
         { "", "GET", PODS, NULL, NULL, 401, "Unauthorized" },
         { "wrong", "GET", PODS, NULL, NULL, 401, "Unauthorized" },
         { "eve", "POST", CONFIGS, CONFIG("e", ""), NULL, 403, "eve is a reader" },
         { "eve", "DELETE", CONFIGS "/e", NULL, NULL, 403, "it changes nothing" },
         { "eve", "GET", CONFIGS, NULL, NULL, 200, "\"items\":[]" },
         { "ada", "POST", CONFIGS, CONFIG("a", "\"k\":\"v\""), NULL, 201, "\"k\":\"v\"" },
         { "eve", "GET", CONFIGS "/a", NULL, NULL, 200, "\"k\":\"v\"" },
         { "bob", "PATCH", CONFIGS "/a", "{\"data\":{\"k\":\"w\"}}", MERGE, 403, NULL },
         { "bob", "DELETE", CONFIGS "/a", NULL, NULL, 403, NULL },
         { "root", "DELETE", CONFIGS "/a", NULL, NULL, 200, "\"status\":\"Success\"" },
         { "ada", "POST", SECRETS, SECRET("s", "\"stringData\":{\"p\":\"hello\"}"), NULL, 201,
           "\"data\":{\"p\":\"aGVsbG8=\"}" },
         { "ada", "GET", SECRETS "/s", NULL, NULL, 200, "\"type\":\"Opaque\"" },
         { "root", "GET", SECRETS "/s", NULL, NULL, 200, "aGVsbG8=" },
         { "bob", "GET", SECRETS "/s", NULL, NULL, 404, "secrets \\\"s\\\" not found" },
         { "eve", "GET", SECRETS, NULL, NULL, 200, "\"items\":[]" });
}
RUN(who_may)

#define REVIEW(group, plural) "/apis/" group "/v1/" plural
#define MAY_I                 REVIEW("authorization.k8s.io", "selfsubjectaccessreviews")
#define MAY(what)                                                                                  \
    "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"spec\":{"  \
    "\"resourceAttributes\":{" what "}}}"

static void reviews(struct fix *f)
{
    ROWS(f,
         { "ada", "POST", MAY_I, MAY("\"verb\":\"create\",\"resource\":\"configmaps\""), NULL, 201,
           "\"allowed\":true" },
         { "eve", "POST", MAY_I, MAY("\"verb\":\"create\",\"resource\":\"configmaps\""), NULL, 201,
           "\"allowed\":false,\"reason\":\"a reader changes nothing\"" },
         { "eve", "POST", MAY_I, MAY("\"verb\":\"watch\",\"resource\":\"pods\""), NULL, 201,
           "\"allowed\":true" },
         { "ada", "POST", MAY_I, MAY("\"verb\":\"delete\",\"resource\":\"pods\""), NULL, 201,
           "\"allowed\":false" },
         { "ada", "POST", MAY_I,
           MAY("\"verb\":\"get\",\"resource\":\"pods\",\"subresource\":\"log\""), NULL, 201,
           "\"allowed\":true" },
         { "ada", "POST", MAY_I,
           MAY("\"verb\":\"create\",\"resource\":\"pods\",\"subresource\":\"exec\""), NULL, 201,
           "\"allowed\":false" },
         { "ada", "POST", MAY_I, MAY("\"group\":\"*\",\"verb\":\"*\",\"resource\":\"elasticjobs\""),
           NULL, 201, "\"allowed\":true" },
         { "ada", "POST", MAY_I,
           MAY("\"group\":\"apps\",\"verb\":\"get\",\"resource\":\"elasticjobs\""), NULL, 201,
           "\"allowed\":false" },
         { "ada", "POST", MAY_I,
           "{\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"nonResourceAttributes\":{\"path\":"
           "\"/version\",\"verb\":\"get\"}}}",
           NULL, 201, "\"allowed\":true" },
         { "ada", "POST", MAY_I, "{\"kind\":\"Pod\"}", NULL, 400,
           "the body is no SelfSubjectAccessReview" },
         { "eve", "POST", REVIEW("authorization.k8s.io", "selfsubjectrulesreviews"),
           "{\"kind\":\"SelfSubjectRulesReview\",\"spec\":{\"namespace\":\"lab\"}}", NULL, 201,
           "{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"elastic.iml.github.io\"],"
           "\"resources\":[\"elasticjobs\"]}" },
         { "eve", "POST", REVIEW("authentication.k8s.io", "selfsubjectreviews"),
           "{\"kind\":\"SelfSubjectReview\"}", NULL, 201,
           "\"groups\":[\"muster:reader\",\"system:authenticated\"],\"username\":\"eve\"" });
}
RUN(reviews)

/* ---- objects that are kept ---- */

static void names_and_kinds(struct fix *f)
{
    ROWS(f,
         { "ada", "POST", CONFIGS, "{\"kind\":\"ConfigMap\",\"metadata\":{}}", NULL, 422,
           "name or generateName is required" },
         { "ada", "POST", CONFIGS, CONFIG("Big", ""), NULL, 422,
           "a lowercase RFC 1123 subdomain must consist of" },
         { "ada", "POST", CONFIGS, CONFIG("-a", ""), NULL, 422,
           "\"message\":\"Invalid value: a lowercase RFC 1123" },
         { "ada", "POST", CONFIGS, CONFIG("a.", ""), NULL, 422, "\"reason\":\"Invalid\"" },
         { "ada", "POST", "/api/v1/namespaces/Lab/configmaps", CONFIG("a", ""), NULL, 422, NULL },
         { "ada", "POST", CONFIGS, SECRET("a", "\"data\":{}"), NULL, 400,
           "(, Kind=Secret) does not match the expected API version (v1, Kind=ConfigMap)" },
         { "ada", "POST", CONFIGS,
           "{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}", NULL,
           400, "(v2, Kind=ConfigMap)" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}", NULL,
           400, "the namespace of the provided object does not match" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
           NULL, 400, "resourceVersion should not be set on objects to be created" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"n\":1}}", NULL, 400,
           "data is no map of texts" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a b\":\"\"}}}",
           NULL, 422, "\"field\":\"metadata.labels\"" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"/\":\"\"}}}",
           NULL, 422, "\"field\":\"metadata.annotations\"" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"name\":\"a\"},\"binaryData\":{\"b\":\"%\"}}",
           NULL, 400, "illegal base64 data in binaryData of \\\"b\\\"" },
         { "ada", "POST", SECRETS, SECRET("a", "\"data\":{\"p\":\"no base64\"}"), NULL, 400,
           "illegal base64 data in data of \\\"p\\\"" },
         { "ada", "POST", CONFIGS, "{\"metadata\":{\"generateName\":\"made-\"}}", NULL, 201,
           "\"name\":\"made-" },
         { "ada", "GET", CONFIGS "?fieldSelector=metadata.name%3Da", NULL, NULL, 200,
           "\"items\":[]" });
}
RUN(names_and_kinds)

/* What the client says of the server's own metadata counts for nothing. */
static void what_the_server_writes(struct fix *f)
{
    ROWS(f, { "ada", "POST", CONFIGS,
              "metadata:\n  name: own\n  uid: mine\n  creationTimestamp: 2001-01-01T00:00:00Z\n"
              "status: {phase: Mine}\ndata: {k: v}\n",
              "application/yaml", 201, "\"kind\":\"ConfigMap\"" });
    AUTO_FREE char *uid = metadata_of(f, CONFIGS "/own", "uid");
    AUTO_FREE char *made = metadata_of(f, CONFIGS "/own", "creationTimestamp");
    AUTO_FREE char *again = metadata_of(f, CONFIGS "/own", "uid");
    assert_int_equal(strlen(uid), 36);
    assert_string_equal(uid, again);
    assert_string_not_equal(made, "2001-01-01T00:00:00Z");
    assert_int_not_equal(kube_time(made), 0);
}
RUN(what_the_server_writes)

static void changes(struct fix *f)
{
    ROWS(f, { "ada", "POST", CONFIGS, CONFIG("c", "\"a\":\"1\""), NULL, 201, NULL },
         { "ada", "POST", CONFIGS, CONFIG("c", "\"a\":\"2\""), NULL, 409,
           "configmaps \\\"c\\\" already exists" },
         { "ada", "PUT", CONFIGS "/none", CONFIG("none", ""), NULL, 404, "not found" },
         { "ada", "PUT", CONFIGS "/c", CONFIG("d", ""), NULL, 400,
           "the name of the object (d) does not match the name on the URL (c)" },
         { "ada", "PUT", CONFIGS "/c", CONFIG("c", "\"a\":\"2\""), NULL, 200, "\"a\":\"2\"" },
         { "ada", "PATCH", CONFIGS "/c", "{\"data\":{\"b\":\"3\"}}", MERGE, 200,
           "{\"a\":\"2\",\"b\":\"3\"}" },
         { "ada", "PATCH", CONFIGS "/c", "{\"data\":{\"a\":null}}",
           "application/strategic-merge-patch+json", 200, "\"data\":{\"b\":\"3\"}" },
         { "ada", "PATCH", CONFIGS "/c",
           "[{\"op\":\"replace\",\"path\":\"/data/b\",\"value\":\"4\"}]", PATCH, 200,
           "\"b\":\"4\"" },
         { "ada", "PATCH", CONFIGS "/c", "[{\"op\":\"remove\",\"path\":\"/data/x\"}]", PATCH, 422,
           "patch: Invalid value" },
         { "ada", "PATCH", CONFIGS "/c", "[1]", MERGE, 400, "a merge patch is a map" },
         { "ada", "PATCH", CONFIGS "/c", "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]", PATCH,
           400, "the patch leaves no object" },
         { "ada", "PATCH", CONFIGS "/c", "{}", "application/json", 415,
           "accepted media types include" },
         { "ada", "PATCH", CONFIGS "/none", "{}", MERGE, 404, "not found" },
         { "ada", "PATCH", CONFIGS "/c?fieldManager=tool", "data: {z: last}\n",
           "application/apply-patch+yaml", 200, "\"manager\":\"tool\",\"operation\":\"Apply\"" },
         { "ada", "PATCH", CONFIGS "/new?fieldManager=tool", "data: {z: first}\n",
           "application/apply-patch+yaml", 201, "\"z\":\"first\"" },
         { "ada", "GET", CONFIGS "/c", NULL, NULL, 200, "{\"b\":\"4\",\"z\":\"last\"}" });
}
RUN(changes)

static void versions(struct fix *f)
{
    ROWS(f, { "ada", "POST", CONFIGS, CONFIG("v", "\"a\":\"1\""), NULL, 201, NULL });
    AUTO_FREE char *old = metadata_of(f, CONFIGS "/v", "resourceVersion");
    AUTO_FREE char *stale = mem_printf(
        "{\"metadata\":{\"name\":\"v\",\"resourceVersion\":\"%s\"},\"data\":{\"a\":\"3\"}}", old);
    AUTO_FREE char *unmet = mem_printf("{\"preconditions\":{\"resourceVersion\":\"%s\"}}", old);
    ROWS(f, { "ada", "PUT", CONFIGS "/v", CONFIG("v", "\"a\":\"2\""), NULL, 200, NULL });
    AUTO_FREE char *now = metadata_of(f, CONFIGS "/v", "resourceVersion");
    assert_string_not_equal(old, now);
    const struct row bad[] = {
        { "ada", "PUT", CONFIGS "/v", stale, NULL, 409, "the object has been modified" },
        { "ada", "DELETE", CONFIGS "/v", unmet, NULL, 409, "Conflict" },
        { "ada", "DELETE", CONFIGS "/v", "{\"preconditions\":{\"uid\":\"x\"}}", NULL, 409, NULL },
    };
    rows(f, bad, ARRAY_LEN(bad));
    /* what changes nothing is no change */
    ROWS(f, { "ada", "PUT", CONFIGS "/v", CONFIG("v", "\"a\":\"2\""), NULL, 200, NULL });
    AUTO_FREE char *same = metadata_of(f, CONFIGS "/v", "resourceVersion");
    assert_string_equal(now, same);
}
RUN(versions)

static void dry_runs(struct fix *f)
{
    ROWS(f, { "ada", "POST", CONFIGS "?dryRun=All", CONFIG("d", ""), NULL, 201, "\"uid\":\"" },
         { "ada", "GET", CONFIGS "/d", NULL, NULL, 404, NULL },
         { "ada", "POST", CONFIGS "?dryRun=Some", CONFIG("d", ""), NULL, 400,
           "dryRun is \\\"Some\\\", not All" },
         { "ada", "POST", CONFIGS, CONFIG("d", "\"a\":\"1\""), NULL, 201, NULL },
         { "ada", "PUT", CONFIGS "/d?dryRun=All", CONFIG("d", "\"a\":\"2\""), NULL, 200,
           "\"a\":\"2\"" },
         { "ada", "GET", CONFIGS "/d", NULL, NULL, 200, "\"a\":\"1\"" },
         { "ada", "DELETE", CONFIGS "/d", "{\"dryRun\":[\"All\"]}", NULL, 200, "Success" },
         { "ada", "DELETE", CONFIGS "?dryRun=All", NULL, NULL, 200, "Success" },
         { "ada", "GET", CONFIGS "/d", NULL, NULL, 200, NULL });
}
RUN(dry_runs)

static void lists(struct fix *f)
{
    ROWS(
        f, { "ada", "POST", CONFIGS, CONFIG("b", ""), NULL, 201, NULL },
        { "ada", "POST", CONFIGS, CONFIG("a", ""), NULL, 201, NULL },
        { "ada", "POST", "/api/v1/namespaces/alone/configmaps", CONFIG("c", ""), NULL, 201, NULL });
    names_are(f, "ada", CONFIGS, "a b");
    names_are(f, "ada", "/api/v1/configmaps", "c a b");
    names_are(f, "ada", CONFIGS "?labelSelector=of%3Db", "b");
    names_are(f, "ada", CONFIGS "?labelSelector=of%20notin%20(b)", "a");
    names_are(f, "ada", CONFIGS "?fieldSelector=metadata.name!%3Da", "b");
    names_are(f, "ada", "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dalone", "c");
    ROWS(f,
         { "ada", "GET", CONFIGS "?labelSelector=of%3Da", NULL, TABLE, 200,
           "\"rows\":[{\"cells\":[\"a\",\"0\"" },
         { "ada", "GET", CONFIGS "/a", NULL, TABLE, 200,
           "\"columnDefinitions\":[{\"name\":\"Name\"" },
         { "ada", "DELETE", CONFIGS "?labelSelector=of%3Da", NULL, NULL, 200, "Success" });
    names_are(f, "ada", "/api/v1/configmaps", "c b");
    ROWS(f, { "ada", "DELETE", CONFIGS, NULL, NULL, 200, "Success" },
         { "ada", "DELETE", CONFIGS, NULL, NULL, 200, "Success" });
    names_are(f, "ada", "/api/v1/configmaps", "c");
}
RUN(lists)

/* ---- jobs ---- */

#define JOB_WITH(name, spec, worker, container)                                                    \
    "{\"apiVersion\":\"elastic.iml.github.io/v1alpha1\",\"kind\":\"ElasticJob\",\"metadata\":{"    \
    "\"name\":\"" name "\",\"namespace\":\"lab\"},\"spec\":{" spec                                 \
    "\"distributionStrategy\":\"AllreduceStrategy\",\"replicaSpecs\":{\"worker\":{" worker         \
    "\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"," container         \
    "\"command\":[\"true\"],\"resources\":{\"requests\":{\"cpu\":1,\"memory\":\"64Mi\"}}}]}}}}}}"
#define JOB(name) JOB_WITH(name, "", "", "")

static void jobs(struct fix *f)
{
    f->served.world.code_all = FAKE_RUNS;
    ROWS(f,
         { "ada", "POST", JOBS "?fieldManager=kubectl", JOB("j"), NULL, 201, "\"generation\":1" },
         { "ada", "POST", JOBS, JOB("j"), NULL, 409,
           "elasticjobs.elastic.iml.github.io \\\"j\\\" already exists" },
         { "eve", "POST", JOBS, JOB("e"), NULL, 403, "eve is a reader" },
         { "bob", "GET", JOBS "/j", NULL, NULL, 404, "not found" });
    await(f, JOBS "/j", "\"phase\":\"Running\"");
    await(f, PODS, "\"phase\":\"Running\"");
    names_are(f, "ada", JOBS, "j");
    names_are(f, "bob", JOBS, "");
    names_are(f, "ada", "/api/v1/namespaces", "default kube-system lab");
    ROWS(f, { "ada", "GET", JOBS, NULL, TABLE, 200, "\"cells\":[\"j\",\"Running\"," },
         { "ada", "GET", JOBS "?fieldSelector=status.phase%3DFailed", NULL, NULL, 200,
           "\"items\":[]" },
         { "ada", "GET", PODS, NULL, NULL, 200, "\"kind\":\"ElasticJob\",\"name\":\"j\"" },
         { "ada", "GET", PODS, NULL, TABLE, 200, "\"1/1\",\"Running\",\"0\"" },
         { "ada", "GET", "/api/v1/namespaces/lab/events", NULL, NULL, 200, "\"involvedObject\":{" },
         { "ada", "GET", "/api/v1/nodes", NULL, TABLE, 200, "\"n2\"" },
         { "ada", "GET", "/api/v1/nodes/n1", NULL, NULL, 200, "\"kind\":\"Node\"" },
         { "ada", "GET", "/api/v1/nodes/n9", NULL, NULL, 404, "nodes \\\"n9\\\" not found" },
         { "ada", "DELETE", "/api/v1/namespaces/lab", NULL, NULL, 409,
           "namespaces \\\"lab\\\" has jobs: delete them first" },
         { "bob", "DELETE", JOBS "/j", NULL, NULL, 404, "not found" },
         { "eve", "DELETE", JOBS "/j", NULL, NULL, 403, "it changes nothing" },
         { "ada", "DELETE", JOBS "/j", NULL, NULL, 200, "\"status\":\"Success\"" });
    await(f, JOBS "/j", "not found");
    ROWS(f, { "ada", "POST", JOBS, JOB("j"), NULL, 201, "\"name\":\"j\"" });
}
RUN(jobs)

static void pods_of_a_job(struct fix *f)
{
    f->served.world.code_all = FAKE_RUNS;
    ROWS(f, { "ada", "POST", JOBS, JOB("p"), NULL, 201, NULL });
    await(f, PODS "?fieldSelector=status.phase%3DRunning", "p-edljob-worker-1");
    names_are(f, "ada", PODS "?fieldSelector=status.phase%3DPending", "");
    ROWS(
        f,
        { "ada", "GET", PODS "/p-edljob-worker-0", NULL, NULL, 200,
          "\"type\":\"PodScheduled\",\"status\":\"True\"" },
        { "ada", "GET", PODS "/p-edljob-worker-7", NULL, NULL, 404, "not found" },
        { "ada", "GET", PODS "/p-edljob-worker-0/log?container=other", NULL, NULL, 400,
          "container other is not valid for pod p-edljob-worker-0" },
        { "ada", "GET", PODS "/p-edljob-worker-0/log?tailLines=few", NULL, NULL, 400, "tailLines" },
        { "ada", "GET", PODS "/p-edljob-worker-0/log?sinceTime=now", NULL, NULL, 400,
          "sinceTime is \\\"now\\\"" },
        { "ada", "GET", PODS "/p-edljob-worker-0/log?previous=true", NULL, NULL, 400,
          "previous terminated container \\\"main\\\"" },
        { "bob", "GET", PODS "/p-edljob-worker-0/log", NULL, NULL, 404, "not found" },
        { "ada", "GET", PODS "/elasticjob-p-dlrover-master-0/log", NULL, NULL, 200,
          " submitted " });
}
RUN(pods_of_a_job)

/* Who asks for one pod, or for what happened to it, has no other tasks read. */
static void one_pod(void **state)
{
    struct fix *f = *state;
    struct ctl *ctl = f->served.world.ctl;
    struct arena *a = arena_create();
    struct job_filter all = { .limit = 1 };
    struct listed_job *job;
    struct pod_list list;
    struct err err;
    size_t n;
    with_client(state, pods_of_a_job);
    assert_int_equal(answer_list(ctl, a, &all, &job, &n, &err), 0);
    assert_int_equal(n, 1);
    struct pod_ask ask = { .job = job, .like = "p-edljob-worker-1", .events = true };
    assert_int_equal(answer_pods_view(ctl, a, &ask, &list, &err), 0);
    assert_true(list.whole);
    assert_int_equal(list.n, 2); /* the job's master is always there */
    assert_string_equal(list.at[1].name, ask.like);
    ask.like = "p-edljob-worker"; /* no number: any */
    assert_int_equal(answer_pods_view(ctl, a, &ask, &list, &err), 0);
    assert_false(list.whole);
    assert_int_equal(list.n, 3);
    arena_destroy(a);
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* A watch looks at 64 pods of a job at a time, also when it begins. */
static void watched_pods(struct fix *f)
{
    static const struct row watch = { "ada",
                                      "GET",
                                      PODS "?watch=true&timeoutSeconds=1",
                                      NULL,
                                      NULL,
                                      200,
                                      "large-edljob-worker-319" };
    ROWS(f, { "ada", "POST", JOBS,
              "{\"apiVersion\":\"elastic.iml.github.io/v1alpha1\",\"kind\":\"ElasticJob\","
              "\"metadata\":{\"name\":\"large\",\"namespace\":\"lab\"},\"spec\":{"
              "\"distributionStrategy\":\"AllreduceStrategy\",\"replicaSpecs\":{\"worker\":{"
              "\"replicas\":320,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\","
              "\"command\":[\"true\"],\"resources\":{\"requests\":{\"cpu\":100}}}]}}}}}}",
              NULL, 201, NULL });
    unsigned before = f->served.slices;
    struct reply r = served_ask(&f->served, token_of(f, "ada"), &watch);
    served_check(&watch, &r);
    assert_int_equal(times(buf_str(&r.http.body), "\"type\":\"ADDED\""), 320 + 1);
    assert_int_equal(times(buf_str(&r.http.body), "\"type\":\"DELETED\""), 0);
    /* two at once, the others by and by */
    assert_true(f->served.slices - before >= 320 / 64 - 3);
    reply_fini(&r);
}
RUN(watched_pods)

static void changed_jobs(struct fix *f)
{
    f->served.world.code_all = FAKE_RUNS;
    ROWS(f,
         { "ada", "POST", JOBS, JOB_WITH("s", "\"suspend\":true,", "", ""), NULL, 201,
           "\"suspend\":true" },
         { "ada", "PATCH", JOBS "/s", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", MERGE, 200,
           "\"labels\":{\"a\":\"b\"}" },
         { "ada", "GET", JOBS "/s", NULL, NULL, 200, "\"generation\":1" },
         { "ada", "PATCH", JOBS "/s", "{}", "application/strategic-merge-patch+json", 415, NULL },
         { "ada", "PATCH", JOBS "/s?dryRun=All", "{\"spec\":{\"suspend\":false}}", MERGE, 200,
           "\"generation\":2" },
         { "ada", "GET", JOBS "/s", NULL, NULL, 200, "\"suspend\":true" },
         { "eve", "PATCH", JOBS "/s", "{\"spec\":{\"suspend\":false}}", MERGE, 403, NULL },
         { "ada", "PATCH", JOBS "/s", "{\"spec\":{\"suspend\":false}}", MERGE, 200,
           "\"generation\":2" });
    await(f, JOBS "/s", "\"phase\":\"Running\"");
    ROWS(f,
         { "ada", "PATCH", JOBS "/s", "{\"spec\":{\"replicaSpecs\":{\"worker\":{\"replicas\":1}}}}",
           MERGE, 422, "\"message\":\"Forbidden: " },
         { "ada", "GET", JOBS "/s", NULL, NULL, 200, "\"replicas\":2" },
         { "ada", "PATCH", JOBS "/s", "{\"spec\":null}", MERGE, 422, NULL },
         { "ada", "PATCH", JOBS "/s", "{\"spec\":{\"suspend\":true}}", MERGE, 200,
           "\"generation\":3" });
}
RUN(changed_jobs)

static void ended_jobs(struct fix *f)
{
    f->served.world.code_all = 3;
    ROWS(f, { "ada", "POST", JOBS,
              JOB_WITH("f", "", "\"restartCount\":0,\"restartPolicy\":\"Never\",", ""), NULL, 201,
              NULL });
    await(f, JOBS "/f", "\"phase\":\"Failed\"");
    ROWS(f, { "ada", "GET", PODS, NULL, NULL, 200, "\"terminated\":{\"exitCode\":3" },
         { "ada", "PATCH", JOBS "/f", "{\"spec\":{\"suspend\":true}}", MERGE, 422,
           "the job has ended; delete it and create it again" },
         { "ada", "PATCH", JOBS "/f", "{\"metadata\":{\"annotations\":{\"n\":\"kept\"}}}", MERGE,
           200, "\"n\":\"kept\"" },
         { "ada", "DELETE", JOBS "/f", NULL, NULL, 200, "\"kind\":\"elasticjobs\"" },
         { "ada", "GET", JOBS "/f", NULL, NULL, 404, NULL },
         { "ada", "GET", "/v1/jobs", NULL, NULL, 200, "\"jobs\":[]" });
}
RUN(ended_jobs)

/* Longer than what a message quotes. */
#define LONG_KEY "a_key_that_nobody_knows_and_that_is_far_longer_than_a_message_quotes"

static void bad_jobs(struct fix *f)
{
    ROWS(f,
         { "ada", "POST", JOBS "?fieldValidation=Strict", JOB_WITH("b", "\"speed\":1,", "", ""),
           NULL, 400, "strict decoding error: unknown field \\\"spec.speed\\\"" },
         { "ada", "POST", JOBS "?fieldValidation=Strict&dryRun=All",
           JOB_WITH("b", "", "", "\"a\":1,\"b\":2,"), NULL, 400,
           "containers[0].a\\\", unknown field \\\"spec.replicaSpecs.worker.template.spec."
           "containers[0].b\\\"" },
         { "ada", "POST", JOBS, JOB_WITH("b", "\"suspend\":\"maybe\",", "", ""), NULL, 422,
           "\"field\":\"spec.suspend\"" },
         { "ada", "POST", JOBS, JOB_WITH("b", "", "\"restartCount\":-2,", ""), NULL, 422,
           "\"field\":\"spec.replicaSpecs.worker.restartCount\"" },
         { "ada", "POST", JOBS "?fieldValidation=Strict",
           JOB_WITH("b", "\"" LONG_KEY "\":1,", "", ""), NULL, 400,
           "unknown field \\\"spec." LONG_KEY "\\\"" },
         { "ada", "POST", JOBS "?fieldValidation=Ignore&dryRun=All",
           JOB_WITH("b", "\"" LONG_KEY "\":1,", "", ""), NULL, 201, NULL },
         { "ada", "POST", JOBS "?fieldValidation=Warn&dryRun=All",
           JOB_WITH("b", "\"speed\":1,", "", ""), NULL, 201, "\"name\":\"b\"" },
         { "ada", "POST", JOBS "?fieldValidation=Ignore", JOB_WITH("b", "\"speed\":1,", "", ""),
           NULL, 201, "\"name\":\"b\"" },
         { "ada", "POST", "/apis/elastic.iml.github.io/v1alpha1/namespaces/lab/scaleplans",
           "{\"kind\":\"ScalePlan\",\"metadata\":{\"name\":\"s\"}}", NULL, 422,
           "ScalePlans are retired" });
    names_are(f, "ada", JOBS, "b");
}
RUN(bad_jobs)

/* ---- namespaces ---- */

#define SPACE(name) "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}"

static void namespaces(struct fix *f)
{
    f->served.world.code_all = FAKE_RUNS;
    names_are(f, "ada", "/api/v1/namespaces", "default kube-system");
    ROWS(f, { "ada", "GET", "/api/v1/namespaces/any", NULL, NULL, 200, "\"phase\":\"Active\"" },
         { "ada", "POST", "/api/v1/namespaces", SPACE("made"), NULL, 201, "\"name\":\"made\"" },
         { "ada", "POST", "/api/v1/namespaces", SPACE("lab"), NULL, 201, NULL },
         { "ada", "POST", JOBS, JOB("n"), NULL, 201, NULL });
    names_are(f, "ada", "/api/v1/namespaces", "default kube-system lab made");
    ROWS(f, { "ada", "DELETE", "/api/v1/namespaces/lab", NULL, NULL, 409, NULL },
         { "ada", "DELETE", "/api/v1/namespaces/made", NULL, NULL, 200, "Success" },
         { "eve", "POST", "/api/v1/namespaces", SPACE("e"), NULL, 403, "eve is a reader" });
    names_are(f, "ada", "/api/v1/namespaces", "default kube-system lab");
}
RUN(namespaces)

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name##_test, set_up, tear_down)
        T(discovery),
        T(every_resource),
        T(methods),
        T(who_may),
        T(reviews),
        T(names_and_kinds),
        T(what_the_server_writes),
        T(changes),
        T(versions),
        T(dry_runs),
        T(lists),
        T(jobs),
        T(pods_of_a_job),
        T(watched_pods),
        cmocka_unit_test_setup_teardown(one_pod, set_up, tear_down),
        T(changed_jobs),
        T(ended_jobs),
        T(bad_jobs),
        T(namespaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
