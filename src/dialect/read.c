/* From a text to a checked canonical job: parse, choose the dialect, let it read, apply what the
 * command line says on top. Pure; all problems go to the report. */
#include "dialect/dialect.h"

#include "base/scan.h"
#include "job/check.h"
#include "text/detect.h"

#include <stdio.h>

enum { NAMES_MAX = 32 };

/* ---- choosing ---- */

static int unknown_from(const struct dialects *all, const char *from, struct report *report)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    char known[200] = "";
    for (size_t i = 0; i < all->n && n < NAMES_MAX; i++)
        names[n++] = all->at[i]->name;
    struct problem *p =
        report_error(report, (struct place){ 0 }, "", "--from %.60s: no such dialect", from);
    const char *near = scan_nearest(from, names, n);
    size_t len = 0;
    for (size_t i = 0; i < n && len < sizeof known - 1; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i ? ", " : "", names[i]);
    report_hint(report, p, "%s", near ? near : known);
    return -1;
}

static int unknown_text(const struct dialects *all, const struct text_node *root,
                        struct report *report)
{
    char tried[400] = "";
    size_t len = 0;
    for (size_t i = 0; i < all->n && len < sizeof tried - 1; i++) {
        const struct dialect *d = all->at[i];
        len +=
            (size_t)snprintf(tried + len, sizeof tried - len, "%s%s%s%s", i ? "; " : "", d->title,
                             d->looks_for ? " has " : "", d->looks_for ? d->looks_for : "");
    }
    struct problem *p = report_error(report, root->place, "", "no dialect knows this text");
    report_hint(report, p, "%s; or name one with --from", tried);
    return -1;
}

static void no_job(const struct text_node *root, struct report *report)
{
    const struct text_node *at = root->kind == TEXT_LIST ? root->first : root;
    struct problem *p = report_error(report, at->place, "", "declares names, not a job");
    report_hint(report, p, "the verb apply declares them");
    report_remedy(report, p, REMEDY_APPLY_FILE, "");
}

static void one_document(const struct text_node *root, struct report *report)
{
    struct problem *p =
        report_error(report, root->first->next->place, "", "a second document begins here");
    report_hint(report, p, "one job in one text");
}

static const struct dialect *choose(const struct dialects *all, const struct dialect_request *req,
                                    const struct text_node *root, size_t documents,
                                    struct report *report)
{
    const struct dialect *dialect =
        req->from ? dialect_named(all, req->from, root) : dialect_detect(all, root);
    if (!dialect && !req->from && entries_detect(root)) {
        no_job(root, report);
        return NULL;
    }
    if (documents > 1 && (dialect ? !dialect->documents : !req->from)) {
        one_document(root, report);
        return NULL;
    }
    if (dialect)
        return dialect;
    if (req->from)
        unknown_from(all, req->from, report);
    else
        unknown_text(all, root, report);
    return NULL;
}

/* ---- overrides ---- */

static bool has_overrides(const struct dialect_request *req)
{
    return req->name || req->queue || req->env.n > 0 || req->sets.n > 0;
}

static struct text_node *member(struct arena *arena, struct text_node *map, const char *key)
{
    struct text_node *found = text_get(map, key);
    return found ? found : text_map(arena, map, key);
}

static void put_text(struct arena *arena, struct text_node *map, const char *key, const char *value)
{
    struct text_node *at = member(arena, map, key), *next = at->next;
    const char *own_key = at->key;
    *at = *text_str(arena, NULL, NULL, value);
    at->key = own_key;
    at->next = next;
}

static void apply_env(struct arena *arena, struct text_node *tree, const struct pairs *env)
{
    struct text_node *roles = text_get(tree, "roles");
    for (struct text_node *role = roles ? roles->first : NULL; role; role = role->next)
        for (size_t i = 0; i < env->n; i++)
            put_text(arena, member(arena, role, "env"), env->at[i].name, env->at[i].value);
}

static bool is_in(const struct report *report, const struct problem *one)
{
    for (size_t i = 0; i < report->n; i++)
        if (strcmp(report->at[i].path, one->path) == 0 &&
            strcmp(report->at[i].what, one->what) == 0)
            return true;
    return false;
}

/* Problems of the overridden tree have no place in the text: they say what they are about by their
 * path. What there was to warn of before is said already. */
static void report_overrides(struct report *into, const struct report *from,
                             const struct job_spec *before)
{
    struct report known;
    report_init(&known, into->arena);
    job_check(before, &known);
    for (size_t i = 0; i < from->n; i++) {
        const struct problem *one = &from->at[i];
        if (one->severity == SEVERITY_ERROR || !is_in(&known, one))
            report_add(into, one->severity, (struct place){ 0 }, one->path, one->what, one->hint);
    }
}

/* What no field says. Places of roles: later problems point into the text again. */
static void keep_unsaid(struct job_spec *job, const struct job_spec *before)
{
    job->inputs.logins = before->inputs.logins;
    job->inputs.n_logins = before->inputs.n_logins;
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *old = job_role(before, job->roles[i].name, NULL);
        if (old)
            job->roles[i].place = old->place;
    }
}

static struct job_spec * override(struct arena *arena, const struct dialect_request *req,
                                  const struct job_spec *job, struct report *report)
{
    struct text_node *tree = job_encode(arena, job);
    struct report problems;
    struct err err = { 0 };
    report_init(&problems, arena);
    if (req->name)
        put_text(arena, tree, "name", req->name);
    if (req->queue)
        put_text(arena, tree, "queue", req->queue);
    for (size_t i = 0; i < req->sets.n; i++)
        if (job_tree_set(arena, tree, req->sets.at[i], &err) != 0)
            report_add(report, SEVERITY_ERROR, (struct place){ 0 }, "", err.what, err.hint);
    apply_env(arena, tree, &req->env);
    if (!report_ok(report))
        return NULL;
    struct job_spec *changed = job_decode(arena, tree, &problems);
    report_overrides(report, &problems, job);
    if (changed)
        keep_unsaid(changed, job);
    return changed;
}

/* ---- the interpreter ---- */

static bool names_image(const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_roles; i++)
        if (job->roles[i].image)
            return true;
    return false;
}

static void use_interpreter(const struct dialect_request *req, const struct dialect *dialect,
                            struct job_spec *job)
{
    bool own = dialect->images || job->inputs.interpreter || names_image(job);
    if (req->python && (req->python_chosen || !own))
        job->inputs.interpreter = req->python;
}

/* ---- the whole ---- */

static void check_conventions(const struct dialects *all, const struct job_spec *job,
                              struct report *report)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < all->n_conventions && n < NAMES_MAX; i++)
        names[n++] = all->conventions[i]->name;
    for (size_t i = 0; i < job->conventions.n; i++) {
        if (convention_find(all, job->conventions.at[i]))
            continue;
        const char *near = scan_nearest(job->conventions.at[i], names, n);
        struct problem *p =
            report_error(report, (struct place){ 0 }, "conventions",
                         "conventions[%zu] is \"%.60s\", and no such convention is known", i,
                         job->conventions.at[i]);
        report_hint(report, p, "%s",
                    near ? near : "one that a conversion to the native form writes");
    }
}

/* Dialects check what they read; a job that slipped through is caught here. Their warnings are not
 * said twice. */
static void check_again(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct report problems;
    report_init(&problems, arena);
    job_check(job, &problems);
    for (size_t i = 0; i < problems.n; i++)
        if (problems.at[i].severity == SEVERITY_ERROR)
            report_add(report, SEVERITY_ERROR, problems.at[i].place, problems.at[i].path,
                       problems.at[i].what, problems.at[i].hint);
}

/* Any text is a script for whoever says so. */
static struct text_node *parse(const struct dialects *all, struct arena *arena,
                               const struct dialect_request *req, size_t *documents,
                               struct report *report)
{
    const struct dialect *named = req->from ? dialect_find(all, req->from) : NULL;
    if (!named || !named->script)
        return text_parse_documents(arena, req->text, req->len, documents, report);
    *documents = 1;
    return script_parse(arena, req->text, req->len, report);
}

int dialect_read(const struct dialects *all, struct arena *arena, const struct dialect_request *req,
                 struct dialect_result *result, struct report *report)
{
    *result = (struct dialect_result){ 0 };
    size_t documents;
    result->root = parse(all, arena, req, &documents, report);
    if (!result->root)
        return -1;
    result->dialect = choose(all, req, result->root, documents, report);
    if (!result->dialect)
        return -1;
    struct job_spec *job = result->dialect->read(arena, result->root, req->site, report);
    if (!job || !report_ok(report))
        return -1;
    report->of_job = true;
    check_again(arena, job, report);
    if (report_ok(report) && has_overrides(req))
        job = override(arena, req, job, report);
    if (job && report_ok(report))
        check_conventions(all, job, report);
    if (!job || !report_ok(report))
        return -1;
    use_interpreter(req, result->dialect, job);
    result->job = job;
    return 0;
}
