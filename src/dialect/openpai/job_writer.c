/* What the writers of both versions share: warnings about canonical fields that OpenPAI has no
 * words for, names in its characters, and the job's commands as shell text. */
#include "dialect/openpai/job_writer.h"

#include "base/buf.h"
#include "dialect/roles.h"

#include <stdarg.h>
#include <string.h>

/* ---- warnings ---- */

void writer_nearly(struct job_writer *w, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    AUTO_BUF struct buf text = BUF_INIT(1024);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    report_warn(w->report, (struct place){ 0 }, path, "%s %s", path, buf_str(&text));
}

void writer_alike(struct job_writer *w, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    AUTO_BUF struct buf text = BUF_INIT(1024);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    report_note(w->report, path, "%s %s", path, buf_str(&text));
}

static bool among(const char *const *words, const char *key)
{
    for (; *words; words++)
        if (strcmp(*words, key) == 0)
            return true;
    return false;
}

static void unsaid(struct job_writer *w, const struct text_node *map, const char *path,
                   const char *const *words)
{
    if (!words || !map || map->kind != TEXT_MAP) /* the brief form of a part */
        return;
    for (const struct text_node *node = map->first; node; node = node->next)
        if (!among(words, node->key))
            writer_nearly(w, *path ? arena_printf(w->arena, "%s.%s", path, node->key) : node->key,
                          "cannot be said in %s and is left out", w->format);
}

void writer_unsaid(struct job_writer *w, const struct writer_words *words)
{
    const struct text_node *tree = job_encode(w->arena, w->job);
    const struct text_node *inputs = text_get(tree, "inputs"), *roles = text_get(tree, "roles");
    unsaid(w, tree, "", words->job);
    unsaid(w, inputs, "inputs", words->inputs);
    unsaid(w, inputs ? text_get(inputs, "code") : NULL, "inputs.code", words->code);
    unsaid(w, text_get(tree, "health"), "health", words->health);
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        const char *path = arena_printf(w->arena, "roles.%s", role->key);
        unsaid(w, role, path, words->role);
        unsaid(w, text_get(role, "resources"), arena_printf(w->arena, "%s.resources", path),
               words->resource);
    }
}

const char *writer_name(struct job_writer *w, const char *name, const char *more, const char *path)
{
    char *out = arena_strdup(w->arena, name);
    bool same = true;
    for (char *c = out; *c; c++) {
        bool alnum =
            (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');
        if (alnum || strchr(more, *c))
            continue;
        *c = '_';
        same = false;
    }
    if (!same)
        writer_alike(w, path, "\"%s\" has characters that %s refuses, written as %s", name,
                     w->format, out);
    return out;
}

static bool role_taken(const struct role *roles, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(roles[i].name, name) == 0)
            return true;
    return false;
}

struct job_spec *writer_shape(struct job_writer *w, const char *more, bool digits)
{
    const struct job_spec *job = w->job;
    struct role *roles = ARENA_ARRAY(w->arena, job->n_roles + 1, struct role);
    struct role_name *names = ARENA_ARRAY(w->arena, job->n_roles + 1, struct role_name);
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *own = job->roles[i].name, *path = arena_printf(w->arena, "roles.%s", own);
        const char *name = writer_name(w, own, more, path), *first = name;
        if (!digits && *name >= '0' && *name <= '9')
            name = arena_printf(w->arena, "_%s", name);
        while (role_taken(roles, i, name))
            name = arena_printf(w->arena, "%s_", name);
        if (name != first)
            writer_alike(w, path, "is written as %s", name);
        roles[i] = job->roles[i];
        roles[i].name = name;
        names[i] = (struct role_name){ own, name };
    }
    return dialect_with_roles(w->arena, job, roles, job->n_roles,
                              &(struct role_names){ .at = names, .n = job->n_roles });
}

uint64_t writer_units(struct job_writer *w, uint64_t value, uint64_t unit, uint64_t least,
                      const char *path)
{
    uint64_t n = value / unit + (value % unit ? 1 : 0);
    n = n < least ? least : n;
    if (n * unit != value)
        writer_nearly(w, path, "is written as %llu, %s knows whole numbers from %llu",
                      (unsigned long long)n, w->format, (unsigned long long)least);
    return n;
}

/* ---- shell text ---- */

/* For bash. */
static void writer_quote(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

void writer_export(struct buf *out, const struct pair *env)
{
    buf_addf(out, "export %s=", env->name);
    writer_quote(out, env->value);
}

void writer_program(struct buf *out, const struct role *role)
{
    if (role->run)
        buf_puts(out, role->run);
    struct arena *scratch = arena_create();
    const struct words argv = role->python ? job_entry(scratch, role) : role->argv;
    for (size_t i = 0; i < argv.n; i++) {
        buf_puts(out, i ? " " : "");
        writer_quote(out, argv.at[i]);
    }
    arena_destroy(scratch);
}

void writer_command(struct job_writer *w, const struct role *role, const char *path, bool variables)
{
    const char *run = arena_printf(w->arena, "%s.run", path);
    if (!role->run)
        writer_alike(w, arena_printf(w->arena, "%s.%s", path, role->python ? "python" : "argv"),
                     "is written as shell text");
    if (variables)
        writer_alike(w, run, "has its variables in front");
    else if (!role->run)
        writer_alike(w, run, "is that text");
}

/* ---- retry ---- */

static bool same_count(struct count a, struct count b)
{
    uint32_t na = a.kind == COUNT_NUMBER ? a.n : 0, nb = b.kind == COUNT_NUMBER ? b.n : 0;
    bool never_a = a.kind != COUNT_ALWAYS && na == 0, never_b = b.kind != COUNT_ALWAYS && nb == 0;
    return never_a == never_b && (never_a || (a.kind == b.kind && na == nb));
}

bool writer_same_retry(const struct retry *a, const struct retry *b)
{
    return same_count(a->platform, b->platform) && same_count(a->conflict, b->conflict) &&
           same_count(a->unknown, b->unknown) && same_count(a->user, b->user) &&
           same_count(a->success, b->success) && a->scope == b->scope &&
           a->platform_counted == b->platform_counted;
}
