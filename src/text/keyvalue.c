/* Parameter files into the tree. A line is a key and the rest of the line, so that a command may
 * have blanks, `&&`, `;` and further `=` without quotes. Every node has the place of what it was
 * made of, parts of lists too. */
#include "text/keyvalue.h"

#include "text/keys.h"
#include "text/source.h"

#include <string.h>

enum { SHOWN_MAX = 40 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool key_char(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

struct line {
    const char *begin;     /* its first byte, for columns */
    const char *at, *end;  /* without the blanks around it */
    const char *key_end;   /* NULL: it does not begin with key= */
    const char *value;     /* behind '=' and blanks */
    const char *next_line; /* where the next one begins */
};

static struct line line_at(const char *p, const char *end)
{
    struct line l = { .begin = p, .at = p };
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    l.end = newline ? newline : end;
    l.next_line = newline ? newline + 1 : end;
    while (l.at < l.end && is_blank(*l.at))
        l.at++;
    while (l.end > l.at && is_blank(l.end[-1]))
        l.end--;
    const char *c = l.at;
    while (c < l.end && key_char(*c, c == l.at))
        c++;
    const char *key_end = c;
    while (c < l.end && is_blank(*c))
        c++;
    if (key_end == l.at || c == l.end || *c != '=')
        return l;
    l.key_end = key_end;
    l.value = c + 1;
    while (l.value < l.end && is_blank(*l.value))
        l.value++;
    return l;
}

static bool says_nothing(const struct line *l)
{
    return l->at == l->end || *l->at == '#';
}

static const char *skip_mark(const char *src, size_t len)
{
    return len >= 3 && memcmp(src, "\xef\xbb\xbf", 3) == 0 ? src + 3 : src;
}

bool keyvalue_like(const char *src, size_t len)
{
    const char *end = src + len;
    for (const char *p = skip_mark(src, len); p < end;) {
        struct line l = line_at(p, end);
        if (!says_nothing(&l))
            return l.key_end != NULL;
        p = l.next_line;
    }
    return false;
}

struct parse {
    struct arena *arena;
    struct report *report;
    const char *src;
    struct text_node *root;
    struct keys keys;
    uint32_t number; /* of the line */
};

static struct place place_of(const struct parse *s, const struct line *l, const char *at,
                             const char *end)
{
    return (struct place){ .line = s->number,
                           .col = (uint32_t)source_chars(l->begin, (size_t)(at - l->begin)) + 1,
                           .len = (uint32_t)(end - at),
                           .offset = (uint32_t)(at - s->src) };
}

static void append(struct text_node *map, struct text_node *child)
{
    if (map->last)
        map->last->next = child;
    else
        map->first = child;
    map->last = child;
    map->count++;
}

static void add_line(struct parse *s, const struct line *l)
{
    struct text_node *node = ARENA_NEW(s->arena, struct text_node);
    *node = (struct text_node){
        .kind = TEXT_STR,
        .place = place_of(s, l, l->value, l->end),
        .key_place = place_of(s, l, l->at, l->key_end),
        .key = arena_strndup(s->arena, l->at, (size_t)(l->key_end - l->at)),
        .str = arena_strndup(s->arena, l->value, (size_t)(l->end - l->value)),
        .plain = true,
    };
    const struct text_node *before = keys_claim(&s->keys, s->root, node);
    if (!before) {
        append(s->root, node);
        return;
    }
    struct problem *p =
        report_error(s->report, node->key_place, node->key, "%.*s is there twice, first in line %u",
                     SHOWN_MAX, node->key, before->key_place.line);
    report_hint(s->report, p, "one of them");
}

static void bad_line(struct parse *s, const struct line *l)
{
    struct place place = place_of(s, l, l->at, l->end);
    size_t shown = (size_t)(l->end - l->at) < SHOWN_MAX ? (size_t)(l->end - l->at) : 0;
    struct problem *p = report_error(s->report, place, "", "\"%.*s%s\" is no key=value",
                                     shown ? (int)shown : 0, l->at, shown ? "" : "...");
    if (l->end - l->at > 2 && l->at[0] == '-' && l->at[1] == '-')
        report_hint(s->report, p, "the flag's name without --, then = and its value");
    else
        report_hint(s->report, p, "key=value, a value on one line");
}

struct text_node *keyvalue_parse(struct arena *arena, const char *src, size_t len,
                                 struct report *report)
{
    if (!source_check(src, len, TEXT_MAX_BYTES, report))
        return NULL;
    struct parse s = { .arena = arena, .report = report, .src = src };
    const char *end = src + len;
    s.root = text_map(arena, NULL, NULL);
    s.root->pairs = true;
    s.root->place = (struct place){ .line = 1, .col = 1, .len = 1 };
    for (const char *p = skip_mark(src, len); p < end && report->errors < REPORT_MAX;) {
        struct line l = line_at(p, end);
        s.number++;
        p = l.next_line;
        if (says_nothing(&l))
            continue;
        if (s.root->count >= TEXT_MAX_NODES) {
            report_error(report, (struct place){ 0 }, "", "the text has more than %u keys",
                         TEXT_MAX_NODES);
            break;
        }
        if (l.key_end)
            add_line(&s, &l);
        else
            bad_line(&s, &l);
    }
    keys_fini(&s.keys);
    return s.root;
}

/* ---- lists in one value ---- */

struct text_node *keyvalue_part(struct arena *arena, struct text_node *parent, const char *key,
                                const struct text_node *value, size_t offset, size_t len)
{
    struct text_node *node =
        text_str(arena, parent, key, arena_strndup(arena, value->str + offset, len));
    node->place = value->place;
    node->place.col += (uint32_t)source_chars(value->str, offset);
    node->place.offset += (uint32_t)offset;
    node->place.len = (uint32_t)len;
    node->key_place = value->key_place;
    node->plain = value->plain;
    return node;
}

/* The next part between commas, without the blanks around it; false at the end. */
static bool next_part(const char *text, size_t *from, size_t *at, size_t *len)
{
    while (text[*from] == ',' || is_blank(text[*from]))
        ++*from;
    if (!text[*from])
        return false;
    *at = *from;
    *len = strcspn(text + *at, ",");
    *from = *at + *len;
    while (*len > 0 && is_blank(text[*at + *len - 1]))
        --*len;
    return true;
}

struct text_node *keyvalue_words(struct arena *arena, struct text_node *parent, const char *key,
                                 const struct text_node *value)
{
    struct text_node *list = text_list(arena, parent, key);
    size_t from = 0, at, len;
    list->place = value->place;
    list->key_place = value->key_place;
    while (next_part(value->str, &from, &at, &len))
        keyvalue_part(arena, list, NULL, value, at, len);
    return list;
}

struct text_node *keyvalue_pairs(struct arena *arena, struct text_node *parent, const char *key,
                                 const struct text_node *value, const char *path,
                                 struct report *report)
{
    struct text_node *map = text_map(arena, parent, key);
    struct keys keys = { .by_key = { .room = 0 } };
    size_t from = 0, at, len;
    map->place = value->place;
    map->key_place = value->key_place;
    while (next_part(value->str, &from, &at, &len) && map->count < TEXT_MAX_NODES) {
        struct text_node *whole = keyvalue_part(arena, NULL, NULL, value, at, len);
        const char *eq = memchr(value->str + at, '=', len);
        size_t name = eq ? (size_t)(eq - value->str) - at : 0;
        struct problem *p;
        if (name == 0) {
            p = report_error(report, whole->place, path, "%s has \"%.*s\", which is no k=v", path,
                             SHOWN_MAX, whole->str);
            report_hint(report, p, "k=v,k=v: no comma within a value");
            continue;
        }
        struct text_node *node =
            keyvalue_part(arena, NULL, NULL, value, at + name + 1, len - name - 1);
        node->key = arena_strndup(arena, whole->str, name);
        node->key_place = whole->place;
        node->key_place.len = (uint32_t)name;
        if (!keys_claim(&keys, map, node)) {
            append(map, node);
            continue;
        }
        p = report_error(report, whole->place, path, "%s has %.*s twice", path, SHOWN_MAX,
                         node->key);
        report_hint(report, p, "one of them");
    }
    keys_fini(&keys);
    return map;
}
