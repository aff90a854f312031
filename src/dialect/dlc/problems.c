/* What is wrong with a CreateJob body: where that stands in the text is found by its path, also of
 * a field that decoding has left behind. Pure. */
#include "dialect/dlc/problems.h"

#include "dialect/dlc/create.h"
#include "job/tree_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct place dlc_place(const struct dlc_create *c, const char *path)
{
    const char *rest = path;
    struct text_node *root = (struct text_node *)(uintptr_t)c->root; /* only looked at */
    return tree_path_walk(root, path, &rest)->place;
}

const struct text_node *dlc_node(const struct dlc_create *c, const char *path)
{
    const char *rest = path;
    struct text_node *root = (struct text_node *)(uintptr_t)c->root; /* only looked at */
    const struct text_node *node = tree_path_walk(root, path, &rest);
    return *rest ? NULL : node;
}

static struct problem *say(const struct dlc_create *c, struct report *r, enum severity severity,
                           const char *path, const char *fmt, va_list ap)
    __attribute__((format(printf, 5, 0)));

static struct problem *say(const struct dlc_create *c, struct report *r, enum severity severity,
                           const char *path, const char *fmt, va_list ap)
{
    char text[600];
    vsnprintf(text, sizeof text, fmt, ap);
    const char *what = arena_printf(r->arena, "%s%s%s", path, *path ? " " : "", text);
    return report_add(r, severity, dlc_place(c, path), path, what, "");
}

struct problem *dlc_error(const struct dlc_create *c, struct report *r, const char *path,
                          const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = say(c, r, SEVERITY_ERROR, path, fmt, ap);
    va_end(ap);
    return p;
}

struct problem *dlc_warn(const struct dlc_create *c, struct report *r, const char *path,
                         const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = say(c, r, SEVERITY_WARNING, path, fmt, ap);
    va_end(ap);
    return p;
}

void dlc_fix(const struct dlc_create *c, struct report *r, struct problem *p, const char *near)
{
    const struct text_node *node = near ? dlc_node(c, p->path) : NULL;
    if (!node || node->kind != TEXT_STR || !node->str)
        return;
    size_t len = strlen(node->str);
    if (node->place.len == len)
        p->fix = arena_strdup(r->arena, near);
    else if (node->place.len == len + 2)
        p->fix = arena_printf(r->arena, "\"%s\"", near);
}

bool dlc_given(const struct text_node *node)
{
    if (!node || node->kind == TEXT_NULL)
        return false;
    if (node->kind == TEXT_BOOL)
        return node->boolean;
    if (node->kind == TEXT_STR)
        return node->str[0] != '\0';
    if (node->kind != TEXT_MAP && node->kind != TEXT_LIST)
        return true;
    for (const struct text_node *child = node->first; child; child = child->next)
        if (dlc_given(child))
            return true;
    return false;
}
