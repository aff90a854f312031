/* Cutting a teed stream into lines. An unfinished line is held until the rest of it comes, so that
 * lines of several ranks never mix. */
#include "launch/line_filter.h"

#include "base/mem.h"

#include <string.h>

#define SPARE 4096u /* memory kept for unfinished lines between them */

void line_filter_init(struct line_filter *lines, const char *prefix, const struct words *filters)
{
    *lines = (struct line_filter){ .prefix = mem_strdup(prefix),
                                   .prefix_len = strlen(prefix),
                                   .filters = filters && filters->n > 0 ? filters : NULL,
                                   .held = BUF_INIT(LINE_MAX_HELD) };
}

void line_filter_fini(struct line_filter *lines)
{
    free(TAKE(lines->prefix));
    buf_fini(&lines->held);
}

static bool matches(const struct words *filters, const char *line, size_t len)
{
    for (size_t i = 0; i < filters->n; i++)
        if (memmem(line, len, filters->at[i], strlen(filters->at[i])))
            return true;
    return false;
}

static void put(const struct line_filter *lines, const char *line, size_t len, struct buf *out)
{
    buf_add(out, lines->prefix, lines->prefix_len);
    buf_add(out, line, len);
    buf_putc(out, '\n');
}

static void finish_line(struct line_filter *lines, const char *rest, size_t len, struct buf *out,
                        struct buf *copy)
{
    const char *line = rest;
    if (lines->held.len > 0) {
        if (lines->held.len + len > LINE_MAX_HELD) {
            struct buf first = lines->held;
            lines->held = BUF_INIT(LINE_MAX_HELD);
            finish_line(lines, first.data, first.len, out, copy);
            buf_fini(&first);
        } else {
            buf_add(&lines->held, rest, len);
            line = lines->held.data;
            len = lines->held.len;
        }
    }
    put(lines, line, len, out);
    if (lines->filters && matches(lines->filters, line, len))
        put(lines, line, len, copy);
    if (lines->held.cap > SPARE) {
        buf_fini(&lines->held);
        lines->held = BUF_INIT(LINE_MAX_HELD);
    } else {
        buf_clear(&lines->held);
    }
}

/* Holds back what may still go on. */
static void hold(struct line_filter *lines, const char *bytes, size_t len, struct buf *out,
                 struct buf *copy)
{
    while (lines->held.len + len > LINE_MAX_HELD) {
        size_t fits = LINE_MAX_HELD - lines->held.len;
        finish_line(lines, bytes, fits, out, copy);
        bytes += fits;
        len -= fits;
    }
    buf_add(&lines->held, bytes, len);
}

void line_filter_take(struct line_filter *lines, const char *bytes, size_t len, struct buf *out,
                      struct buf *copy)
{
    const char *end = bytes + len;
    if (len > 0 && lines->after_return && *bytes == '\n')
        bytes++;
    if (len > 0)
        lines->after_return = false;
    /* Returns are rare: looked for once, not in every line. */
    const char *back = memchr(bytes, '\r', (size_t)(end - bytes));
    while (bytes < end) {
        const char *at = memchr(bytes, '\n', (size_t)((back ? back : end) - bytes));
        if (!at && !back) {
            hold(lines, bytes, (size_t)(end - bytes), out, copy);
            return;
        }
        if (!at)
            at = back;
        finish_line(lines, bytes, (size_t)(at - bytes), out, copy);
        bytes = at + 1;
        if (at != back)
            continue;
        lines->after_return = bytes == end;
        if (bytes < end && *bytes == '\n')
            bytes++;
        back = memchr(bytes, '\r', (size_t)(end - bytes));
    }
}

void line_filter_end(struct line_filter *lines, struct buf *out, struct buf *copy)
{
    if (lines->held.len > 0)
        finish_line(lines, "", 0, out, copy);
}
