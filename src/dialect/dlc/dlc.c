/* The dialect and its convention as main registers them, how its texts are recognised, and the ways
 * a problem of a CreateJob body is said. Pure. */
#include "dialect/dlc/dlc.h"

#include "dialect/dlc/create.h"
#include "job/tree_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int dlc_detect(const struct text_node *root)
{
    if (!root || root->kind != TEXT_MAP || text_get(root, "apiVersion"))
        return 0;
    bool specs = text_get(root, "JobSpecs"), type = text_get(root, "JobType");
    bool command = text_get(root, "UserCommand"), name = text_get(root, "DisplayName");
    int found = specs + type + command + name;
    if (specs || found >= 2)
        return found >= 2 ? 100 : 80;
    return dlc_is_params(root) ? 90 : 0;
}

#define CREDENTIALS                                                                                \
    "JobSpecs.*.ImageConfig.Password", "JobSpecs.*.ImageConfig.Auth", "image_repo_password"
static const char *const secrets[] = { "Envs.*", "CustomEnvs.*.Value", "envs", CREDENTIALS, NULL };
static const char *const credentials[] = { CREDENTIALS, NULL };

const struct dialect dlc_dialect = {
    .name = "dlc",
    .title = "PAI-DLC",
    .images = true,
    .looks_for = "JobType and JobSpecs, or key=value lines with command",
    .detect = dlc_detect,
    .read = dlc_read,
    .shape = dlc_shape,
    .write = dlc_write,
    .catalogued = true,
    .secrets = secrets,
    .credentials = credentials,
};

const struct convention dlc_convention = {
    .name = DLC_EXTRA,
    .over_time_stops = true,
    .one_world = true,
    .env = dlc_environment,
    .classify = dlc_classify,
    .job_word = dlc_job_word,
    .held_word = dlc_held_word,
    .task_word = dlc_task_word,
    .host = dlc_host,
    .files = dlc_files,
};

/* ---- saying what is wrong ---- */

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
