/* OpenAPI, for validation by the client and `kubectl explain`: version 3 from the dialect's field
 * tables; version 2 is the empty document, in protobuf, which is all that kubectl asks of it. */
#include "api/k8s/kube.h"

#include "base/mem.h"
#include "job/fate.h"

#include <string.h>

#define V2_TYPE   "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define DEPTH_MAX 16

static void put_fields(struct arena *, struct text_node *schema, const struct field *, int depth);

static const char *type_of(const struct field *f)
{
    switch (f->type) {
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
    case FIELD_CUSTOM: {
        const char *value = f->hooks && f->hooks->value ? f->hooks->value : "";
        if (strncmp(value, "a map", 5) == 0)
            return "object";
        return strcmp(value, "true or false") == 0 ? "boolean" : NULL;
    }
    default: return "string";
    }
}

static void put_field(struct arena *a, struct text_node *properties, const struct field *f,
                      int depth)
{
    struct text_node *one = text_map(a, properties, f->name);
    const char *type = type_of(f), *word = fate_word(f);
    bool read = strcmp(word, "honoured") == 0;
    text_str(a, one, "description",
             read ? f->doc : arena_printf(a, "%s: %s", word, f->doc ? f->doc : ""));
    if (type)
        text_str(a, one, "type", type);
    else
        text_bool(a, one, "x-kubernetes-preserve-unknown-fields", true);
    if (f->type == FIELD_OBJECT && f->table)
        put_fields(a, one, f->table, depth + 1);
    else if (f->type == FIELD_LIST && f->table)
        put_fields(a, text_map(a, one, "items"), f->table, depth + 1);
    else if (f->type == FIELD_WORDS)
        text_str(a, text_map(a, one, "items"), "type", "string");
    else if (f->type == FIELD_PAIRS)
        text_str(a, text_map(a, one, "additionalProperties"), "type", "string");
}

static void put_fields(struct arena *a, struct text_node *schema, const struct field *table,
                       int depth)
{
    if (!text_get(schema, "type"))
        text_str(a, schema, "type", "object");
    if (depth > DEPTH_MAX)
        return;
    struct text_node *properties = text_map(a, schema, "properties"), *needed = NULL;
    for (const struct field *f = table; f->name; f++) {
        put_field(a, properties, f, depth);
        if (!(f->flags & FIELD_REQUIRED))
            continue;
        needed = needed ? needed : text_list(a, schema, "required");
        text_str(a, needed, NULL, f->name);
    }
}

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
    struct text_node *many = text_map(a, paths, all);
    put_method(a, many, "get", r);
    if (r->verbs & KUBE_CREATE)
        put_method(a, many, "post", r);
    struct text_node *one = text_map(a, paths, arena_printf(a, "%s/{name}", all));
    put_method(a, one, "get", r);
    if (r->verbs & KUBE_PATCH) {
        put_method(a, one, "put", r);
        put_method(a, one, "patch", r);
        put_method(a, one, "delete", r);
    }
}

/* The dialect that knows the kind describes it; of the others only the frame is known. */
static void put_schema(struct kube *k, struct text_node *schemas, const struct kube_resource *r)
{
    struct arena *a = k->arena;
    const struct dialects *all = ctl_dialects(k->ctl);
    const struct field *table = NULL;
    for (size_t i = 0; i < all->n; i++)
        for (const struct dialect_kind *kind = all->at[i]->kinds; kind && kind->kind; kind++)
            if (strcmp(kind->kind, r->kind) == 0)
                table = kind->fields;
    struct text_node *one =
        text_map(a, schemas, arena_printf(a, "muster.%s.%s", r->version, r->kind));
    text_str(a, one, "description",
             table ? "What muster reads of it; doc/dialect-elasticjob.md says more." : "");
    put_gvk(a, text_map(a, text_list(a, one, "x-kubernetes-group-version-kind"), NULL), r);
    if (table)
        put_fields(a, one, table, 0);
    else
        text_str(a, one, "type", "object");
}

static void document(struct kube *k, const struct kube_resource *of)
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
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].group, of->group) == 0)
            put_paths(a, paths, &all[i]);
    struct text_node *schemas = text_map(a, text_map(a, tree, "components"), "schemas");
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].group, of->group) == 0)
            put_schema(k, schemas, &all[i]);
    kube_answer(k, 200, tree);
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
                 arena_printf(a, "/openapi/v3/%s?hash=%s", prefix, k->call->api->config.version));
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
        AUTO_BUF struct buf empty = BUF_INIT(16);
        buf_add(&empty,
                "\x0a\x03"
                "2.0",
                5);
        kube_text(k, 200, V2_TYPE, &empty);
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
        document(k, &all[i]);
        return true;
    }
    return false;
}
