/* A call's life and its answers: trees printed as JSON, errors as RFC 9457 problem documents with
 * all field errors. */
#include "api/call.h"

#include "base/mem.h"
#include "base/pieces.h"
#include "base/scan.h"
#include "text/json.h"
#include "text/remedies.h"

#include <string.h>

#define ANSWER_MAX ((size_t)512 << 20)

void call_free(struct call *call)
{
    arena_destroy(call->arena);
    free(call);
}

static void on_gone(void *arg)
{
    struct call *call = arg;
    call->request = NULL;
}

void call_keep(struct call *call)
{
    if (call->request)
        http_set_arg(call->request, call, on_gone);
}

void call_text(struct call *call, unsigned status, const char *type, const char *text, size_t len)
{
    limit_answer(call, len);
    if (call->request) {
        http_set_arg(call->request, NULL, NULL);
        http_answer(call->request, status, type, text, len);
    }
    call_free(call);
}

void call_buf(struct call *call, unsigned status, const char *type, struct buf *text)
{
    size_t len = text->len;
    AUTO_FREE char *data = buf_take(text);
    limit_answer(call, len);
    if (call->request) {
        http_set_arg(call->request, NULL, NULL);
        http_answer_own(call->request, status, type, TAKE(data), len);
    }
    call_free(call);
}

void call_pieces(struct call *call, unsigned status, const char *type, struct pieces *pieces)
{
    limit_answer(call, pieces_len(pieces));
    if (call->request) {
        http_set_arg(call->request, NULL, NULL);
        http_answer_pieces(call->request, status, type, pieces);
    } else {
        pieces_destroy(pieces);
    }
    call_free(call);
}

static void answer(struct call *call, unsigned status, const char *type,
                   const struct text_node *tree)
{
    AUTO_BUF struct buf text = BUF_INIT(ANSWER_MAX);
    json_print(tree, 0, &text);
    buf_putc(&text, '\n');
    call_buf(call, status, type, &text);
}

void call_answer(struct call *call, unsigned status, const struct text_node *tree)
{
    answer(call, status, "application/json", tree);
}

static void put_text(struct arena *a, struct text_node *map, const char *key, const char *value)
{
    if (value && value[0])
        text_str(a, map, key, value);
}

static struct text_node *problems_tree(struct arena *a, struct text_node *parent, const char *key,
                                       const struct report *report, const struct refused *refused)
{
    struct text_node *list = text_list(a, parent, key);
    for (size_t i = 0; report && i < report->n; i++) {
        const struct problem *p = &report->at[i];
        struct text_node *item = text_map(a, list, NULL);
        text_str(a, item, "severity", p->severity == SEVERITY_ERROR ? "error" : "warning");
        if (p->place.line) {
            text_int(a, item, "line", p->place.line);
            text_int(a, item, "col", p->place.col);
            text_int(a, item, "len", p->place.len);
            text_int(a, item, "offset", p->place.offset);
        }
        put_text(a, item, "path", p->path);
        text_str(a, item, "what", p->what);
        remedies_write(a, item, p->hint, p->remedies, refused);
        put_text(a, item, "fix", p->fix);
    }
    return list;
}

struct text_node *problem_tree(struct arena *a, const struct err *err, const struct report *report,
                               const struct refused *refused)
{
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "type", "about:blank");
    text_str(a, map, "title", err_word(err->code));
    text_int(a, map, "status", err_http_status(err->code));
    text_str(a, map, "code", err_word(err->code));
    text_str(a, map, "detail", err->what);
    remedies_write(a, map, err->hint, &err->remedies, refused);
    if (report && report->n)
        problems_tree(a, map, "errors", report, refused);
    return map;
}

/* The document of a submission, as its submitter names it. */
static const char *call_file(struct call *call)
{
    return call->request ? http_query(call->request, "file", 0) : NULL;
}

void call_problem(struct call *call, const struct err *err, const struct report *report)
{
    struct refused refused = { .program = "muster", .file = call_file(call) };
    struct text_node *tree = problem_tree(call->arena, err, report, &refused);
    answer(call, (unsigned)err_http_status(err->code), "application/problem+json", tree);
}

bool call_u64(struct call *call, const char *name, uint64_t min, uint64_t max, uint64_t *out,
              struct err *err)
{
    const char *text = http_query(call->request, name, 0);
    if (!text || scan_u64(text, min, max, out))
        return true;
    err_set(err, ERR_INPUT, "%s is \"%.40s\"", name, text);
    err_hint(err, "a whole number from %llu to %llu", (unsigned long long)min,
             (unsigned long long)max);
    return false;
}

bool call_flag(struct call *call, const char *name)
{
    const char *text = http_query(call->request, name, 0);
    return text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

bool call_job(struct call *call, uint64_t *id)
{
    struct err err;
    if (answer_find_for(call->api->config.ctl, &call->who, call->param[0], id, &err) == 0)
        return true;
    if (strcmp(http_method(call->request), "GET") != 0)
        caller_refused(call, NULL, "request",
                       arena_printf(call->arena, "%s %s", http_method(call->request),
                                    http_path(call->request)),
                       &err);
    call_problem(call, &err, NULL);
    return false;
}
