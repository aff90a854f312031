/* Forms with nested names. Pairs are put into a tree of maps by the segments of their names, in
 * the order they come; at the end a map whose keys are all positions becomes a list. */
#include "text/form.h"

#include "base/mem.h"
#include "base/scan.h"

#include <stdlib.h>
#include <string.h>

struct form {
    struct arena *arena;
    struct report *report;
    const char *src;
    size_t pairs, nodes;
};

/* ---- decoding ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool form_decode(const char *src, size_t len, bool plus, char *out)
{
    for (size_t i = 0; i < len; i++) {
        char c = src[i];
        if (c == '%') {
            int high = len - i > 2 ? hex(src[i + 1]) : -1;
            int low = len - i > 2 ? hex(src[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == '\0')
            return false;
        *out++ = c;
    }
    *out = '\0';
    return true;
}

static void bad(struct form *f, const char *at, const char *what)
{
    struct place place = { .line = 1,
                           .col = (uint32_t)(at - f->src) + 1,
                           .offset = (uint32_t)(at - f->src) };
    report_add(f->report, SEVERITY_ERROR, place, "", what, "");
}

static const char *decode(struct form *f, const char *at, size_t len)
{
    char *text = arena_alloc(f->arena, len + 1);
    if (form_decode(at, len, true, text) && scan_utf8(text, strlen(text)))
        return text;
    bad(f, at, "the form has an escape or a byte that is no text");
    return NULL;
}

/* ---- names ---- */

/* "a[0][b]" is a, 0, b; a name whose brackets do not close is one segment. */
static size_t segments_of(struct arena *a, const char *name, const char **out, size_t max)
{
    size_t first = strcspn(name, "["), n = 1;
    const char *at = name + first;
    out[0] = arena_strndup(a, name, first);
    if (first == 0)
        n = 0; /* "[a]=1": the brackets are the first segment */
    while (*at == '[') {
        size_t len = strcspn(at + 1, "[]");
        if (at[1 + len] != ']') {
            out[0] = name;
            return 1;
        }
        if (n == max)
            return max + 1;
        out[n++] = arena_strndup(a, at + 1, len);
        at += len + 2;
    }
    if (*at || n == 0) {
        out[0] = name;
        return 1;
    }
    return n;
}

/* The next free position of a map that is to be a list. */
static const char *next_position(struct arena *a, const struct text_node *map)
{
    return arena_printf(a, "%zu", map->count);
}

static struct text_node *new_child(struct form *f, struct text_node *map, const char *key,
                                   const char *value)
{
    if (++f->nodes > TEXT_MAX_NODES)
        return NULL;
    return value ? text_str(f->arena, map, key, value) : text_map(f->arena, map, key);
}

/* A text that comes again becomes a map of positions, which becomes a list. */
static bool again(struct form *f, struct text_node *old, const char *value)
{
    if (old->kind == TEXT_STR) {
        const char *first = old->str;
        old->kind = TEXT_MAP;
        old->str = NULL;
        old->count = 0;
        new_child(f, old, "0", first);
    }
    return new_child(f, old, next_position(f->arena, old), value) != NULL;
}

static bool put(struct form *f, struct text_node *root, const char *name, const char *value)
{
    const char *segment[FORM_MAX_DEPTH];
    size_t n = segments_of(f->arena, name, segment, FORM_MAX_DEPTH);
    struct text_node *map = root;
    if (n > FORM_MAX_DEPTH)
        return false;
    for (size_t i = 0; i + 1 < n && map; i++) {
        const char *key = *segment[i] || i == 0 ? segment[i] : next_position(f->arena, map);
        struct text_node *child = text_get(map, key);
        if (child && child->kind != TEXT_MAP)
            return false;
        map = child ? child : new_child(f, map, key, NULL);
    }
    if (!map)
        return false;
    const char *last = segment[n - 1];
    if (!*last && n > 1)
        return new_child(f, map, next_position(f->arena, map), value) != NULL;
    struct text_node *old = text_get(map, last);
    if (!old)
        return new_child(f, map, last, value) != NULL;
    return again(f, old, value);
}

/* ---- maps of positions to lists ---- */

struct item {
    uint64_t position;
    struct text_node *node;
};

static int by_position(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->position > y->position) - (x->position < y->position);
}

/* Its members by position, NULL: one of its keys is none. */
static struct item *items_of(struct form *f, const struct text_node *map)
{
    struct item *items = ARENA_ARRAY(f->arena, map->count, struct item);
    size_t n = 0;
    for (struct text_node *one = map->first; one; one = one->next) {
        if (!scan_u64(one->key, 0, FORM_MAX_INDEX, &items[n].position))
            return NULL;
        items[n++].node = one;
    }
    qsort(items, n, sizeof *items, by_position);
    return items;
}

static void make_lists(struct form *f, struct text_node *map, bool root)
{
    for (struct text_node *one = map->first; one; one = one->next)
        if (one->kind == TEXT_MAP)
            make_lists(f, one, false);
    struct item *items = root || map->count == 0 ? NULL : items_of(f, map);
    if (!items)
        return;
    for (size_t i = 0; i < map->count; i++) {
        items[i].node->key = NULL;
        items[i].node->next = i + 1 < map->count ? items[i + 1].node : NULL;
    }
    map->kind = TEXT_LIST;
    map->first = items[0].node;
    map->last = items[map->count - 1].node;
}

struct text_node *form_parse(struct arena *arena, const char *src, size_t len,
                             struct report *report)
{
    struct form f = { .arena = arena, .report = report, .src = src };
    struct text_node *root = text_map(arena, NULL, NULL);
    const char *at = src, *end = src + len;
    if (len > TEXT_MAX_BYTES) {
        bad(&f, src, "the form is too large");
        return NULL;
    }
    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *equal = memchr(at, '=', (size_t)(stop - at));
        const char *value = equal ? equal + 1 : stop, *name_end = equal ? equal : stop;
        if (name_end > at) {
            const char *name = decode(&f, at, (size_t)(name_end - at));
            const char *text = name ? decode(&f, value, (size_t)(stop - value)) : NULL;
            if (!text)
                return NULL;
            if (++f.pairs > FORM_MAX_PAIRS || !put(&f, root, name, text)) {
                bad(&f, at, "the form has more names than it may, or one in two meanings");
                return NULL;
            }
        }
        at = stop + 1;
    }
    make_lists(&f, root, true);
    return root;
}
