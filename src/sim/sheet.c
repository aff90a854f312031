/* Tables of text with a separator or blanks between fields. Rows and fields are ranges of the text;
 * nothing is copied until it is asked for. */
#include "sim/sheet.h"

#include "base/scan.h"

#include <string.h>
#include <strings.h>

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct cell trimmed(const char *at, const char *end)
{
    while (at < end && blank(*at))
        at++;
    while (end > at && blank(end[-1]))
        end--;
    return (struct cell){ .at = at, .len = (size_t)(end - at) };
}

static size_t split(const struct sheet *s, const char *at, const char *end, struct cell *out)
{
    size_t n = 0;
    while (n < SHEET_COLUMNS) {
        while (s->separator == ' ' && at < end && blank(*at))
            at++;
        if (s->separator == ' ' && at == end)
            break;
        const char *stop = at;
        while (stop < end && (s->separator == ' ' ? !blank(*stop) : *stop != s->separator))
            stop++;
        out[n++] = trimmed(at, stop);
        if (stop == end)
            break;
        at = stop + 1;
    }
    return n;
}

/* The next line that has something to say. */
static bool next_line(struct sheet *s, const char **at, const char **end)
{
    while (s->at < s->len) {
        const char *start = s->text + s->at;
        const char *newline = memchr(start, '\n', s->len - s->at);
        *end = newline ? newline : s->text + s->len;
        s->at = (size_t)(*end - s->text) + (newline != NULL);
        s->line++;
        *at = start;
        struct cell all = trimmed(start, *end);
        if (all.len && !(s->comment && *all.at == s->comment))
            return true;
    }
    return false;
}

void sheet_begin(struct sheet *s)
{
    const char *at, *end;
    s->at = s->n = s->n_head = 0;
    s->line = 0;
    s->row = 0;
    if (s->titles)
        while (s->n_head < SHEET_COLUMNS && s->titles[s->n_head]) {
            const char *title = s->titles[s->n_head];
            s->head[s->n_head++] = (struct cell){ .at = title, .len = strlen(title) };
        }
    else if (next_line(s, &at, &end))
        s->n_head = split(s, at, end, s->head);
}

bool sheet_next(struct sheet *s)
{
    const char *at, *end;
    while (next_line(s, &at, &end)) {
        s->row++;
        s->n = split(s, at, end, s->fields);
        if (s->n >= s->n_head)
            return true;
        struct place place = { .line = s->line,
                               .col = 1,
                               .len = (uint32_t)(end - at),
                               .offset = (uint32_t)(at - s->text) };
        struct problem *p = report_error(s->report, place, "", "row %llu has %zu fields",
                                         (unsigned long long)s->row, s->n);
        report_hint(s->report, p, "%zu, as the head has", s->n_head);
    }
    return false;
}

int sheet_column(const struct sheet *s, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < s->n_head; i++)
        if (s->head[i].len == len && strncasecmp(s->head[i].at, name, len) == 0)
            return (int)i;
    return -1;
}

static struct cell field_of(const struct sheet *s, int column)
{
    return column >= 0 && (size_t)column < s->n ? s->fields[column] : (struct cell){ .at = "" };
}

const char *sheet_text(const struct sheet *s, int column, char out[SHEET_FIELD])
{
    struct cell f = field_of(s, column);
    size_t len = f.len < SHEET_FIELD - 1 ? f.len : SHEET_FIELD - 1;
    memcpy(out, f.at, len);
    out[len] = '\0';
    return out;
}

void sheet_bad(struct sheet *s, int column, const char *expected)
{
    struct cell f = field_of(s, column), head = s->head[column < 0 ? 0 : column];
    struct place place = { .line = s->line, .col = 1 };
    if (f.len) {
        place.offset = (uint32_t)(f.at - s->text);
        place.len = (uint32_t)f.len;
        for (size_t at = place.offset; at > 0 && s->text[at - 1] != '\n'; at--)
            place.col++;
    }
    struct problem *p =
        report_error(s->report, place, "", "row %llu: %.*s is \"%.*s\"", (unsigned long long)s->row,
                     (int)head.len, head.at, (int)(f.len < 80 ? f.len : 80), f.at);
    report_hint(s->report, p, "%s", expected);
}

int sheet_u64(struct sheet *s, int column, const char *expected, uint64_t *out)
{
    char text[SHEET_FIELD];
    if (scan_u64(sheet_text(s, column, text), 0, INT64_MAX, out))
        return 0;
    sheet_bad(s, column, expected);
    return -1;
}

void sheet_lacks(struct sheet *s, const char *name, const char *what_for)
{
    struct place place = { .line = 1, .col = 1 };
    struct problem *p = report_error(s->report, place, "", "there is no column %s", name);
    report_hint(s->report, p, "%s", what_for);
}
