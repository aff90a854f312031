/* The request's body, and its answer in OpenPAI's shapes: messages, errors with its codes, lists of
 * problems. */
#include "api/openpai/request.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/remedies.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    unsigned status;
    const char *code;
} errors[] = {
#define ERROR_ROW(value, status, code) [PAI_##value] = { status, code },
    PAI_ERRORS(ERROR_ROW)
#undef ERROR_ROW
};

void pai_answer(struct pai *p, unsigned status, const struct text_node *tree)
{
    call_answer(p->call, status, tree);
}

void pai_message(struct pai *p, unsigned status, const char *message)
{
    struct text_node *tree = text_map(p->a, NULL, NULL);
    if (p->version == PAI_V2 && p->frame)
        text_int(p->a, tree, "status", status);
    text_str(p->a, tree, "message", message);
    pai_answer(p, status, tree);
}

static void fail(struct pai *p, enum pai_error error, const char *message)
{
    struct text_node *tree = text_map(p->a, NULL, NULL);
    text_str(p->a, tree, "code", errors[error].code);
    text_str(p->a, tree, "message", message);
    if (errors[error].status == 401 && p->call->request)
        http_add_header(p->call->request, "WWW-Authenticate", "Bearer");
    pai_answer(p, errors[error].status, tree);
}

void pai_fail(struct pai *p, enum pai_error error, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(16384);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    fail(p, error, buf_str(&text));
}

void pai_no_api(struct pai *p)
{
    pai_fail(p, PAI_NO_API, "API %.2000s is not found.", p->url);
}

/* What clients know of the core's errors where nothing more is known. */
static enum pai_error error_of(const struct pai *p, enum err_code code)
{
    switch (code) {
    case ERR_INPUT:
    case ERR_CANNOT: return p->version == PAI_V2 && p->frame ? PAI_PROTOCOL : PAI_PARAMETERS;
    case ERR_CONFLICT: return PAI_PARAMETERS;
    case ERR_UNAUTHENTICATED: return PAI_UNAUTHORIZED;
    case ERR_DENIED: return PAI_FORBIDDEN;
    case ERR_NOT_FOUND: return PAI_NO_JOB;
    case ERR_TOO_LARGE: return PAI_TOO_LARGE;
    case ERR_BUSY: return PAI_BUSY;
    case ERR_UNAVAILABLE: return PAI_UNAVAILABLE;
    case ERR_FULL: return PAI_FULL;
    default: return PAI_UNKNOWN;
    }
}

/* Every error that was found, one a line, each with its place and what to write. */
const char *pai_problems(struct arena *a, const struct err *err, const struct report *report)
{
    const char *text = NULL;
    for (size_t i = 0; report && i < report->n; i++) {
        const struct problem *one = &report->at[i];
        if (one->severity != SEVERITY_ERROR)
            continue;
        const char *hint = remedies_line(a, one->hint, one->remedies);
        const char *said = *hint ? arena_printf(a, "%s (%s)", one->what, hint) : one->what;
        text = text ? arena_printf(a, "%s\n%s", text, said) : said;
    }
    if (text)
        return text;
    const char *hint = remedies_line(a, err->hint, &err->remedies);
    return *hint ? arena_printf(a, "%s (%s)", err->what, hint) : err->what;
}

void pai_err(struct pai *p, const struct err *err, const struct report *report)
{
    fail(p, error_of(p, err->code), pai_problems(p->a, err, report));
}

/* ---- reading ---- */

struct text_node *pai_body(struct pai *p)
{
    struct text_node *tree = NULL;
    struct err err;
    if (facade_body(p->call, FACADE_JSON | FACADE_FORM, &tree, &err) < 0)
        pai_fail(p, PAI_PARAMETERS, "%s", err.what);
    else if (!tree)
        return text_map(p->a, NULL, NULL);
    else if (tree->kind != TEXT_MAP)
        pai_fail(p, PAI_PARAMETERS, "\"value\" must be an object");
    else
        return tree;
    return NULL;
}
