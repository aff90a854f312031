/* Writing: what holds for objects of every kind. Names, versions and patches are looked at here,
 * what becomes of the object is its resource's. */
#include "api/k8s/write.h"

#include "api/k8s/answer.h"
#include "api/k8s/object.h"
#include "api/k8s/patch.h"
#include "api/k8s/read.h"

#include <string.h>

#define MANAGED_MAX 16 /* managers that are told apart */

/* ---- names ---- */

static bool good_name(const char *name)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t n = strlen(name);
    return n > 0 && name[strspn(name, inner)] == '\0' && !strchr("-.", name[0]) &&
           !strchr("-.", name[n - 1]);
}

#define GENERATED 6u /* random characters behind generateName */

/* A name for what was sent with the beginning of one only. */
static const char *generate(struct kube *k, struct text_node *metadata)
{
    const char *begin = kube_in(metadata, "generateName", NULL), *uuid = facade_uuid(k->arena);
    if (!*begin)
        return "";
    const char *name = arena_printf(k->arena, "%.*s%s", (int)(KUBE_NAME_MAX - GENERATED), begin,
                                    uuid + strlen(uuid) - GENERATED);
    kube_drop(metadata, "name");
    text_str(k->arena, metadata, "name", name);
    return name;
}

static void bad_name(struct kube *k, const char *name, enum problem_kind kind, const char *text)
{
    kube_invalid(k, name, &(struct kube_fault){ "metadata.name", kind, text });
}

/* Answers when there is something wrong. */
static bool named(struct kube *k, struct text_node *object)
{
    struct text_node *metadata = kube_part(k->arena, object, "metadata");
    const char *name = kube_in(metadata, "name", NULL), *ns = kube_in(metadata, "namespace", NULL);
    if (*ns && k->ns && strcmp(ns, k->ns) != 0) {
        kube_bad(k, "the namespace of the provided object does not match the namespace sent on the "
                    "request");
        return false;
    }
    if (k->name && *name && strcmp(name, k->name) != 0) {
        kube_bad(k, "the name of the object (%.260s) does not match the name on the URL (%.260s)",
                 name, k->name);
        return false;
    }
    if (k->name && !*name) {
        text_str(k->arena, metadata, "name", k->name);
        name = k->name;
    }
    if (!*name)
        name = generate(k, metadata);
    kube_drop(metadata, "generateName");
    if (!*name)
        bad_name(k, "", PROBLEM_MISSING, "name or generateName is required");
    else if (strlen(name) > KUBE_NAME_MAX)
        bad_name(k, name, PROBLEM_OTHER, "must be no more than 253 characters");
    else if (!good_name(name) || (k->ns && !good_name(k->ns)))
        bad_name(k, name, PROBLEM_OTHER,
                 "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                 "characters, '-' or '.', and must start and end with an alphanumeric character");
    else
        return true;
    return false;
}

static bool of_kind(struct kube *k, const struct text_node *object)
{
    const char *kind = kube_in(object, "kind", NULL), *api = kube_in(object, "apiVersion", NULL);
    const char *wanted = kube_version(k->arena, k->of), *bad = kube_unreadable(object, k->of->core);
    if (bad) {
        kube_bad(k, "%s in version \"%s\" cannot be handled as a %s: %s is no map of texts",
                 k->of->kind, k->of->version, k->of->kind, bad);
        return false;
    }
    if (kube_crowded(object)) {
        kube_bad(k, "the object has a map of more than %u members", KUBE_MEMBERS_MAX);
        return false;
    }
    if (object->kind == TEXT_MAP && (!*kind || strcmp(kind, k->of->kind) == 0) &&
        (!*api || strcmp(api, wanted) == 0))
        return true;
    kube_bad(k,
             "the API version in the data (%.80s, Kind=%.80s) does not match the expected API "
             "version (%s, Kind=%s)",
             api, kind, wanted, k->of->kind);
    return false;
}

/* What a server writes is not the client's to say. */
static void strip(struct kube *k, struct text_node *object)
{
    static const char *const ours[] = { "uid",
                                        "resourceVersion",
                                        "creationTimestamp",
                                        "selfLink",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "ownerReferences" };
    struct text_node *metadata = kube_part(k->arena, object, "metadata");
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        kube_drop(metadata, ours[i]);
    kube_drop(object, "status");
    if (k->ns && !text_get(metadata, "namespace"))
        text_str(k->arena, metadata, "namespace", k->ns);
    if (!text_get(object, "kind"))
        text_str(k->arena, object, "kind", k->of->kind);
    if (!text_get(object, "apiVersion"))
        text_str(k->arena, object, "apiVersion", kube_version(k->arena, k->of));
}

/* Answers when there is something wrong. Labels that are there already stay as they are: those of
 * jobs of other front ends may be any text. */
static bool labelled(struct kube *k, const struct text_node *object, const struct text_node *old)
{
    struct kube_fault fault;
    bool bad = kube_bad_label(k->arena, text_get(object, "metadata"),
                              old ? text_get(old, "metadata") : NULL, &fault);
    if (bad)
        kube_invalid(k, kube_in(object, "metadata", "name"), &fault);
    return !bad;
}

/* ---- verbs ---- */

static void create(struct kube *k, struct text_node *object)
{
    const char *name = kube_in(object, "metadata", "name");
    if (!labelled(k, object, NULL))
        return;
    kube_drop(text_get(object, "metadata"), "generation");
    strip(k, object);
    k->status = 201;
    if (!k->of->implied && kube_find(k, k->of, name))
        kube_exists(k, name);
    else
        k->of->create(k, object);
}

void kube_create(struct kube *k)
{
    if (!of_kind(k, k->body) || !named(k, k->body))
        return;
    if (*kube_in(k->body, "metadata", "resourceVersion"))
        kube_bad(k, "resourceVersion should not be set on objects to be created");
    else
        create(k, k->body);
}

static bool same(const struct text_node *a, const struct text_node *b, const char *key)
{
    const struct text_node *x = a ? text_get(a, key) : NULL, *y = b ? text_get(b, key) : NULL;
    bool none = (!x || x->count == 0) && (!y || y->count == 0) &&
                (!x || x->kind == TEXT_MAP || x->kind == TEXT_LIST) &&
                (!y || y->kind == TEXT_MAP || y->kind == TEXT_LIST);
    return none || (x && y && text_equal(x, y));
}

static bool unchanged(const struct text_node *old, const struct text_node *object)
{
    static const char *const parts[] = { "labels", "annotations", "managedFields" };
    const struct text_node *was = text_get(old, "metadata"), *is = text_get(object, "metadata");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!same(was, is, parts[i]))
            return false;
    for (const struct text_node *one = object->first; one; one = one->next)
        if (strcmp(one->key, "metadata") != 0 && strcmp(one->key, "status") != 0 &&
            !same(old, object, one->key))
            return false;
    for (const struct text_node *one = old->first; one; one = one->next)
        if (strcmp(one->key, "status") != 0 && !text_get(object, one->key))
            return false;
    return true;
}

/* The object as it is to be instead of old. */
static void change(struct kube *k, const struct text_node *old, struct text_node *object)
{
    if (!of_kind(k, object) || !named(k, object))
        return;
    const char *version = kube_in(object, "metadata", "resourceVersion");
    const char *uid = kube_in(object, "metadata", "uid");
    if ((*version && strcmp(version, kube_in(old, "metadata", "resourceVersion")) != 0) ||
        (*uid && strcmp(uid, kube_in(old, "metadata", "uid")) != 0)) {
        kube_conflict(k);
        return;
    }
    k->status = 200;
    if (unchanged(old, object)) {
        kube_show(k, 200, old);
        return;
    }
    if (!labelled(k, object, old))
        return;
    strip(k, object);
    k->of->change(k, old, object);
}

void kube_update(struct kube *k)
{
    const struct text_node *old = kube_find(k, k->of, k->name);
    if (old)
        change(k, old, k->body);
    else
        kube_not_found(k);
}

/* ---- patches ---- */

enum patch_type { PATCH_MERGE, PATCH_JSON, PATCH_STRATEGIC, PATCH_APPLY, PATCH_NONE };

static enum patch_type type_of(const struct kube *k)
{
    static const char *const types[] = { "application/merge-patch+json",
                                         "application/json-patch+json",
                                         "application/strategic-merge-patch+json",
                                         "application/apply-patch+yaml" };
    const char *type = http_header(k->call->request, "Content-Type");
    for (int i = 0; type && i < PATCH_NONE; i++)
        if (strncmp(type, types[i], strlen(types[i])) == 0)
            return (enum patch_type)i;
    return PATCH_NONE;
}

static void not_supported(struct kube *k)
{
    const char *type = http_header(k->call->request, "Content-Type");
    const char *text = arena_printf(
        k->arena,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml (%.80s was sent)",
        type ? type : "none");
    kube_fail(k, &(struct kube_status){ 415, "UnsupportedMediaType", text, NULL });
}

/* Who applied what is not kept field by field: the manager's name is. */
static void put_manager(struct kube *k, struct text_node *object)
{
    struct arena *a = k->arena;
    struct text_node *metadata = kube_part(a, object, "metadata");
    struct text_node *list = text_get(metadata, "managedFields");
    const char *manager = k->manager ? k->manager : "unknown";
    if (!list || list->kind != TEXT_LIST) {
        kube_drop(metadata, "managedFields");
        list = text_list(a, metadata, "managedFields");
    }
    for (const struct text_node *one = list->first; one; one = one->next)
        if (strcmp(kube_in(one, "manager", NULL), manager) == 0)
            return;
    if (list->count >= MANAGED_MAX)
        return;
    struct text_node *one = text_map(a, list, NULL);
    text_str(a, one, "manager", manager);
    text_str(a, one, "operation", "Apply");
    text_str(a, one, "apiVersion", kube_version(a, k->of));
    text_str(a, one, "fieldsType", "FieldsV1");
    text_map(a, one, "fieldsV1");
}

static void apply(struct kube *k, const struct text_node *old)
{
    k->applied = true;
    if (!of_kind(k, k->body) || !named(k, k->body))
        return;
    if (!old) {
        put_manager(k, k->body);
        create(k, k->body);
        return;
    }
    struct text_node *object = kube_merge(k->arena, old, k->body);
    put_manager(k, object);
    change(k, old, object);
}

void kube_patch(struct kube *k)
{
    enum patch_type type = type_of(k);
    struct err err = { 0 };
    if (type == PATCH_NONE || (type == PATCH_STRATEGIC && !k->of->core)) {
        not_supported(k);
        return;
    }
    const struct text_node *old = kube_find(k, k->of, k->name);
    if (type == PATCH_APPLY) {
        apply(k, old);
        return;
    }
    if (!old) {
        kube_not_found(k);
        return;
    }
    if (type != PATCH_JSON && k->body->kind != TEXT_MAP) {
        kube_bad(k, "a merge patch is a map");
        return;
    }
    struct text_node *object = type == PATCH_JSON ? kube_json_patch(k->arena, old, k->body, &err)
                               : type == PATCH_STRATEGIC
                                   ? kube_merge(k->arena, old, kube_plain_patch(k->arena, k->body))
                                   : kube_merge(k->arena, old, k->body);
    if (object && object->kind == TEXT_MAP)
        change(k, old, object);
    else if (object)
        kube_bad(k, "the patch leaves no object");
    else if (err.code == ERR_CANNOT)
        kube_invalid(k, k->name, &(struct kube_fault){ "patch", PROBLEM_OTHER, err.what });
    else
        kube_bad(k, "%s", err.what);
}

/* ---- deleting ---- */

static bool as_expected(struct kube *k, const struct text_node *object)
{
    const struct text_node *expected = k->body ? text_get(k->body, "preconditions") : NULL;
    const char *uid = expected ? kube_in(expected, "uid", NULL) : "";
    const char *version = expected ? kube_in(expected, "resourceVersion", NULL) : "";
    return (!*uid || strcmp(uid, kube_in(object, "metadata", "uid")) == 0) &&
           (!*version || strcmp(version, kube_in(object, "metadata", "resourceVersion")) == 0);
}

static bool dry(const struct kube *k)
{
    const struct text_node *list = k->body ? text_get(k->body, "dryRun") : NULL;
    return k->dry_run || (list && list->kind == TEXT_LIST && list->count);
}

struct removal {
    struct kube *k;
    const struct text_node *object; /* NULL: several */
    size_t pending;
    struct err err;
};

static void removed(struct removal *r)
{
    struct kube *k = r->k;
    if (r->pending)
        return;
    if (r->err.code)
        kube_problem(k, &r->err, NULL);
    else
        kube_success(k, r->object);
}

static void on_removed(void *arg, const struct ctl_answer *answer)
{
    struct removal *r = arg;
    if (answer->err)
        r->err = *answer->err;
    r->pending--;
    removed(r);
}

void kube_delete(struct kube *k)
{
    const struct text_node *object = kube_find(k, k->of, k->name);
    if (!object) {
        kube_not_found(k);
    } else if (!as_expected(k, object)) {
        kube_conflict(k);
    } else if (dry(k)) {
        kube_success(k, object);
    } else {
        struct removal *r = ARENA_NEW(k->arena, struct removal);
        *r = (struct removal){ .k = k, .object = object, .pending = 1 };
        call_keep(k->call);
        k->of->remove(k, object, on_removed, r);
    }
}

struct gatherer {
    struct kube_sink sink; /* first */
    struct kube *k;
    struct text_node *list;
};

static void gather(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct gatherer *g = (struct gatherer *)(void *)sink;
    (void)version;
    if (selector_fits(&g->k->selector, object))
        text_copy(g->k->arena, g->list, NULL, object);
}

void kube_delete_all(struct kube *k)
{
    struct gatherer g = { .sink = { gather }, .k = k };
    struct kube_selection want = { .ns = k->ns };
    struct removal *r = ARENA_NEW(k->arena, struct removal);
    g.list = text_list(k->arena, NULL, NULL);
    *r = (struct removal){ .k = k };
    if (k->of->each(k, &want, &g.sink) == 0 && !dry(k))
        r->pending = g.list->count;
    call_keep(k->call);
    size_t n = r->pending;
    for (const struct text_node *one = g.list->first; one && n; one = one->next, n--)
        k->of->remove(k, one, on_removed, r);
    if (g.list->count == 0 || dry(k))
        removed(r);
}
