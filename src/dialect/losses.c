/* Losses are found, not foretold: the tree that was written is read again by the dialect it is in,
 * and the two jobs are compared field by field in the native form. Caveats: values that come back
 * otherwise than they went (another default, a list in another order) are told as well. */
#include "dialect/losses.h"

#include "base/buf.h"
#include "text/json.h"

#include <string.h>

enum { VALUE_SHOWN = 60 };

struct losing {
    struct arena *arena;
    const char *title;
    struct report *report;
    size_t told; /* of report: warnings that the writer gave */
};

static bool starts_path(const char *front, const char *path)
{
    size_t n = strlen(front);
    return n && strncmp(front, path, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
}

/* Has the writer spoken of the field, or of what it is a part of? */
static bool spoken(const struct losing *l, const char *path)
{
    for (size_t i = 0; i < l->told; i++)
        if (starts_path(l->report->at[i].path, path))
            return true;
    return false;
}

static const char *shown(const struct losing *l, const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    json_print(node, 0, &text);
    if (text.overflow || text.len > VALUE_SHOWN)
        return arena_printf(l->arena, "%.*s...", VALUE_SHOWN, buf_str(&text));
    return arena_strdup(l->arena, buf_str(&text));
}

static void tell(const struct losing *l, const char *path, const struct text_node *before,
                 const struct text_node *after)
{
    if (spoken(l, path))
        return;
    const struct place none = { 0 };
    if (!after)
        report_warn(l->report, none, path, "%s cannot be said in %s and is left out (%s)", path,
                    l->title, shown(l, before));
    else if (!before)
        report_warn(l->report, none, path, "%s is %s in %s, and is not said here", path,
                    shown(l, after), l->title);
    else
        report_warn(l->report, none, path, "%s is %s, in %s it is %s", path, shown(l, before),
                    l->title, shown(l, after));
}

static void compare(const struct losing *l, const char *path, const struct text_node *before,
                    const struct text_node *after)
{
    for (const struct text_node *one = before->first; one; one = one->next) {
        const char *at = *path ? arena_printf(l->arena, "%s.%s", path, one->key) : one->key;
        const struct text_node *other = text_get(after, one->key);
        if (other && one->kind == TEXT_MAP && other->kind == TEXT_MAP)
            compare(l, at, one, other);
        else if (!other || !text_equal(one, other))
            tell(l, at, one, other);
    }
    for (const struct text_node *one = after->first; one; one = one->next)
        if (!text_get(before, one->key))
            tell(l, *path ? arena_printf(l->arena, "%s.%s", path, one->key) : one->key, NULL, one);
}

bool dialect_everywhere(const struct job_spec *job, const struct pair *env)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *value = pairs_get(&job->roles[i].env, env->name);
        if (!value || strcmp(value, env->value) != 0)
            return false;
    }
    return true;
}

int dialect_losses(struct arena *a, const struct dialect *d, const struct job_spec *job,
                   const struct text_node *written, const struct site *site, struct report *report)
{
    struct losing l = { .arena = a, .title = d->title, .report = report, .told = report->n };
    struct report again;
    report_init(&again, a);
    const struct job_spec *back = d->read(a, written, site, &again);
    if (back) {
        compare(&l, "", job_encode(a, job), job_encode(a, back));
        return 0;
    }
    for (size_t i = 0; i < again.n; i++)
        if (again.at[i].severity == SEVERITY_ERROR)
            report_hint(report,
                        report_error(report, (struct place){ 0 }, again.at[i].path, "in %s: %s",
                                     d->title, again.at[i].what),
                        "%s", again.at[i].hint);
    return -1;
}
