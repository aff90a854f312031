/* A job's facets, taken from its tree when it is stored: reading them back from its JSON would be
 * the dearest part of a submission. */
#include "live/row_json.h"

#include "base/mem.h"
#include "base/scan.h"
#include "store/find.h"

#include <string.h>

struct taking {
    struct arena *arena;
    struct pairs out;
};

static const struct text_node *at(const struct text_node *map, const char *key)
{
    return map && map->kind == TEXT_MAP ? text_get(map, key) : NULL;
}

static const char *said(const struct text_node *node)
{
    return node && (node->kind == TEXT_STR || node->kind == TEXT_INT) ? node->str : NULL;
}

static void take(struct taking *t, const char *name, const char *value)
{
    if (!value)
        return;
    size_t len = strlen(value);
    if (len > FACET_TEXT_MAX)
        value = arena_strndup(t->arena, value, scan_utf8_prefix(value, FACET_TEXT_MAX));
    t->out.at[t->out.n++] = (struct pair){ name, value };
}

struct pairs row_json_facets(struct arena *arena, const struct text_node *job)
{
    static const char *const plain[] = { "capacity", "description" };
    const struct text_node *labels = at(job, "labels"), *roles = at(job, "roles");
    const struct text_node *dlc = at(at(job, "extra"), "dlc"), *type = at(dlc, "JobType");
    struct taking t = { .arena = arena };
    size_t most = 8 + (labels ? labels->count : 0) + (roles ? 2 * roles->count : 0);
    t.out = (struct pairs){ .at = ARENA_ARRAY(arena, most, struct pair), .cap = most };
    if (!said(type))
        type = at(job, "framework");
    take(&t, "type", said(type) ? said(type) : "");
    take(&t, "access", said(at(dlc, "Accessibility")));
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        take(&t, plain[i], said(at(job, plain[i])));
    if (at(job, "spot_bid"))
        take(&t, "spot", "");
    for (const struct text_node *one = labels ? labels->first : NULL; one; one = one->next)
        take(&t, arena_printf(arena, "label.%s", one->key), said(one));
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        take(&t, "run", said(at(role, "run")));
        take(&t, "image", said(at(role, "image")));
    }
    return t.out;
}
