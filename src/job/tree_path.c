/* Walking a native tree by a dotted path, and --set: one assignment applied to it before it is
 * decoded. */
#include "job/tree_path.h"

#include "base/scan.h"
#include "job/job.h"
#include "job/job_fields.h"
#include "text/yaml.h"

#include <stdlib.h>
#include <string.h>

/* Length of key when path begins with it as a whole step, else 0. */
static size_t step_fits(const char *path, const char *key)
{
    size_t len = strlen(key);
    if (len == 0 || strncmp(path, key, len) != 0)
        return 0;
    return path[len] == '.' || path[len] == '[' || path[len] == '\0' ? len : 0;
}

static struct text_node *member_step(struct text_node *map, const char *path, size_t *len)
{
    struct text_node *best = NULL;
    *len = 0;
    for (struct text_node *child = map->first; child; child = child->next) {
        size_t fits = step_fits(path, child->key);
        if (fits > *len) {
            *len = fits;
            best = child;
        }
    }
    return best;
}

static struct text_node *index_step(struct text_node *list, const char *path, size_t *len)
{
    const char *shut = strchr(path, ']');
    uint64_t index = 0;
    char digits[12] = "";
    if (path[0] != '[' || !shut || (size_t)(shut - path) > sizeof digits)
        return NULL;
    memcpy(digits, path + 1, (size_t)(shut - path) - 1);
    if (list->count == 0 || !scan_u64(digits, 0, list->count - 1, &index))
        return NULL;
    struct text_node *child = list->first;
    while (index-- > 0)
        child = child->next;
    *len = (size_t)(shut - path) + 1;
    return child;
}

struct text_node *tree_path_walk(struct text_node *root, const char *path, const char **rest)
{
    struct text_node *node = root;
    while (*path) {
        size_t len = 0;
        struct text_node *child = NULL;
        if (node->kind == TEXT_MAP)
            child = member_step(node, path, &len);
        else if (node->kind == TEXT_LIST)
            child = index_step(node, path, &len);
        if (!child)
            break;
        node = child;
        path += len;
        if (*path == '.')
            path++;
    }
    *rest = path;
    return node;
}

/* ---- --set ---- */

static struct text_node *scalar_node(struct arena *arena, const char *value)
{
    int64_t integer;
    double real;
    if (scan_i64(value, INT64_MIN, INT64_MAX, &integer))
        return text_int(arena, NULL, NULL, integer);
    if (scan_real(value, &real))
        return text_real(arena, NULL, NULL, real);
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return text_bool(arena, NULL, NULL, value[0] == 't');
    if (*value == '\0' || strcmp(value, "null") == 0)
        return text_null(arena, NULL, NULL);
    return text_str(arena, NULL, NULL, value);
}

/* Brackets and quotes are YAML; everything else is one scalar, so that commands need no quoting
 * twice. */
static struct text_node *value_node(struct arena *arena, const char *value, struct err *err)
{
    if (!strchr("{[\"'", *value) || *value == '\0')
        return scalar_node(arena, value);
    struct report report;
    report_init(&report, arena);
    struct text_node *node = yaml_parse(arena, value, strlen(value), &report);
    if (node && report_ok(&report))
        return node;
    report_err(&report, err);
    return NULL;
}

static void assign(struct arena *arena, struct text_node *into, const struct text_node *value)
{
    struct text_node old = *into;
    *into = *text_copy(arena, NULL, NULL, value);
    into->key = old.key;
    into->next = old.next;
    into->place = old.place;
    into->key_place = old.key_place;
}

/* Makes what is missing of the path as maps; the last step is the new value's key. */
static int grow(struct arena *arena, struct text_node *at, const char *rest,
                const struct text_node *value, struct err *err)
{
    for (;;) {
        if (at->kind == TEXT_NULL) {
            at->kind = TEXT_MAP;
            at->str = NULL;
        }
        size_t len = strcspn(rest, ".[");
        if (at->kind != TEXT_MAP || len == 0 || rest[len] == '[') {
            err_set(err, ERR_INPUT, "\"%s\" is not in %s", rest, text_kind_word(at->kind));
            return err_hint(err, "set the whole of %s", at->key ? at->key : "it");
        }
        const char *key = arena_strndup(arena, rest, len);
        if (rest[len] == '\0') {
            text_copy(arena, at, key, value);
            return 0;
        }
        at = text_map(arena, at, key);
        rest += len + 1;
    }
}

/* A role's field without its role: fine when there is only one role, also in the long form. */
static const char *with_role(struct arena *arena, struct text_node *tree, const char *path,
                             struct err *err)
{
    const char *first = arena_strndup(arena, path, strcspn(path, ".["));
    struct text_node *roles = text_get(tree, "roles");
    if (field_find(job_fields, first) || !field_find(role_fields, first) || !roles)
        return path;
    if (roles->kind == TEXT_MAP && roles->count == 1)
        return arena_printf(arena, "roles.%s.%s", roles->first->key, path);
    err_set(err, ERR_INPUT, "--set %s: which role?", path);
    if (roles->kind == TEXT_MAP && roles->first)
        err_hint(err, "--set roles.%s.%s=...", roles->first->key, path);
    return NULL;
}

int job_tree_set(struct arena *arena, struct text_node *tree, const char *assignment,
                 struct err *err)
{
    const char *equals = strchr(assignment, '='), *rest;
    if (!equals || equals == assignment || tree->kind != TEXT_MAP) {
        err_set(err, ERR_INPUT, "--set %s is not NAME=VALUE", assignment);
        return err_hint(err, "--set roles.worker.replicas=2");
    }
    const char *path = arena_strndup(arena, assignment, (size_t)(equals - assignment));
    const struct text_node *value = value_node(arena, equals + 1, err);
    if (!value)
        return err_in(err, "--set %s", path);
    path = with_role(arena, tree, path, err);
    if (!path)
        return -1;
    struct text_node *at = tree_path_walk(tree, path, &rest);
    if (*rest == '\0') {
        assign(arena, at, value);
        return 0;
    }
    if (grow(arena, at, rest, value, err) != 0)
        return err_in(err, "--set %s", path);
    return 0;
}
