/* What all objects have: metadata in the order and form of the real server, names in its
 * characters, UIDs that lead back to jobs. */
#include "api/k8s/object.h"

#include "api/facade.h"
#include "base/buf.h"
#include "base/scan.h"
#include "job/uuid.h"
#include "text/json.h"

#include <string.h>

#define TEXT_MAX ((size_t)4 << 20)

const char *kube_name(struct arena *arena, const char *name)
{
    char *out = ARENA_ARRAY(arena, strnlen(name, KUBE_NAME_MAX) + 1, char);
    size_t n = 0;
    for (const char *c = name; *c && n < KUBE_NAME_MAX; c++) {
        char low = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        bool plain = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
        bool after = n && !strchr("-.", out[n - 1]);
        if (plain || (after && strchr("-.", low)))
            out[n++] = low;
        else if (after)
            out[n++] = '-';
    }
    while (n && strchr("-.", out[n - 1]))
        n--;
    out[n] = '\0';
    return n ? out : "job";
}

const char *kube_key(struct arena *arena, const char *ns, const char *name)
{
    size_t n = strlen(ns), len = strlen(name);
    char *key = arena_alloc(arena, n + len + 2);
    memcpy(key, ns, n + 1);
    key[n] = '/';
    memcpy(key + n + 1, name, len + 1);
    return key;
}

const char *kube_in(const struct text_node *node, const char *a, const char *b)
{
    const struct text_node *at = node ? text_get(node, a) : NULL;
    at = at && b ? text_get(at, b) : at;
    return at && at->kind == TEXT_STR ? at->str : "";
}

const char *kube_printed(struct arena *arena, const struct text_node *tree)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    json_print(tree, 0, &text);
    return arena_strndup(arena, buf_str(&text), text.len);
}

struct text_node *kube_part(struct arena *arena, struct text_node *map, const char *key)
{
    struct text_node *there = text_get(map, key);
    if (there && there->kind == TEXT_MAP)
        return there;
    kube_drop(map, key);
    return text_map(arena, map, key);
}

void kube_drop(struct text_node *map, const char *key)
{
    struct text_node *before = NULL;
    if (!map || map->kind != TEXT_MAP)
        return;
    for (struct text_node *one = map->first; one; before = one, one = one->next) {
        if (strcmp(one->key, key) != 0)
            continue;
        *(before ? &before->next : &map->first) = one->next;
        if (map->last == one)
            map->last = before;
        map->count--;
        return;
    }
}

const char *kube_uid(struct arena *arena, const char *kind, uint64_t owner, const char *name)
{
    char uuid[UUID_TEXT];
    return arena_strdup(arena, uuid_of(uuid, kind, owner, name));
}

uint64_t kube_uid_job(const struct text_node *object)
{
    uint64_t id = 0;
    return uuid_job(kube_in(object, "metadata", "uid"), &id) ? id : 0;
}

static void put_pairs(struct arena *arena, struct text_node *metadata, const char *key,
                      const struct pairs *pairs)
{
    if (pairs && pairs->n)
        text_pairs(arena, text_map(arena, metadata, key), pairs);
}

struct text_node *kube_object(struct arena *arena, const struct kube_resource *of,
                              const struct kube_meta *meta)
{
    static const char *const kept[] = { "labels", "annotations", "managedFields" };
    char version[FMT_MAX];
    struct text_node *object = text_map(arena, NULL, NULL);
    text_str(arena, object, "apiVersion", kube_version(arena, of));
    text_str(arena, object, "kind", of->kind);
    struct text_node *metadata = text_map(arena, object, "metadata");
    text_str(arena, metadata, "name", meta->name);
    if (of->namespaced)
        text_str(arena, metadata, "namespace", meta->ns);
    text_str(arena, metadata, "uid", meta->uid);
    text_str(arena, metadata, "resourceVersion", fmt_int(version, (int64_t)meta->version));
    if (meta->generation)
        text_int(arena, metadata, "generation", (int64_t)meta->generation);
    text_str(arena, metadata, "creationTimestamp", facade_time(arena, meta->created_ms));
    if (meta->deleted_ms) {
        text_str(arena, metadata, "deletionTimestamp", facade_time(arena, meta->deleted_ms));
        text_int(arena, metadata, "deletionGracePeriodSeconds", 0);
    }
    for (size_t i = 0; meta->from && i < sizeof kept / sizeof kept[0]; i++) {
        const struct text_node *part = text_get(meta->from, kept[i]);
        if (part && part->kind != TEXT_NULL && part->count)
            text_share(arena, metadata, kept[i], part);
    }
    put_pairs(arena, metadata, "labels", meta->labels);
    put_pairs(arena, metadata, "annotations", meta->annotations);
    return object;
}

void kube_owner(struct arena *arena, struct text_node *object, const char *name, const char *uid)
{
    struct text_node *metadata = text_get(object, "metadata");
    struct text_node *owner = text_map(arena, text_list(arena, metadata, "ownerReferences"), NULL);
    text_str(arena, owner, "apiVersion", KUBE_GROUP "/v1alpha1");
    text_str(arena, owner, "kind", "ElasticJob");
    text_str(arena, owner, "name", name);
    text_str(arena, owner, "uid", uid);
    text_bool(arena, owner, "controller", true);
    text_bool(arena, owner, "blockOwnerDeletion", true);
}
