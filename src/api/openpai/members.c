/* Members of bodies and answers. A text that is not there, and one that is empty, are the same in
 * what the core knows; clients are told null. Pure. */
#include "api/openpai/members.h"

#include "base/mem.h"

#include <string.h>

const char *pai_text(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

bool pai_true(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    if (node && node->kind == TEXT_STR)
        return strcmp(node->str, "true") == 0;
    return node && node->kind == TEXT_BOOL && node->boolean;
}

struct words pai_list(struct arena *a, const char *text)
{
    struct words out = { 0 };
    size_t commas = 0;
    for (const char *c = text; c && *c; c++)
        commas += *c == ',';
    if (!text || !*text)
        return out;
    out.at = ARENA_ARRAY(a, commas + 1, const char *);
    for (const char *at = text; at;) {
        size_t len = strcspn(at, ",");
        if (len)
            out.at[out.n++] = arena_strndup(a, at, len);
        at = at[len] ? at + len + 1 : NULL;
    }
    return out;
}

const char *pai_said(const char *text)
{
    return text && *text ? text : NULL;
}

void pai_put_text(struct arena *a, struct text_node *map, const char *key, const char *text)
{
    if (text)
        text_str(a, map, key, text);
    else
        text_null(a, map, key);
}

void pai_put_ms(struct arena *a, struct text_node *map, const char *key, uint64_t ms)
{
    if (ms)
        text_int(a, map, key, (int64_t)ms);
    else
        text_null(a, map, key);
}
