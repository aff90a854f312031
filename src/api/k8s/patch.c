/* Patches of objects as trees. Trees are copied, the originals stay; the number of operations and
 * of nodes that they put in is bounded. */
#include "api/k8s/patch.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

/* ---- RFC 7386 ---- */

struct text_node *kube_merge(struct arena *arena, const struct text_node *target,
                             const struct text_node *patch)
{
    if (patch->kind != TEXT_MAP)
        return text_copy(arena, NULL, NULL, patch);
    struct text_node *out = text_map(arena, NULL, NULL);
    bool map = target && target->kind == TEXT_MAP;
    for (const struct text_node *one = map ? target->first : NULL; one; one = one->next) {
        const struct text_node *change = text_get(patch, one->key);
        if (!change)
            text_copy(arena, out, one->key, one);
        else if (change->kind != TEXT_NULL)
            text_copy(arena, out, one->key, kube_merge(arena, one, change));
    }
    for (const struct text_node *one = patch->first; one; one = one->next)
        if (one->kind != TEXT_NULL && !(map && text_get(target, one->key)))
            text_copy(arena, out, one->key, kube_merge(arena, NULL, one));
    return out;
}

struct text_node *kube_plain_patch(struct arena *arena, const struct text_node *patch)
{
    if (patch->kind != TEXT_MAP)
        return text_copy(arena, NULL, NULL, patch);
    struct text_node *out = text_map(arena, NULL, NULL);
    for (const struct text_node *one = patch->first; one; one = one->next)
        if (one->key[0] != '$')
            text_copy(arena, out, one->key, kube_plain_patch(arena, one));
    return out;
}

/* ---- RFC 6902 ---- */

struct doc {
    struct arena *arena;
    struct text_node *root;
    size_t nodes; /* put in so far */
    struct err *err;
};

struct pointer_target {       /* what the last part of a pointer names */
    struct text_node *parent; /* NULL: the root */
    struct text_node *before; /* in parent's list of children; NULL: the first */
    struct text_node *node;   /* NULL: nothing is there */
    const char *key;          /* of a map */
};

static size_t count(const struct text_node *node)
{
    size_t n = 1;
    for (const struct text_node *one = node->first; one; one = one->next)
        n += count(one);
    return n;
}

static const char *text_in(const struct text_node *op, const char *key)
{
    const struct text_node *node = text_get(op, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

/* One part of a pointer, "~1" and "~0" undone; *path goes behind it. */
static const char *part(struct arena *arena, const char **path)
{
    size_t n = strcspn(*path, "/"), len = 0;
    char *out = ARENA_ARRAY(arena, n + 1, char);
    for (size_t i = 0; i < n; i++) {
        char c = (*path)[i];
        if (c == '~' && i + 1 < n && ((*path)[i + 1] == '0' || (*path)[i + 1] == '1'))
            c = (*path)[++i] == '0' ? '~' : '/';
        out[len++] = c;
    }
    *path += n;
    return out;
}

static int nowhere(const struct doc *d, const char *path)
{
    return err_set(d->err, ERR_CANNOT, "the path \"%.120s\" leads nowhere", path);
}

/* The child of that name, or of that number ("-": behind the last). */
static int step(const struct doc *d, struct text_node *parent, const char *name,
                struct pointer_target *at)
{
    uint64_t index = 0;
    *at = (struct pointer_target){ .parent = parent };
    if (parent->kind == TEXT_MAP) {
        at->key = name;
        for (at->node = parent->first; at->node && strcmp(at->node->key, name) != 0;
             at->node = at->node->next)
            at->before = at->node;
        return 0;
    }
    bool end = strcmp(name, "-") == 0;
    if (parent->kind != TEXT_LIST || (!end && !scan_u64(name, 0, parent->count, &index)))
        return nowhere(d, name);
    index = end ? parent->count : index;
    at->node = parent->first;
    for (uint64_t i = 0; i < index; i++) {
        at->before = at->node;
        at->node = at->node->next;
    }
    return 0;
}

static int find(const struct doc *d, const char *path, struct pointer_target *at)
{
    const char *whole = path;
    *at = (struct pointer_target){ .node = d->root };
    if (*path && *path != '/')
        return err_set(d->err, ERR_INPUT, "the path \"%.120s\" does not begin with /", path);
    while (*path == '/') {
        path++;
        if (!at->node)
            return nowhere(d, whole);
        if (step(d, at->node, part(d->arena, &path), at))
            return -1;
    }
    return 0;
}

static void unlink_at(struct doc *d, const struct pointer_target *at)
{
    if (!at->parent) {
        d->root = text_null(d->arena, NULL, NULL);
        return;
    }
    *(at->before ? &at->before->next : &at->parent->first) = at->node->next;
    if (at->parent->last == at->node)
        at->parent->last = at->before;
    at->parent->count--;
}

/* A copy of value there: in a list before what is there, in a map instead of it. */
static int put(struct doc *d, const char *path, const struct text_node *value)
{
    struct pointer_target at;
    d->nodes += count(value);
    if (d->nodes > PATCH_NODES_MAX)
        return err_set(d->err, ERR_INPUT, "the patch makes the object too large");
    struct text_node *copy = text_copy(d->arena, NULL, NULL, value);
    if (find(d, path, &at))
        return -1;
    if (!at.parent) {
        d->root = copy;
        return 0;
    }
    bool map = at.parent->kind == TEXT_MAP;
    copy->key = map ? arena_strdup(d->arena, at.key) : NULL;
    if (map && at.node)
        unlink_at(d, &at);
    copy->next = at.before ? at.before->next : at.parent->first;
    *(at.before ? &at.before->next : &at.parent->first) = copy;
    if (!copy->next)
        at.parent->last = copy;
    at.parent->count++;
    return 0;
}

static int need(struct doc *d, const char *path, struct pointer_target *at)
{
    if (!path)
        return err_set(d->err, ERR_INPUT, "an operation has no path");
    if (find(d, path, at))
        return -1;
    return at->node ? 0 : nowhere(d, path);
}

static int carry(struct doc *d, const char *from, const char *path, bool move)
{
    struct pointer_target at;
    if (need(d, from, &at))
        return -1;
    if (move && strncmp(path, from, strlen(from)) == 0 && path[strlen(from)] == '/')
        return err_set(d->err, ERR_INPUT, "%.80s is moved into itself", from);
    if (move)
        unlink_at(d, &at);
    return put(d, path, at.node);
}

static int test(struct doc *d, const char *path, const struct text_node *value)
{
    struct pointer_target at;
    if (need(d, path, &at))
        return -1;
    if (text_equal(at.node, value))
        return 0;
    return err_set(d->err, ERR_CANNOT, "testing value %.120s failed", path);
}

static int take_out(struct doc *d, const char *path)
{
    struct pointer_target at;
    if (need(d, path, &at))
        return -1;
    unlink_at(d, &at);
    return 0;
}

static int apply(struct doc *d, const struct text_node *op)
{
    static const char *const names[] = { "add", "replace", "test", "remove", "move", "copy" };
    enum { ADD, REPLACE, TEST, REMOVE, MOVE, COPY, NONE };
    const char *name = text_in(op, "op"), *path = text_in(op, "path");
    const struct text_node *value = text_get(op, "value");
    int which = 0;
    if (!name || !path)
        return err_set(d->err, ERR_INPUT, "an operation needs op and path");
    while (which < NONE && strcmp(name, names[which]) != 0)
        which++;
    if (which <= TEST && !value)
        return err_set(d->err, ERR_INPUT, "the operation %.20s of %.80s has no value", name, path);
    switch (which) {
    case ADD: return put(d, path, value);
    case REPLACE: return take_out(d, path) ? -1 : put(d, path, value);
    case TEST: return test(d, path, value);
    case REMOVE: return take_out(d, path);
    case MOVE:
    case COPY: return carry(d, text_in(op, "from"), path, which == MOVE);
    default: return err_set(d->err, ERR_INPUT, "there is no operation \"%.20s\"", name);
    }
}

struct text_node *kube_json_patch(struct arena *arena, const struct text_node *target,
                                  const struct text_node *ops, struct err *err)
{
    struct doc d = { .arena = arena, .root = text_copy(arena, NULL, NULL, target), .err = err };
    if (ops->kind != TEXT_LIST || ops->count > PATCH_OPS_MAX) {
        err_set(err, ERR_INPUT, "a JSON patch is a list of at most %u operations", PATCH_OPS_MAX);
        return NULL;
    }
    for (const struct text_node *op = ops->first; op; op = op->next)
        if (apply(&d, op))
            return NULL;
    return d.root;
}
