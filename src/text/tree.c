/* The tree: look-up, building, copying, comparing. Recursion is bounded by TEXT_MAX_DEPTH: parsers
 * refuse deeper texts and encoders build shallow ones. */
#include "text/tree.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *text_kind_word(enum text_kind kind)
{
    static const char *const words[TEXT_KIND_N] = {
        [TEXT_NULL] = "null",     [TEXT_BOOL] = "true or false", [TEXT_INT] = "a whole number",
        [TEXT_REAL] = "a number", [TEXT_STR] = "text",           [TEXT_LIST] = "a list",
        [TEXT_MAP] = "a map",
    };
    return (unsigned)kind < TEXT_KIND_N ? words[kind] : "nothing";
}

struct text_node *text_get(const struct text_node *map, const char *key)
{
    if (!map || map->kind != TEXT_MAP)
        return NULL;
    struct text_node *n = map->first;
    while (n && (n->key[0] != key[0] || strcmp(n->key, key) != 0)) /* most differ in the first */
        n = n->next;
    return n;
}

const char *text_word(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? node->str : "";
}

uint64_t text_number(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_INT && node->integer > 0 ? (uint64_t)node->integer : 0;
}

bool text_flag(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_BOOL && node->boolean;
}

static void link_last(struct text_node *parent, struct text_node *n)
{
    if (parent->last)
        parent->last->next = n;
    else
        parent->first = n;
    parent->last = n;
    parent->count++;
}

/* A node at the end of parent, with copies of its texts behind it: one allocation. str may be NULL.
 */
static struct text_node *add(struct arena *a, struct text_node *parent, const char *key,
                             enum text_kind kind, const char *str)
{
    size_t key_len = parent && key ? strlen(key) + 1 : 0, len = str ? strlen(str) + 1 : 0;
    struct text_node *n = arena_alloc(a, sizeof *n + key_len + len);
    char *texts = (char *)(n + 1);
    n->kind = kind;
    if (key_len)
        n->key = memcpy(texts, key, key_len);
    if (len)
        n->str = memcpy(texts + key_len, str, len);
    if (parent)
        link_last(parent, n);
    return n;
}

struct text_node *text_map(struct arena *a, struct text_node *parent, const char *key)
{
    return add(a, parent, key, TEXT_MAP, NULL);
}

struct text_node *text_list(struct arena *a, struct text_node *parent, const char *key)
{
    return add(a, parent, key, TEXT_LIST, NULL);
}

struct text_node *text_str(struct arena *a, struct text_node *parent, const char *key,
                           const char *value)
{
    return add(a, parent, key, TEXT_STR, value ? value : "");
}

struct text_node *text_int(struct arena *a, struct text_node *parent, const char *key,
                           int64_t value)
{
    char text[FMT_MAX];
    struct text_node *n = add(a, parent, key, TEXT_INT, fmt_int(text, value));
    n->integer = value;
    return n;
}

#define REAL_MAX 40

/* The shortest of three precisions that reads back as value. */
static const char *write_real(char text[REAL_MAX], double value)
{
    int digits = 15;
    do
        snprintf(text, REAL_MAX - 2, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    if (!strpbrk(text, ".e"))
        memcpy(text + strlen(text), ".0", sizeof ".0");
    return text;
}

struct text_node *text_real(struct arena *a, struct text_node *parent, const char *key,
                            double value)
{
    if (!isfinite(value)) /* neither JSON nor our YAML has a word for it */
        return text_null(a, parent, key);
    char text[REAL_MAX];
    struct text_node *n = add(a, parent, key, TEXT_REAL, write_real(text, value));
    n->real = value;
    return n;
}

struct text_node *text_bool(struct arena *a, struct text_node *parent, const char *key, bool value)
{
    struct text_node *n = add(a, parent, key, TEXT_BOOL, NULL);
    n->boolean = value;
    n->str = value ? "true" : "false";
    return n;
}

struct text_node *text_null(struct arena *a, struct text_node *parent, const char *key)
{
    return add(a, parent, key, TEXT_NULL, NULL);
}

void text_pairs(struct arena *arena, struct text_node *map, const struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        text_str(arena, map, pairs->at[i].name, pairs->at[i].value);
}

struct text_node *text_copy(struct arena *a, struct text_node *parent, const char *key,
                            const struct text_node *node)
{
    struct text_node *n = add(a, parent, key, node->kind, node->str);
    n->place = node->place;
    n->key_place = node->key_place;
    n->boolean = node->boolean;
    n->integer = node->integer;
    n->real = node->real;
    n->plain = node->plain;
    for (const struct text_node *c = node->first; c; c = c->next)
        text_copy(a, n, c->key, c);
    return n;
}

struct text_node *text_share(struct arena *a, struct text_node *parent, const char *key,
                             const struct text_node *node)
{
    struct text_node *n = ARENA_NEW(a, struct text_node);
    *n = *node;
    n->key = key;
    n->next = NULL;
    link_last(parent, n);
    return n;
}

static bool lists_equal(const struct text_node *a, const struct text_node *b)
{
    const struct text_node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!text_equal(x, y))
            return false;
    return !x && !y;
}

static bool small_maps_equal(const struct text_node *a, const struct text_node *b)
{
    for (const struct text_node *x = a->first; x; x = x->next) {
        const struct text_node *y = text_get(b, x->key);
        if (!y || !text_equal(x, y))
            return false;
    }
    return true;
}

static bool large_maps_equal(const struct text_node *a, const struct text_node *b)
{
    struct string_map *members = string_map_create();
    for (struct text_node *y = b->first; y; y = y->next)
        string_map_set(members, y->key, y);
    bool equal = true;
    for (const struct text_node *x = a->first; x && equal; x = x->next) {
        const struct text_node *y = string_map_get(members, x->key);
        equal = y && text_equal(x, y);
    }
    string_map_destroy(members);
    return equal;
}

bool text_equal(const struct text_node *a, const struct text_node *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->count != b->count)
        return false;
    switch (a->kind) {
    case TEXT_BOOL: return a->boolean == b->boolean;
    case TEXT_INT: return a->integer == b->integer;
    case TEXT_REAL: return !(a->real < b->real) && !(a->real > b->real);
    case TEXT_STR: return strcmp(a->str, b->str) == 0;
    case TEXT_LIST: return lists_equal(a, b);
    case TEXT_MAP: return a->count > 16 ? large_maps_equal(a, b) : small_maps_equal(a, b);
    case TEXT_NULL:
    case TEXT_KIND_N: break;
    }
    return true;
}
