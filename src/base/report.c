/* All problems of one document. Texts live in the report's arena; past REPORT_MAX problems are only
 * counted, so a hostile document costs bounded memory. Printing sorts by place, because decoders
 * find problems in the order of their tables. */
#include "base/report.h"

#include "base/buf.h"
#include "base/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Columns of source shown of a long line, and how many of them stay before the place. */
#define LINE_COLUMNS 100u
#define LINE_BEFORE  60u
#define TAB_COLUMNS  4u

void report_init(struct report *r, struct arena *arena)
{
    *r = (struct report){ .arena = arena };
}

/* A slot for one more; the last slot is scratch that is never counted in n. */
static struct problem *add_slot(struct report *r, enum severity severity)
{
    /* Most documents have no problems: no memory for them until there is one. */
    if (!r->at)
        r->at = ARENA_ARRAY(r->arena, REPORT_MAX + 1, struct problem);
    size_t *count[] = { [SEVERITY_WARNING] = &r->warnings,
                        [SEVERITY_ERROR] = &r->errors,
                        [SEVERITY_NOTE] = &r->notes };
    (*count[severity])++;
    struct problem *p = &r->at[r->n < REPORT_MAX ? r->n++ : REPORT_MAX];
    *p = (struct problem){
        .severity = severity, .path = "", .what = "", .hint = "", .of_job = r->of_job
    };
    return p;
}

static bool is_scratch(const struct report *r, const struct problem *p)
{
    return p == &r->at[REPORT_MAX];
}

struct problem *report_add(struct report *r, enum severity severity, struct place place,
                           const char *path, const char *what, const char *hint)
{
    struct problem *p = add_slot(r, severity);
    if (is_scratch(r, p))
        return p;
    p->place = place;
    p->path = arena_strdup(r->arena, path ? path : "");
    p->what = arena_strdup(r->arena, what);
    p->hint = arena_strdup(r->arena, hint ? hint : "");
    return p;
}

/* Longer texts would not be read; they end in "...". */
__attribute__((format(printf, 2, 0))) static const char *format(struct arena *arena,
                                                                const char *fmt, va_list ap)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0)
        return "";
    if ((size_t)n >= sizeof text) {
        size_t whole = scan_utf8_prefix(text, sizeof text - sizeof "...");
        memcpy(text + whole, "...", sizeof "...");
    }
    return arena_strdup(arena, text);
}

__attribute__((format(printf, 5, 0))) static struct problem *add(struct report *r,
                                                                 enum severity severity,
                                                                 struct place place,
                                                                 const char *path, const char *fmt,
                                                                 va_list ap)
{
    struct problem *p = add_slot(r, severity);
    if (is_scratch(r, p))
        return p;
    p->what = format(r->arena, fmt, ap);
    p->place = place;
    p->path = arena_strdup(r->arena, path ? path : "");
    return p;
}

struct problem *report_error(struct report *r, struct place place, const char *path,
                             const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add(r, SEVERITY_ERROR, place, path, fmt, ap);
    va_end(ap);
    return p;
}

struct problem *report_warn(struct report *r, struct place place, const char *path, const char *fmt,
                            ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add(r, SEVERITY_WARNING, place, path, fmt, ap);
    va_end(ap);
    return p;
}

struct problem *report_note(struct report *r, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add(r, SEVERITY_NOTE, (struct place){ 0 }, path, fmt, ap);
    va_end(ap);
    return p;
}

void report_hint(struct report *r, struct problem *p, const char *fmt, ...)
{
    if (is_scratch(r, p))
        return;
    va_list ap;
    va_start(ap, fmt);
    p->hint = format(r->arena, fmt, ap);
    va_end(ap);
}

void report_remedy(struct report *r, struct problem *p, enum remedy_id id, const char *args)
{
    if (is_scratch(r, p))
        return;
    if (!p->remedies)
        p->remedies = ARENA_NEW(r->arena, struct remedies);
    remedies_add(p->remedies, id, args);
}

void report_rest(struct report *r, struct problem *p, const char *rest)
{
    if (!is_scratch(r, p))
        p->rest = arena_strdup(r->arena, rest);
}

void report_unknown(struct report *r, struct problem *p, const char *key)
{
    if (is_scratch(r, p))
        return;
    p->kind = PROBLEM_UNKNOWN_FIELD;
    p->field = arena_strdup(r->arena, key);
}

bool report_ok(const struct report *r)
{
    return r->errors == 0;
}

int report_err(const struct report *r, struct err *err)
{
    const struct problem *p = r->at;
    for (size_t i = 0; i + 1 < r->n && p->severity != SEVERITY_ERROR; i++)
        p++;
    if (r->n == 0 || p->severity != SEVERITY_ERROR)
        return err_set(err, ERR_INPUT, "the text is wrong");
    char at[32] = "";
    if (p->place.line)
        snprintf(at, sizeof at, "%u:%u: ", p->place.line, p->place.col);
    if (r->errors == 1)
        err_set(err, ERR_INPUT, "%s%s", at, p->what);
    else
        err_set(err, ERR_INPUT, "%zu errors, first: %s%s", r->errors, at, p->what);
    if (p->remedies && err)
        err->remedies = *p->remedies;
    return p->hint[0] ? err_hint(err, "%s", p->hint) : -1;
}

/* What printing needs to know. */
struct page {
    const char *file, *src;
    size_t len;
    bool color;
    struct buf *out;
};

static void paint(const struct page *g, const char *code)
{
    if (g->color)
        buf_addf(g->out, "\033[%sm", code);
}

/* One character as it is shown: a tab as columns, controls and broken bytes as '?'. Returns its
 * bytes in the source. */
struct cell_text {
    char text[8];
    size_t columns;
};

static size_t show_char(const char *s, size_t n, struct cell_text *c)
{
    uint32_t code;
    size_t len = scan_char(s, n, &code);
    *c = (struct cell_text){ .text = "?", .columns = 1 };
    if (len == 0)
        return 1;
    if (code == '\t') {
        memcpy(c->text, "    ", TAB_COLUMNS + 1);
        c->columns = TAB_COLUMNS;
    } else if (code >= 0x20 && (code < 0x7f || code >= 0xa0)) {
        memcpy(c->text, s, len);
        c->text[len] = '\0';
        c->columns = scan_columns(s, len);
    }
    return len;
}

static size_t columns_of(const char *s, size_t n)
{
    size_t columns = 0;
    struct cell_text c;
    for (size_t i = 0; i < n; columns += c.columns)
        i += show_char(s + i, n - i, &c);
    return columns;
}

/* A line of the source and what of it is shown. Offsets into src. */
struct excerpt {
    size_t start, end, at, to; /* shown part; the place and its end within it */
};

static struct excerpt find_excerpt(const struct page *g, struct place place)
{
    struct excerpt x = { .at = place.offset < g->len ? place.offset : g->len };
    x.start = x.at;
    while (x.start > 0 && g->src[x.start - 1] != '\n')
        x.start--;
    const char *newline = x.at < g->len ? memchr(g->src + x.at, '\n', g->len - x.at) : NULL;
    x.end = newline ? (size_t)(newline - g->src) : g->len;
    if (x.end > x.start && g->src[x.end - 1] == '\r' && x.end > x.at)
        x.end--;
    /* A long line is cut around the place, by bytes: what matters is that it stays on one row. */
    if (x.end - x.start > LINE_COLUMNS) {
        if (x.at - x.start > LINE_BEFORE)
            x.start = x.at - LINE_BEFORE;
        if (x.end - x.start > LINE_COLUMNS)
            x.end = x.start + LINE_COLUMNS;
        while (x.start < x.at && ((unsigned char)g->src[x.start] & 0xc0) == 0x80)
            x.start++;
        while (x.end > x.at && x.end < g->len && ((unsigned char)g->src[x.end] & 0xc0) == 0x80)
            x.end--;
    }
    size_t room = x.end > x.at ? x.end - x.at : 0;
    x.to = x.at + (place.len < room ? place.len : room);
    return x;
}

static void print_source(const struct page *g, const struct excerpt *x, uint32_t line)
{
    bool cut = x->start > 0 && g->src[x->start - 1] != '\n';
    bool goes_on = x->end < g->len && g->src[x->end] != '\n' && g->src[x->end] != '\r';
    struct cell_text c;
    buf_addf(g->out, "%5u | %s", line, cut ? "..." : "");
    for (size_t i = x->start; i < x->end;) {
        i += show_char(g->src + i, x->end - i, &c);
        buf_puts(g->out, c.text);
    }
    buf_puts(g->out, goes_on ? "...\n" : "\n");

    size_t before = columns_of(g->src + x->start, x->at - x->start) + (cut ? strlen("...") : 0);
    size_t marks = columns_of(g->src + x->at, x->to - x->at);
    buf_addf(g->out, "      | %*s", (int)before, "");
    paint(g, "1;31");
    for (size_t i = 0; i < (marks ? marks : 1); i++)
        buf_putc(g->out, '^');
    paint(g, "0");
}

static void print_hint(const struct page *g, const struct problem *p, const char *before)
{
    if (p->hint[0])
        buf_addf(g->out, "%s%s", before, p->hint);
    if (p->fix && g->file && strcmp(g->file, "-") != 0) {
        struct refused refused = { .program = "muster", .file = g->file };
        struct remedies fix = { .n = 0 };
        remedies_add(&fix, REMEDY_CHECK_FIX, "");
        buf_addf(g->out, "%s(", p->hint[0] ? "   " : before);
        remedies_put_text(g->out, &fix, &refused);
        buf_putc(g->out, ')');
    }
}

static void print_problem(const struct page *g, const struct problem *p)
{
    paint(g, "1");
    buf_puts(g->out, g->file ? g->file : "");
    if (p->place.line)
        buf_addf(g->out, "%s%u:%u", g->file ? ":" : "", p->place.line, p->place.col);
    if (g->file || p->place.line)
        buf_puts(g->out, ": ");
    paint(g, "0");
    if (p->severity != SEVERITY_ERROR) {
        bool note = p->severity == SEVERITY_NOTE;
        paint(g, note ? "36" : "33");
        buf_puts(g->out, note ? "note: " : "warning: ");
        paint(g, "0");
    }
    buf_addf(g->out, "%s\n", p->what);
    if (p->place.line && g->src) {
        struct excerpt x = find_excerpt(g, p->place);
        print_source(g, &x, p->place.line);
        print_hint(g, p, " ");
        buf_putc(g->out, '\n');
    } else if (p->hint[0] || p->fix) {
        print_hint(g, p, "        ");
        buf_putc(g->out, '\n');
    }
}

void report_print(const struct report *r, const char *file, const char *src, size_t len, bool color,
                  struct buf *out)
{
    struct page g = { .file = file, .src = src, .len = len, .color = color, .out = out };
    const struct problem *order[REPORT_MAX];
    for (size_t i = 0; i < r->n; i++) {
        size_t j = i; /* stable */
        for (; j > 0 && order[j - 1]->place.offset > r->at[i].place.offset; j--)
            order[j] = order[j - 1];
        order[j] = &r->at[i];
    }
    for (size_t i = 0; i < r->n; i++)
        print_problem(&g, order[i]);
    size_t all = r->errors + r->warnings + r->notes;
    if (all > r->n)
        buf_addf(out, "and %zu more\n", all - r->n);
}
