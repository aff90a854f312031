/* OpenAPI, for validation by the client and `kubectl explain`: from the dialect's field tables and
 * those of the objects that are shown. */
#include "api/k8s/openapi.h"

#include "api/k8s/answer.h"
#include "api/k8s/fields.h"
#include "api/k8s/openapi_v2.h"
#include "base/mem.h"
#include "job/fate.h"

#include <string.h>

#define V2_TYPE   "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define V2_MAX    ((size_t)8 << 20)
#define DEPTH_MAX 16

/* ---- schemas ---- */

static void put_fields(struct arena *, struct text_node *schema, const struct field *,
                       const struct field *shown, int depth);

static enum field_type type_of(const struct field *f)
{
    return f->type == FIELD_CUSTOM && f->hooks ? f->hooks->like : f->type;
}

/* NULL: one that only its decoder knows. */
static const char *word_of(const struct field *f)
{
    if (f->type == FIELD_CUSTOM && type_of(f) == FIELD_TEXT)
        return NULL;
    switch (type_of(f)) {
    case FIELD_BOOL: return "boolean";
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_INT: return "integer";
    case FIELD_WORDS:
    case FIELD_LIST: return "array";
    case FIELD_PAIRS:
    case FIELD_AMOUNTS:
    case FIELD_OBJECT:
    case FIELD_MAP:
    case FIELD_TREE: return "object";
    default: return "string";
    }
}

static const char *about(struct arena *a, const struct field *f)
{
    static const char *const fates[] = { [FATE_HONOURED] = "",
                                         [FATE_WARNED] = "Has no effect: ",
                                         [FATE_REFUSED] = "Is refused: ",
                                         [FATE_QUIET] = "Makes no difference: " };
    return arena_printf(a, "%s%s", fates[fate_of(f)], f->doc ? f->doc : "");
}

/* Of a field that nobody decodes. */
static void put_foreign(struct arena *a, struct text_node *schema, const char *name)
{
    const char *type = kube_foreign_type(name);
    bool many = strncmp(type, "[]", 2) == 0;
    text_str(a, schema, "type", many ? "array" : type);
    if (many)
        text_str(a, text_map(a, schema, "items"), "type", type + 2);
    text_bool(a, schema, "x-kubernetes-preserve-unknown-fields", true);
}

/* shown: what the server adds to a part of that name, may be NULL. */
static void put_field(struct arena *a, struct text_node *properties, const struct field *f,
                      const struct field *shown, int depth)
{
    struct text_node *one = text_map(a, properties, f->name);
    const char *type = word_of(f);
    text_str(a, one, "description", about(a, f));
    if (type)
        text_str(a, one, "type", type);
    else
        put_foreign(a, one, f->name);
    if (f->type == FIELD_OBJECT && f->table)
        put_fields(a, one, f->table, shown ? shown->table : NULL, depth + 1);
    else if (f->type == FIELD_LIST && f->table)
        put_fields(a, text_map(a, one, "items"), f->table, NULL, depth + 1);
    else if (f->type == FIELD_WORDS)
        text_str(a, text_map(a, one, "items"), "type", "string");
    else if (type_of(f) == FIELD_PAIRS)
        text_str(a, text_map(a, one, "additionalProperties"), "type", "string");
}

/* The rows of the table; where one only says that a server writes the field (or that a file cannot
 * have it), what is shown of it, and behind them what else is shown. */
static void put_fields(struct arena *a, struct text_node *schema, const struct field *table,
                       const struct field *shown, int depth)
{
    if (!text_get(schema, "type"))
        text_str(a, schema, "type", "object");
    if (depth > DEPTH_MAX)
        return;
    struct text_node *properties = text_map(a, schema, "properties"), *needed = NULL;
    for (const struct field *f = table; f->name; f++) {
        const struct field *also = shown ? field_find(shown, f->name) : NULL;
        bool silent = fate_of(f) == FATE_QUIET || fate_of(f) == FATE_REFUSED;
        put_field(a, properties, silent && also ? also : f, silent ? NULL : also, depth);
        if (!(f->flags & FIELD_REQUIRED))
            continue;
        needed = needed ? needed : text_list(a, schema, "required");
        text_str(a, needed, NULL, f->name);
    }
    for (const struct field *f = shown; f && f->name; f++)
        if (!field_find(table, f->name))
            put_field(a, properties, f, NULL, depth);
}

/* ---- paths ---- */

static void put_gvk(struct arena *a, struct text_node *map, const struct kube_resource *r)
{
    text_str(a, map, "group", r->group);
    text_str(a, map, "kind", r->kind);
    text_str(a, map, "version", r->version);
}

static void put_method(struct arena *a, struct text_node *path, const char *method,
                       const struct kube_resource *r)
{
    struct text_node *one = text_map(a, path, method);
    text_str(a, one, "x-kubernetes-action", method);
    put_gvk(a, text_map(a, one, "x-kubernetes-group-version-kind"), r);
    struct text_node *list = text_list(a, one, "parameters");
    static const char *const names[] = { "dryRun", "fieldManager", "fieldValidation" };
    for (size_t i = 0; strcmp(method, "get") != 0 && i < ARRAY_LEN(names); i++) {
        struct text_node *parameter = text_map(a, list, NULL);
        text_str(a, parameter, "name", names[i]);
        text_str(a, parameter, "in", "query");
        text_str(a, text_map(a, parameter, "schema"), "type", "string");
    }
    struct text_node *responses = text_map(a, one, "responses");
    text_str(a, text_map(a, responses, "200"), "description", "OK");
}

static const char *prefix_of(struct arena *a, const struct kube_resource *r)
{
    return *r->group ? arena_printf(a, "apis/%s/%s", r->group, r->version)
                     : arena_printf(a, "api/%s", r->version);
}

static void put_paths(struct arena *a, struct text_node *paths, const struct kube_resource *r)
{
    const char *all = arena_printf(a, "/%s/%s%s", prefix_of(a, r),
                                   r->namespaced ? "namespaces/{namespace}/" : "", r->plural);
    if (r->namespaced) /* where the first of kubectl 1.27 look for the kind */
        put_method(a, text_map(a, paths, arena_printf(a, "/%s/%s", prefix_of(a, r), r->plural)),
                   "get", r);
    struct text_node *many = text_map(a, paths, all);
    put_method(a, many, "get", r);
    if (r->verbs & KUBE_CREATE)
        put_method(a, many, "post", r);
    struct text_node *one = text_map(a, paths, arena_printf(a, "%s/{name}", all));
    put_method(a, one, "get", r);
    put_method(a, one, "patch", r); /* of every kind: from its parameters kubectl learns that the
                                       server looks for unknown fields */
    if (r->verbs & KUBE_UPDATE)
        put_method(a, one, "put", r);
    if (r->verbs & KUBE_DELETE)
        put_method(a, one, "delete", r);
}

static const struct field *dialect_fields(struct kube *k, const struct kube_resource *r)
{
    const struct dialects *all = ctl_dialects(k->ctl);
    for (size_t i = 0; i < all->n; i++)
        for (const struct dialect_kind *kind = all->at[i]->kinds; kind && kind->kind; kind++)
            if (strcmp(kind->kind, r->kind) == 0)
                return kind->fields;
    return NULL;
}

static void put_schema(struct kube *k, struct text_node *schemas, const struct kube_resource *r)
{
    struct arena *a = k->arena;
    const struct field *table = dialect_fields(k, r);
    struct text_node *one =
        text_map(a, schemas, arena_printf(a, "muster.%s.%s", r->version, r->kind));
    text_str(a, one, "description", r->doc);
    put_gvk(a, text_map(a, text_list(a, one, "x-kubernetes-group-version-kind"), NULL), r);
    put_fields(a, one, table ? table : r->fields, table ? r->fields : NULL, 0);
}

struct text_node *kube_openapi_tree(struct kube *k, const struct kube_resource *like)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    struct arena *a = k->arena;
    struct text_node *tree = text_map(a, NULL, NULL);
    text_str(a, tree, "openapi", "3.0.0");
    struct text_node *info = text_map(a, tree, "info");
    text_str(a, info, "title", "muster");
    text_str(a, info, "version", k->call->api->config.version);
    struct text_node *paths = text_map(a, tree, "paths");
    struct text_node *schemas = text_map(a, text_map(a, tree, "components"), "schemas");
    for (size_t i = 0; i < n; i++) {
        if (like && strcmp(all[i].group, like->group) != 0)
            continue;
        put_paths(a, paths, &all[i]);
        put_schema(k, schemas, &all[i]);
    }
    return tree;
}

/* ---- answers ---- */

/* What a document is called: the same until another program answers. */
static const char *edition(struct kube *k)
{
    const struct api_config *c = &k->call->api->config;
    return arena_printf(k->arena, "%s-%llx", c->version, (unsigned long long)c->started_ms);
}

/* kubectl keeps documents on disk: what it has is not written again. true: answered. */
static bool unchanged(struct kube *k)
{
    struct http_request *r = k->call->request;
    const char *tag = arena_printf(k->arena, "\"%s\"", edition(k));
    const char *has = http_header(r, "If-None-Match"), *hash = http_query(r, "hash", 0);
    struct buf none = BUF_INIT(0);
    http_add_header(r, "ETag", tag);
    http_add_header(r, "Vary", "Accept");
    http_add_header(r, "Cache-Control",
                    hash && strcmp(hash, edition(k)) == 0 ? "private, max-age=31536000, immutable"
                                                          : "private, no-cache");
    if (!has || strcmp(has, tag) != 0)
        return false;
    kube_text(k, 304, V2_TYPE, &none);
    return true;
}

static void version_2(struct kube *k)
{
    AUTO_BUF struct buf text = BUF_INIT(V2_MAX);
    if (unchanged(k))
        return;
    kube_openapi_v2(kube_openapi_tree(k, NULL), &text);
    kube_text(k, 200, V2_TYPE, &text);
}

static void version_3(struct kube *k, const struct kube_resource *like)
{
    if (!unchanged(k))
        kube_answer(k, 200, kube_openapi_tree(k, like));
}

static void index_of(struct kube *k)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    struct arena *a = k->arena;
    struct text_node *tree = text_map(a, NULL, NULL), *paths = text_map(a, tree, "paths");
    for (size_t i = 0; i < n; i++) {
        const char *prefix = prefix_of(a, &all[i]);
        if (text_get(paths, prefix))
            continue;
        struct text_node *one = text_map(a, paths, prefix);
        text_str(a, one, "serverRelativeURL",
                 arena_printf(a, "/openapi/v3/%s?hash=%s", prefix, edition(k)));
    }
    kube_answer(k, 200, tree);
}

bool kube_openapi(struct kube *k, const struct words *path)
{
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    if (path->n < 2 || strcmp(path->at[0], "openapi") != 0)
        return false;
    if (path->n == 2 && strcmp(path->at[1], "v2") == 0) {
        version_2(k);
        return true;
    }
    if (strcmp(path->at[1], "v3") != 0)
        return false;
    if (path->n == 2) {
        index_of(k);
        return true;
    }
    bool core = path->n == 4 && strcmp(path->at[2], "api") == 0;
    bool group = path->n == 5 && strcmp(path->at[2], "apis") == 0;
    for (size_t i = 0; i < n; i++) {
        if (!(core && !*all[i].group && strcmp(all[i].version, path->at[3]) == 0) &&
            !(group && strcmp(all[i].group, path->at[3]) == 0 &&
              strcmp(all[i].version, path->at[4]) == 0))
            continue;
        version_3(k, &all[i]);
        return true;
    }
    return false;
}
