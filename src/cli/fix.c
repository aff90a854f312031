/* Fixes in order of place, each used once, copied between the parts of the text that stay. One that
 * begins inside an earlier one is left out. Pure. */
#include "cli/fix.h"

#include "base/mem.h"

static bool usable(const struct problem *p, size_t from, size_t len)
{
    return p->fix && p->place.line && p->place.offset >= from && p->place.offset <= len &&
           p->place.len <= len - p->place.offset;
}

/* The next fix at or behind from. */
static const struct problem *next_fix(const struct report *report, size_t from, size_t len)
{
    const struct problem *best = NULL;
    for (size_t i = 0; i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (usable(p, from, len) && (!best || p->place.offset < best->place.offset))
            best = p;
    }
    return best;
}

size_t fix_apply(const struct report *report, const char *text, size_t len, struct buf *out,
                 struct buf *said)
{
    size_t from = 0, n = 0;
    const struct problem *p;
    while ((p = next_fix(report, from, len))) {
        buf_add(out, text + from, p->place.offset - from);
        buf_puts(out, p->fix);
        buf_addf(said, "%u:%u: %.*s -> %s\n", p->place.line, p->place.col, (int)p->place.len,
                 text + p->place.offset, p->fix);
        from = p->place.offset + p->place.len;
        n++;
        if (p->place.len == 0) /* an insertion: never the same one twice */
            break;
    }
    buf_add(out, text + from, len - from);
    return n;
}
