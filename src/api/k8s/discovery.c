/* What there is: versions, groups and resources, plain and aggregated, all from the table of
 * resources. Paths that are none of these are left to others. */
#include "api/k8s/discovery.h"

#include "api/k8s/answer.h"
#include "api/k8s/pods.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static const struct {
    unsigned bit;
    const char *word;
} verb_words[] = {
    { KUBE_CREATE, "create" }, { KUBE_DELETE, "delete" }, { KUBE_COLLECTION, "deletecollection" },
    { KUBE_GET, "get" },       { KUBE_LIST, "list" },     { KUBE_PATCH, "patch" },
    { KUBE_UPDATE, "update" }, { KUBE_WATCH, "watch" },
};

unsigned kube_verb(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(verb_words); i++)
        if (strcmp(verb_words[i].word, word) == 0)
            return verb_words[i].bit;
    return 0;
}

void kube_put_verbs(struct arena *a, struct text_node *parent, unsigned verbs)
{
    struct text_node *list = text_list(a, parent, "verbs");
    for (size_t i = 0; i < ARRAY_LEN(verb_words); i++)
        if (verbs & verb_words[i].bit)
            text_str(a, list, NULL, verb_words[i].word);
}

static void put_list(struct arena *a, struct text_node *parent, const char *key, const char *word)
{
    if (word)
        text_str(a, text_list(a, parent, key), NULL, word);
}

/* The groups in the order of the table, the core's left out. */
static bool first_of_group(const struct kube_resource *all, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(all[k].group, all[i].group) == 0)
            return false;
    return true;
}

static void put_gv(struct arena *a, struct text_node *map, const struct kube_resource *r)
{
    text_str(a, map, "groupVersion", kube_version(a, r));
    text_str(a, map, "version", r->version);
}

/* ---- plain ---- */

static void versions(struct kube *k)
{
    struct text_node *tree = text_map(k->arena, NULL, NULL);
    text_str(k->arena, tree, "kind", "APIVersions");
    text_str(k->arena, text_list(k->arena, tree, "versions"), NULL, "v1");
    text_list(k->arena, tree, "serverAddressByClientCIDRs");
    kube_answer(k, 200, tree);
}

static void put_group(struct arena *a, struct text_node *group, const struct kube_resource *r)
{
    text_str(a, group, "name", r->group);
    put_gv(a, text_map(a, text_list(a, group, "versions"), NULL), r);
    put_gv(a, text_map(a, group, "preferredVersion"), r);
}

static void groups(struct kube *k)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    struct arena *a = k->arena;
    struct text_node *tree = text_map(a, NULL, NULL);
    text_str(a, tree, "kind", "APIGroupList");
    text_str(a, tree, "apiVersion", "v1");
    struct text_node *list = text_list(a, tree, "groups");
    for (size_t i = 0; i < n; i++)
        if (*all[i].group && first_of_group(all, i))
            put_group(a, text_map(a, list, NULL), &all[i]);
    kube_answer(k, 200, tree);
}

static bool group(struct kube *k, const char *name)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].group, name) != 0)
            continue;
        struct text_node *tree = text_map(k->arena, NULL, NULL);
        text_str(k->arena, tree, "kind", "APIGroup");
        text_str(k->arena, tree, "apiVersion", "v1");
        put_group(k->arena, tree, &all[i]);
        kube_answer(k, 200, tree);
        return true;
    }
    return false;
}

static void put_resource(struct arena *a, struct text_node *list, const struct kube_resource *r)
{
    struct text_node *one = text_map(a, list, NULL);
    text_str(a, one, "name", r->plural);
    text_str(a, one, "singularName", r->singular);
    text_bool(a, one, "namespaced", r->namespaced);
    text_str(a, one, "kind", r->kind);
    kube_put_verbs(a, one, r->verbs);
    put_list(a, one, "shortNames", r->brief);
    put_list(a, one, "categories", r->all ? "all" : NULL);
    if (r->each != pods_each)
        return;
    one = text_map(a, list, NULL);
    text_str(a, one, "name", "pods/log");
    text_str(a, one, "singularName", "");
    text_bool(a, one, "namespaced", true);
    text_str(a, one, "kind", "Pod");
    kube_put_verbs(a, one, KUBE_GET);
}

static bool resources_of(struct kube *k, const char *name, const char *version)
{
    size_t n, found = 0;
    const struct kube_resource *all = kube_resources(&n);
    struct text_node *tree = text_map(k->arena, NULL, NULL);
    text_str(k->arena, tree, "kind", "APIResourceList");
    struct text_node *list = text_list(k->arena, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].group, name) != 0 || strcmp(all[i].version, version) != 0)
            continue;
        if (!found++)
            text_str(k->arena, tree, "groupVersion", kube_version(k->arena, &all[i]));
        put_resource(k->arena, list, &all[i]);
    }
    text_copy(k->arena, tree, "resources", list);
    if (found)
        kube_answer(k, 200, tree);
    return found > 0;
}

/* ---- aggregated: version v2 only, older clients cannot read it ---- */

static void put_aggregated(struct arena *a, struct text_node *list, const struct kube_resource *r)
{
    struct text_node *one = text_map(a, list, NULL);
    text_str(a, one, "resource", r->plural);
    struct text_node *kind = text_map(a, one, "responseKind");
    text_str(a, kind, "group", r->group);
    text_str(a, kind, "version", r->version);
    text_str(a, kind, "kind", r->kind);
    text_str(a, one, "scope", r->namespaced ? "Namespaced" : "Cluster");
    text_str(a, one, "singularResource", r->singular);
    kube_put_verbs(a, one, r->verbs);
    put_list(a, one, "shortNames", r->brief);
    put_list(a, one, "categories", r->all ? "all" : NULL);
}

static void aggregated(struct kube *k, bool core)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    struct arena *a = k->arena;
    struct text_node *tree = text_map(a, NULL, NULL);
    text_str(a, tree, "kind", "APIGroupDiscoveryList");
    text_str(a, tree, "apiVersion", "apidiscovery.k8s.io/v2");
    text_map(a, tree, "metadata");
    struct text_node *items = text_list(a, tree, "items");
    for (size_t i = 0; i < n; i++) {
        if (!first_of_group(all, i) || (*all[i].group == '\0') != core)
            continue;
        struct text_node *one = text_map(a, items, NULL);
        text_str(a, text_map(a, one, "metadata"), "name", all[i].group);
        struct text_node *version = text_map(a, text_list(a, one, "versions"), NULL);
        text_str(a, version, "version", all[i].version);
        text_str(a, version, "freshness", "Current");
        struct text_node *list = text_list(a, version, "resources");
        for (size_t j = i; j < n; j++)
            if (strcmp(all[j].group, all[i].group) == 0)
                put_aggregated(a, list, &all[j]);
    }
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    json_print(tree, 0, &text);
    kube_text(k, 200, AGGREGATED, &text);
}

static void version(struct kube *k)
{
    struct arena *a = k->arena;
    struct text_node *tree = text_map(a, NULL, NULL);
    text_str(a, tree, "major", "1");
    text_str(a, tree, "minor", "32");
    text_str(a, tree, "gitVersion",
             arena_printf(a, "v1.32.0+muster.%s", k->call->api->config.version));
    text_str(a, tree, "gitCommit", "");
    text_str(a, tree, "gitTreeState", "clean");
    text_str(a, tree, "buildDate", "1970-01-01T00:00:00Z");
    text_str(a, tree, "goVersion", "");
    text_str(a, tree, "compiler", "");
    text_str(a, tree, "platform", "linux/amd64");
    kube_answer(k, 200, tree);
}

bool kube_discover(struct kube *k, const struct words *path)
{
    const char *accept = http_header(k->call->request, "Accept");
    bool together = accept && strstr(accept, "apidiscovery.k8s.io;v=v2;");
    const char *first = path->n ? path->at[0] : "";
    bool api = strcmp(first, "api") == 0, apis = strcmp(first, "apis") == 0;
    if (path->n == 1 && strcmp(first, "version") == 0) {
        version(k);
        return true;
    }
    if (path->n == 1 && (api || apis)) {
        if (together)
            aggregated(k, api);
        else if (api)
            versions(k);
        else
            groups(k);
        return true;
    }
    if (api && path->n == 2)
        return resources_of(k, "", path->at[1]);
    if (apis && path->n == 2)
        return group(k, path->at[1]);
    return apis && path->n == 3 && resources_of(k, path->at[1], path->at[2]);
}
