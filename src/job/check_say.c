/* Saying what is wrong with a job as a whole: with the path of the field, and its place in the
 * source when that is known. */
#include "job/checker.h"

#include "job/tree_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct place walk_place(const struct checker *c, const char *path, bool *found)
{
    const char *rest = path;
    struct text_node *root = (struct text_node *)(uintptr_t)c->root; /* only looked at */
    struct text_node *node = root ? tree_path_walk(root, path, &rest) : NULL;
    *found = node && node != root;
    return node ? node->place : (struct place){ 0 };
}

struct place check_place(const struct checker *c, const char *path)
{
    bool found = false;
    struct place place = walk_place(c, path, &found);
    if (found || strncmp(path, "roles.", 6) != 0)
        return place;
    for (size_t i = 0; i < c->job->n_roles; i++) {
        const struct role *role = &c->job->roles[i];
        size_t len = strlen(role->name);
        if (strncmp(path + 6, role->name, len) != 0 || (path[6 + len] && path[6 + len] != '.'))
            continue;
        if (c->root && path[6 + len]) /* the role's fields stand at the top level */
            place = walk_place(c, path + 6 + len + 1, &found);
        return found ? place : role->place;
    }
    return place;
}

__attribute__((format(printf, 4, 0))) static struct problem *say(const struct checker *c,
                                                                 enum severity severity,
                                                                 const char *path, const char *fmt,
                                                                 va_list ap)
{
    char text[512], what[512 + FIELD_PATH_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    snprintf(what, sizeof what, "%s%s%s", path, *path ? " " : "", text);
    return report_add(c->report, severity, check_place(c, path), path, what, "");
}

void check_fail(const struct checker *c, const char *path, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = say(c, SEVERITY_ERROR, path, fmt, ap);
    va_end(ap);
    report_hint(c->report, p, "%s", hint);
}

void check_warn(const struct checker *c, const char *path, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = say(c, SEVERITY_WARNING, path, fmt, ap);
    va_end(ap);
    report_hint(c->report, p, "%s", hint);
}

struct check_path check_path(const char *fmt, ...)
{
    struct check_path path;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path.text, sizeof path.text, fmt, ap);
    va_end(ap);
    return path;
}

struct check_path check_role_path(const struct role *role, const char *field)
{
    return check_path("roles.%.100s%s%s", role->name, *field ? "." : "", field);
}

void check_role_names(const struct checker *c, const struct words *words, const char *path)
{
    for (size_t i = 0; i < words->n; i++) {
        if (!job_role(c->job, words->at[i], NULL))
            check_fail(c, check_path("%s[%zu]", path, i).text, "the name of a role of this job",
                       "is \"%s\", and the job has no such role", words->at[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(words->at[i], words->at[k]) == 0)
                check_fail(c, check_path("%s[%zu]", path, i).text, "each role once",
                           "names \"%s\" a second time", words->at[i]);
    }
}
