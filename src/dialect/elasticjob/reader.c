/* Where in the document a value is, and problems that are said of it there. A value that is not
 * written has the place of the deepest part that is. Pure. */
#include "dialect/elasticjob/reader.h"

#include "text/tree.h"

#include <stdarg.h>
#include <stdio.h>

static struct ej_place step(struct ej_place from, const struct text_node *node, const char *path)
{
    return (
        struct ej_place){ .node = node, .place = node ? node->place : from.place, .path = path };
}

struct ej_place ej_in(const struct ej_reader *r, struct ej_place from, const char *key)
{
    const char *path =
        *from.path ? arena_printf(r->arena, "%s.%s", from.path, key) : arena_strdup(r->arena, key);
    return step(from, from.node ? text_get(from.node, key) : NULL, path);
}

struct ej_place ej_item(const struct ej_reader *r, struct ej_place from, size_t index)
{
    const struct text_node *node = from.node ? from.node->first : NULL;
    for (size_t i = 0; node && i < index; i++)
        node = node->next;
    return step(from, node, arena_printf(r->arena, "%s[%zu]", from.path, index));
}

struct ej_place ej_template(const struct ej_reader *r, enum ej_type type)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    return ej_in(r, ej_in(r, types, ej_type_word(type)), "template");
}

__attribute__((format(printf, 3, 0))) static const char *said(const struct ej_reader *r,
                                                              const char *path, const char *fmt,
                                                              va_list ap)
{
    char text[400];
    vsnprintf(text, sizeof text, fmt, ap);
    return arena_printf(r->arena, "%s %s", path, text);
}

struct problem *ej_fail(const struct ej_reader *r, struct ej_place at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = said(r, at.path, fmt, ap);
    va_end(ap);
    return report_error(r->report, at.place, at.path, "%s", what);
}

struct problem *ej_warn(const struct ej_reader *r, struct ej_place at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = said(r, at.path, fmt, ap);
    va_end(ap);
    return report_warn(r->report, at.place, at.path, "%s", what);
}
