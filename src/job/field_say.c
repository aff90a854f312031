/* What decoding says when a value is not what its row wants: the value found, what would be right,
 * and the replacement where that is certain. */
#include "job/field_value.h"

#include "base/scan.h"
#include "job/field.h"

#include <stdio.h>
#include <string.h>

enum { NEAR_MAX = 64 }; /* names looked at for a suggestion */

struct field_excerpt field_show(const struct text_node *node)
{
    struct field_excerpt shown;
    size_t len = node->str ? strlen(node->str) : 0;
    size_t cut = len > FIELD_SHOWN_MAX ? FIELD_SHOWN_MAX : len;
    while (cut < len && cut > 0 && ((unsigned char)node->str[cut] & 0xC0) == 0x80)
        cut--; /* never half a character */
    const char *more = cut < len ? "..." : "";
    if (node->kind == TEXT_STR)
        snprintf(shown.text, sizeof shown.text, "\"%.*s%s\"", (int)cut, node->str, more);
    else if (node->kind == TEXT_INT)
        snprintf(shown.text, sizeof shown.text, "%lld", (long long)node->integer);
    else if (node->kind == TEXT_REAL && !node->str)
        snprintf(shown.text, sizeof shown.text, "%.9g", node->real);
    else if (node->kind == TEXT_BOOL)
        snprintf(shown.text, sizeof shown.text, "%s", node->boolean ? "true" : "false");
    else if (node->kind == TEXT_REAL)
        snprintf(shown.text, sizeof shown.text, "%.*s%s", (int)cut, node->str, more);
    else
        snprintf(shown.text, sizeof shown.text, "%s", text_kind_word(node->kind));
    return shown;
}

int field_wrong_kind(const struct field_context *in, const struct field *f,
                     const struct text_node *node)
{
    struct problem *p =
        field_bad_value(in, node, "%s, not %s", field_show(node).text, field_wanted(f));
    report_hint(in->report, p, "%s", field_wanted(f));
    return -1;
}

/* A number in quotes: what to write is certain. */
int field_quoted_number(const struct field_context *in, const struct text_node *node)
{
    struct problem *p = field_bad_value(in, node, "text, not a number: %s", field_show(node).text);
    report_hint(in->report, p, "%s without quotes", node->str);
    p->fix = arena_strdup(in->arena, node->str);
    return -1;
}

int field_out_of_bounds(const struct field_context *in, const struct field *f,
                        const struct text_node *node, const char *least, const char *most)
{
    const char *open = f->unit ? " (" : "", *unit = f->unit ? f->unit : "",
               *shut = *unit ? ")" : "";
    struct problem *p;
    if (least) {
        p = field_bad_value(in, node, "%s, the least is %s", field_show(node).text, least);
        report_hint(in->report, p, "%s or more%s%s%s", least, open, unit, shut);
    } else {
        p = field_bad_value(in, node, "%s, the most is %s", field_show(node).text, most);
        report_hint(in->report, p, "%s or less%s%s%s", most, open, unit, shut);
    }
    return -1;
}

/* ---- unknown names ---- */

static size_t names_of(const struct field *table, const char **names, size_t n)
{
    for (const struct field *f = table; f && f->name && n < NEAR_MAX; f++)
        if (!(f->flags & FIELD_REST))
            names[n++] = f->name;
    return n;
}

const char *field_near(const struct field *table, const char *name)
{
    const char *names[NEAR_MAX];
    return scan_nearest(name, names, names_of(table, names, 0));
}

/* The replacement for a key as it stands in the source: with its quotes when it has them. */
static const char *key_fix(struct arena *arena, const struct text_node *member, const char *near)
{
    size_t len = strlen(member->key);
    if (member->key_place.len == len)
        return arena_strdup(arena, near);
    if (member->key_place.len == len + 2)
        return arena_printf(arena, "\"%s\"", near);
    return NULL;
}

/* near: the name that was meant, or NULL; free: nothing else has it, so that renaming is certain to
 * help. */
void field_unknown_near(const struct field_context *in, const struct text_node *member,
                        const char *near, bool free)
{
    char path[FIELD_PATH_MAX];
    field_path(path, in->at);
    struct problem *p =
        report_error(in->report, member->key_place, path, "unknown field \"%.*s\"%s%s",
                     FIELD_SHOWN_MAX, member->key, *path ? " in " : "", path);
    report_unknown(in->report, p, member->key);
    if (!near)
        return;
    report_hint(in->report, p, "\"%s\"?", near);
    if (free)
        p->fix = key_fix(in->arena, member, near);
}

void field_unknown(const struct field_context *in, const struct text_node *map,
                   const struct text_node *member, const struct field *table,
                   const struct field *also)
{
    const char *names[NEAR_MAX];
    size_t n = names_of(also, names, names_of(table, names, 0));
    const char *near = scan_nearest(member->key, names, n);
    field_unknown_near(in, member, near, near && !text_get(map, near));
}

int field_wrong_word(const struct field_context *in, const struct text_node *node,
                     const char *const *names, size_t n)
{
    char list[200] = "";
    size_t len = 0;
    for (size_t i = 0; i < n && len < sizeof list - 1; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s",
                                i == 0       ? ""
                                : i + 1 == n ? " or "
                                             : ", ",
                                names[i]);
    struct problem *p = field_bad_value(in, node, "%s, not %s", field_show(node).text, list);
    const char *near = node->kind == TEXT_STR ? scan_nearest(node->str, names, n) : NULL;
    report_hint(in->report, p, "%s", near ? near : list);
    size_t written = near ? strlen(node->str) : 0;
    if (near && (node->place.len == written || node->place.len == written + 2))
        p->fix = node->place.len == written ? arena_strdup(in->arena, near)
                                            : arena_printf(in->arena, "\"%s\"", near);
    return -1;
}
