/* Places by path, for problems that are found after decoding: what is not written has the place of
 * what it would be in. Works on the tree of the document, which has to be there still. */
#include "dialect/document_place.h"

#include <stdarg.h>
#include <stdio.h>

static struct document_place step(struct document_place from, const struct text_node *node,
                                  const char *path)
{
    return (struct document_place){ .node = node,
                                    .place = node ? node->place : from.place,
                                    .path = path };
}

struct document_place document_place_root(const struct text_node *root)
{
    return (struct document_place){ .node = root, .place = root->place, .path = "" };
}

struct document_place document_place_in(struct arena *arena, struct document_place from,
                                        const char *key)
{
    const char *path =
        *from.path ? arena_printf(arena, "%s.%s", from.path, key) : arena_strdup(arena, key);
    return step(from, from.node ? text_get(from.node, key) : NULL, path);
}

struct document_place document_place_item(struct arena *arena, struct document_place from,
                                          size_t index)
{
    const struct text_node *node = from.node ? from.node->first : NULL;
    for (size_t i = 0; node && i < index; i++)
        node = node->next;
    return step(from, node, arena_printf(arena, "%s[%zu]", from.path, index));
}

__attribute__((format(printf, 4, 0))) static struct problem *add(struct report *r,
                                                                 enum severity severity,
                                                                 struct document_place at,
                                                                 const char *fmt, va_list ap)
{
    char text[400];
    const char *what = *at.path ? at.path : "the document";
    vsnprintf(text, sizeof text, fmt, ap);
    return severity == SEVERITY_ERROR ? report_error(r, at.place, at.path, "%s %s", what, text)
                                      : report_warn(r, at.place, at.path, "%s %s", what, text);
}

struct problem *document_place_fail(struct report *r, struct document_place at, const char *fmt,
                                    ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add(r, SEVERITY_ERROR, at, fmt, ap);
    va_end(ap);
    return p;
}

struct problem *document_place_warn(struct report *r, struct document_place at, const char *fmt,
                                    ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add(r, SEVERITY_WARNING, at, fmt, ap);
    va_end(ap);
    return p;
}
