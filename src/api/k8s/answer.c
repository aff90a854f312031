/* Answers: objects, Tables of one row, and every error as a Status with the reason that clients
 * look for. Warnings go out as headers. Each of them ends the request. */
#include "api/k8s/answer.h"

#include "api/k8s/object.h"
#include "base/clock.h"
#include "text/json.h"
#include "text/remedies.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX    ((size_t)512 << 20)
#define WARNING_MAX 400
#define WARNINGS    20 /* headers of one answer */

void kube_free(struct kube *k)
{
    arena_destroy(k->scratch);
    free(k);
}

void kube_text(struct kube *k, unsigned status, const char *type, const struct buf *text)
{
    struct call *call = k->call;
    kube_free(k);
    call_text(call, status, type, text->data ? text->data : "", text->len);
}

void kube_answer(struct kube *k, unsigned status, const struct text_node *tree)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    json_print(tree, 0, &text);
    buf_putc(&text, '\n');
    kube_text(k, status, "application/json", &text);
}

/* ---- Status ---- */

/* Kubernetes' words for what is wrong with a field. */
static const char *kind_text(enum problem_kind kind)
{
    switch (kind) {
    case PROBLEM_MISSING: return "Required value";
    case PROBLEM_FORBIDDEN: return "Forbidden";
    default: return "Invalid value";
    }
}

/* "Invalid value: -1, the least is 0": clients put the field in front. */
static const char *cause_text(struct arena *a, const struct problem *p)
{
    return arena_printf(a, "%s: %s", kind_text(p->kind), p->rest ? p->rest : p->what);
}

static void put_cause(struct arena *a, struct text_node *list, const struct problem *p)
{
    struct text_node *one = text_map(a, list, NULL);
    const char *hint = remedies_line(a, p->hint, p->remedies);
    text_str(a, one, "reason", "FieldValueInvalid");
    text_str(
        a, one, "message",
        arena_printf(a, "%s%s%s%s", cause_text(a, p), *hint ? " (" : "", hint, *hint ? ")" : ""));
    text_str(a, one, "field", p->path ? p->path : "");
}

struct text_node *kube_status_tree(struct arena *a, const struct kube_status *s)
{
    struct text_node *tree = text_map(a, NULL, NULL);
    text_str(a, tree, "kind", "Status");
    text_str(a, tree, "apiVersion", "v1");
    text_map(a, tree, "metadata");
    text_str(a, tree, "status", s->code < 300 ? "Success" : "Failure");
    if (s->message)
        text_str(a, tree, "message", s->message);
    if (s->reason)
        text_str(a, tree, "reason", s->reason);
    text_int(a, tree, "code", s->code);
    return tree;
}

static void put_details(struct kube *k, struct text_node *tree, const char *name,
                        const struct report *causes)
{
    struct text_node *details = text_map(k->arena, tree, "details");
    if (name)
        text_str(k->arena, details, "name", name);
    if (k->of) {
        text_str(k->arena, details, "group", k->of->group);
        text_str(k->arena, details, "kind", causes ? k->of->kind : k->of->plural);
    }
    if (!causes)
        return;
    struct text_node *list = text_list(k->arena, details, "causes");
    for (size_t i = 0; i < causes->n; i++)
        if (causes->at[i].severity == SEVERITY_ERROR)
            put_cause(k->arena, list, &causes->at[i]);
}

static void fail(struct kube *k, const struct kube_status *s, const char *name)
{
    struct text_node *tree = kube_status_tree(k->arena, s);
    put_details(k, tree, name, s->causes);
    kube_answer(k, s->code, tree);
}

void kube_fail(struct kube *k, const struct kube_status *s)
{
    fail(k, s, k->name);
}

void kube_bad(struct kube *k, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kube_fail(k, &(struct kube_status){ 400, "BadRequest", text, NULL });
}

static const char *full_plural(struct kube *k)
{
    const char *dot = *k->of->group ? "." : "";
    return arena_printf(k->arena, "%s%s%s", k->of->plural, dot, k->of->group);
}

static const char *named(struct kube *k, const char *name, const char *what)
{
    return arena_printf(k->arena, "%s \"%.300s\"%s", full_plural(k), name ? name : "", what);
}

void kube_not_found(struct kube *k)
{
    kube_fail(k, &(struct kube_status){ 404, "NotFound", named(k, k->name, " not found"), NULL });
}

void kube_exists(struct kube *k, const char *name)
{
    const char *text = named(k, name, " already exists");
    fail(k, &(struct kube_status){ 409, "AlreadyExists", text, NULL }, name);
}

void kube_conflict(struct kube *k)
{
    const char *text = arena_printf(
        k->arena, "Operation cannot be fulfilled on %s",
        named(k, k->name,
              ": the object has been modified; please apply your changes to the latest version and "
              "try again"));
    kube_fail(k, &(struct kube_status){ 409, "Conflict", text, NULL });
}

void kube_refused(struct kube *k, const char *name, const struct report *report)
{
    AUTO_BUF struct buf text = BUF_INIT(64u << 10);
    const char *dot = *k->of->group ? "." : "";
    buf_addf(&text, "%s%s%s \"%.300s\" is invalid: ", k->of->kind, dot, k->of->group, name);
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++)
        if (report->at[i].severity == SEVERITY_ERROR)
            buf_addf(&text, "%s%s", n++ ? ", " : "", report->at[i].what);
    fail(k, &(struct kube_status){ 422, "Invalid", buf_str(&text), report }, name);
}

void kube_invalid(struct kube *k, const char *name, const struct kube_fault *fault)
{
    struct report report;
    report_init(&report, k->arena);
    struct problem *p = report_error(&report, (struct place){ 0 }, fault->field, "%s: %s: %s",
                                     fault->field, kind_text(fault->kind), fault->text);
    p->kind = fault->kind;
    report_rest(&report, p, fault->text);
    kube_refused(k, name, &report);
}

void kube_problem(struct kube *k, const struct err *err, const struct report *report)
{
    static const char *const reasons[ERR_N] = {
        [ERR_INPUT] = "BadRequest",
        [ERR_UNAUTHENTICATED] = "Unauthorized",
        [ERR_DENIED] = "Forbidden",
        [ERR_NOT_FOUND] = "NotFound",
        [ERR_METHOD] = "MethodNotAllowed",
        [ERR_CONFLICT] = "Conflict",
        [ERR_TOO_LARGE] = "RequestEntityTooLarge",
        [ERR_CANNOT] = "Invalid",
        [ERR_BUSY] = "TooManyRequests",
        [ERR_UNAVAILABLE] = "ServiceUnavailable",
        [ERR_TIMEOUT] = "Timeout",
        [ERR_FULL] = "InternalError",
        [ERR_SYSTEM] = "InternalError",
    };
    const char *hint = remedies_line(k->arena, err->hint, &err->remedies);
    const char *text =
        arena_printf(k->arena, "%s%s%s%s", err->what, *hint ? " (" : "", hint, *hint ? ")" : "");
    if (report && !report_ok(report) && k->of)
        kube_refused(k, k->name ? k->name : kube_in(k->body, "metadata", "name"), report);
    else
        kube_fail(k, &(struct kube_status){ (unsigned)err_http_status(err->code),
                                            reasons[err->code], text, NULL });
}

void kube_success(struct kube *k, const struct text_node *object)
{
    struct text_node *tree = kube_status_tree(k->arena, &(struct kube_status){ .code = 200 });
    put_details(k, tree, kube_in(object, "metadata", "name"), NULL);
    struct text_node *details = text_get(tree, "details");
    text_str(k->arena, details, "uid", kube_in(object, "metadata", "uid"));
    kube_answer(k, 200, tree);
}

/* ---- warnings ---- */

/* A quoted text of HTTP: one line, without what would end it. */
void kube_warn(struct kube *k, const char *text)
{
    char value[WARNING_MAX + 16];
    size_t n = (size_t)snprintf(value, sizeof value, "299 - \"");
    for (const char *c = text; *c && n < WARNING_MAX; c++) {
        if (*c == '"' || *c == '\\')
            value[n++] = '\\';
        value[n++] = (char)((unsigned char)*c < ' ' ? ' ' : *c);
    }
    value[n++] = '"';
    value[n] = '\0';
    if (k->call->request)
        http_add_header(k->call->request, "Warning", value);
}

void kube_warnings(struct kube *k, const struct report *report)
{
    size_t said = 0;
    for (size_t i = 0; report && i < report->n && said < WARNINGS; i++) {
        const struct problem *p = &report->at[i];
        if (p->severity != SEVERITY_WARNING)
            continue;
        const char *hint = remedies_line(k->arena, p->hint, p->remedies);
        kube_warn(k, arena_printf(k->arena, "%s%s%s", p->what, *hint ? ": " : "", hint));
        said++;
    }
}

/* ---- one object ---- */

void kube_show(struct kube *k, unsigned status, const struct text_node *object)
{
    if (!k->table) {
        kube_answer(k, status, object);
        return;
    }
    uint64_t now = clock_wall_ms();
    struct text_node *table =
        kube_table(k->arena, k->of->columns, true, kube_in(object, "metadata", "resourceVersion"));
    struct text_node *rows = text_list(k->arena, table, "rows");
    text_share(k->arena, rows, NULL, kube_row(k->arena, object, k->of->cells, now, k->include));
    kube_answer(k, status, table);
}
