/* Losses are found, not foretold: the tree that was written is read again by the dialect it is in,
 * and the two jobs are compared field by field in the native form.
 *
 * Caveats: what a format adds to every job (its conventions, defaults that cannot be turned off) is
 * no loss, and told as a note; so is that the job leaves the conventions of its own format, because
 * that is what converting means. A value that comes back as another one is a loss. */
#include "dialect/losses.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

enum { VALUE_SHOWN = 60 };

struct loss_report {
    struct arena *arena;
    const char *title;
    struct report *report;
    size_t from, told; /* of report: what the writer told, from the first to before the last */
};

static bool starts_path(const char *front, const char *path)
{
    size_t n = strlen(front);
    return n && strncmp(front, path, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
}

/* Has the writer spoken of the field, or of what it is a part of? */
static bool spoken(const struct loss_report *l, const char *path)
{
    for (size_t i = l->from; i < l->told; i++)
        if (starts_path(l->report->at[i].path, path))
            return true;
    return false;
}

/* Has the writer spoken of a part of the field? */
static bool spoken_within(const struct loss_report *l, const char *path)
{
    for (size_t i = l->from; i < l->told; i++)
        if (starts_path(path, l->report->at[i].path))
            return true;
    return false;
}

static const char *shown(const struct loss_report *l, const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    json_print(node, 0, &text);
    if (text.overflow || text.len > VALUE_SHOWN)
        return arena_printf(l->arena, "%.*s...", VALUE_SHOWN, buf_str(&text));
    return arena_strdup(l->arena, buf_str(&text));
}

/* ---- what is no loss ---- */

/* What tells where a job was written, not what it does. */
static bool is_origin(const char *path)
{
    static const char *const fields[] = { "conventions", "extra", "framework" };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (starts_path(fields[i], path))
            return true;
    return false;
}

/* What formats give to every job or task that does not say it itself. */
static bool is_format_default(const char *path)
{
    static const char *const job[] = { "project", "queue", "priority", "retry", "output" };
    static const char *const role[] = { "image", "resources", "ports" };
    for (size_t i = 0; i < ARRAY_LEN(job); i++)
        if (starts_path(job[i], path))
            return true;
    if (!starts_path("roles", path) || path[5] != '.')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(role); i++) {
        /* A role's name may have dots: the field is looked for behind any. */
        for (const char *dot = strchr(path + 6, '.'); dot; dot = strchr(dot + 1, '.'))
            if (starts_path(role[i], dot + 1))
                return true;
    }
    return false;
}

/* ---- comparing ---- */

static void tell(const struct loss_report *l, const char *path, const struct text_node *before,
                 const struct text_node *after)
{
    const struct place none = { 0 };
    if (spoken(l, path))
        return;
    if (is_origin(path) && !before)
        return;
    if (is_origin(path) && after)
        report_note(l->report, path, "%s is %s, and in %s it is %s", path, shown(l, before),
                    l->title, shown(l, after));
    else if (is_origin(path))
        report_note(l->report, path, "%s belongs to the format that the job came in (%s)", path,
                    shown(l, before));
    else if (!before && is_format_default(path))
        report_note(l->report, path, "%s gives the job %s: %s", l->title, path, shown(l, after));
    else if (!after)
        report_warn(l->report, none, path, "%s cannot be said in %s and is left out (%s)", path,
                    l->title, shown(l, before));
    else if (!before)
        report_warn(l->report, none, path, "%s is %s in %s, and is not said here", path,
                    shown(l, after), l->title);
    else
        report_warn(l->report, none, path, "%s is %s, in %s it is %s", path, shown(l, before),
                    l->title, shown(l, after));
}

static const char *path_in(const struct loss_report *l, const char *path, const char *key)
{
    return *path ? arena_printf(l->arena, "%s.%s", path, key) : key;
}

static void compare(const struct loss_report *l, const char *path, const struct text_node *before,
                    const struct text_node *after)
{
    const struct text_node *nothing = text_map(l->arena, NULL, NULL);
    for (const struct text_node *one = before->first; one; one = one->next) {
        const char *at = path_in(l, path, one->key);
        const struct text_node *other = text_get(after, one->key);
        bool within = spoken_within(l, at);
        if (!other && one->kind == TEXT_MAP && within)
            other = nothing;
        if (other && one->kind == TEXT_MAP && other->kind == TEXT_MAP)
            compare(l, at, one, other);
        else if (!(within && one->kind == TEXT_LIST) && (!other || !text_equal(one, other)))
            tell(l, at, one, other);
    }
    for (const struct text_node *one = after->first; one; one = one->next)
        if (!text_get(before, one->key))
            tell(l, path_in(l, path, one->key), NULL, one);
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

/* ---- variables ---- */

/* What any task finds. */
static void add_variables(const struct dialects *all, struct arena *a,
                          const struct dialect_task *first, struct pairs *out)
{
    struct dialect_task task = *first;
    for (uint32_t flat = 0, role = UINT32_MAX; flat < task.place->n; flat++) {
        if (task.place->tasks[flat].role == role)
            continue; /* they have the same names */
        role = task.place->tasks[flat].role;
        task.flat = flat;
        dialect_env(all, a, &task, out);
    }
}

/* The job's own variables are fields, compared as such. */
static bool is_own(const struct job_spec *job, const char *name)
{
    for (size_t i = 0; i < job->n_roles; i++)
        if (pairs_get(&job->roles[i].env, name))
            return true;
    return false;
}

static bool is_name(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/* The next $NAME or ${NAME in text, in arena; NULL: none. */
static const char *next_variable(struct arena *a, const char **text)
{
    for (const char *at = *text; (at = strchr(at, '$')); at++) {
        const char *name = at + 1 + (at[1] == '{');
        size_t n = 0;
        while (is_name(name[n], n == 0))
            n++;
        *text = name + n;
        if (n)
            return arena_strndup(a, name, n);
    }
    return NULL;
}

void dialect_variables_lost(const struct dialects *all, struct arena *a,
                            const struct dialect_task *was, const struct dialect_task *is,
                            struct report *report)
{
    struct pairs before = { .n = 0 }, after = { .n = 0 };
    add_variables(all, a, was, &before);
    add_variables(all, a, is, &after);
    for (size_t i = 0; i < is->job->n_roles; i++) {
        const struct role *role = &is->job->roles[i];
        const char *path = arena_printf(a, "roles.%s", role->name), *name;
        struct pairs told = { .n = 0 };
        const char *texts[] = { role->run, role->python };
        for (size_t k = 0; k < ARRAY_LEN(texts) + role->argv.n; k++) {
            const char *text =
                k < ARRAY_LEN(texts) ? texts[k] : role->argv.at[k - ARRAY_LEN(texts)];
            while (text && (name = next_variable(a, &text))) {
                if (!pairs_get(&before, name) || pairs_get(&after, name) ||
                    is_own(was->job, name) || pairs_get(&told, name))
                    continue;
                pairs_set(&told, a, name, "");
                report_warn(report, (struct place){ 0 }, path,
                            "%s uses $%s, which its tasks find no more", path, name);
            }
        }
    }
}

/* ---- the whole ---- */

static const struct job_spec *shaped(struct arena *a, const struct dialect *d,
                                     const struct job_spec *job, struct report *report)
{
    return d->shape ? d->shape(a, job, report) : job;
}

struct text_node *dialect_write(struct arena *a, const struct dialect *d,
                                const struct job_spec *job, struct report *report)
{
    return d->write(a, shaped(a, d, job, report), report);
}

struct text_node *dialect_convert(struct arena *a, const struct dialect *d,
                                  const struct job_spec *job, const struct site *site,
                                  struct report *report)
{
    struct loss_report l = { .arena = a, .title = d->title, .report = report };
    struct report again;
    job = shaped(a, d, job, report);
    l.from = report->n;
    struct text_node *tree = d->write(a, job, report);
    report_init(&again, a);
    const struct job_spec *back = d->read(a, tree, site, &again);
    l.told = report->n;
    if (back) {
        compare(&l, "", job_encode(a, job), job_encode(a, back));
        return tree;
    }
    for (size_t i = 0; i < again.n; i++)
        if (again.at[i].severity == SEVERITY_ERROR)
            report_hint(report,
                        report_error(report, (struct place){ 0 }, again.at[i].path, "in %s: %s",
                                     d->title, again.at[i].what),
                        "%s", again.at[i].hint);
    return NULL;
}
