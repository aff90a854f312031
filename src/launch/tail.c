/* A ring would need two copies to be read; the end is moved to the front instead, which costs less
 * than reading it from the pipe did. */
#include "launch/tail.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

void tail_add(struct tail *tail, const char *bytes, size_t len)
{
    if (!tail->bytes)
        tail->bytes = mem_new(TAIL_KEPT);
    if (len >= TAIL_KEPT) {
        tail->cut = tail->cut || len > TAIL_KEPT || tail->len > 0;
        memcpy(tail->bytes, bytes + len - TAIL_KEPT, TAIL_KEPT);
        tail->len = TAIL_KEPT;
        return;
    }
    size_t room = TAIL_KEPT - tail->len;
    if (len > room) {
        memmove(tail->bytes, tail->bytes + (len - room), tail->len - (len - room));
        tail->len -= len - room;
        tail->cut = true;
    }
    memcpy(tail->bytes + tail->len, bytes, len);
    tail->len += len;
}

void tail_fini(struct tail *tail)
{
    free(tail->bytes);
    *tail = (struct tail){ .bytes = NULL };
}

/* Bytes of the escape sequence at the front, 1 for a lone escape. */
static size_t escape(const char *at, size_t n)
{
    if (n < 2 || (at[1] != '[' && at[1] != ']'))
        return 1;
    bool text = at[1] == ']'; /* ends with BEL or ESC \ */
    for (size_t i = 2; i < n; i++)
        if (text ? at[i] == '\a' || at[i] == '\\' : at[i] >= '@' && at[i] <= '~')
            return i + 1;
    return n;
}

/* One line without its end, cleaned into out (room for max bytes); returns its length. */
static size_t clean_line(const char *line, size_t len, char *out, size_t max)
{
    size_t n = 0;
    while (len > 0 && line[len - 1] == '\r')
        len--;
    const char *again = memrchr(line, '\r', len);
    const char *at = again ? again + 1 : line, *end = line + len;
    while (at < end) {
        uint32_t code;
        size_t left = (size_t)(end - at), step = scan_char(at, left, &code);
        const char *put = at;
        if (*at == '\033') {
            at += escape(at, left);
            continue;
        }
        size_t width = step;
        if (step == 0 || code == 0) {
            put = "?";
            step = width = 1;
        } else if (code == '\t') {
            put = "    ";
            width = 4;
        } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            width = 0;
        }
        if (n + width > max - 3) {
            for (size_t dots = 0; dots < 3; dots++)
                out[n++] = '.';
            return n;
        }
        memcpy(out + n, put, width);
        n += width;
        at += step;
    }
    return n;
}

/* Drops the line at the front of text; 0 when there is none behind it. */
static size_t drop_line(char *text, size_t n)
{
    const char *next = memchr(text, '\n', n);
    size_t gone = next ? (size_t)(next - text) + 1 : n;
    memmove(text, text + gone, n - gone);
    return n - gone;
}

const char *tail_clean(const char *raw, size_t len, bool cut, char *out, size_t size)
{
    const char *first = cut ? memchr(raw, '\n', len) : NULL;
    if (first && first + 1 < raw + len) {
        len -= (size_t)(first + 1 - raw);
        raw = first + 1;
    }
    while (len > 0 && (raw[len - 1] == '\n' || raw[len - 1] == '\r'))
        len--;
    size_t n = 0;
    for (const char *end = raw + len; raw < end;) {
        const char *stop = memchr(raw, '\n', (size_t)(end - raw));
        char line[TAIL_LINE_MAX];
        size_t width = clean_line(raw, (size_t)((stop ? stop : end) - raw), line, sizeof line);
        raw = stop ? stop + 1 : end;
        size_t least = width + 2; /* the line, the one between lines, and the NUL */
        if (least > size)
            continue;
        while (n + least > size)
            n = drop_line(out, n);
        if (n > 0)
            out[n++] = '\n';
        memcpy(out + n, line, width);
        n += width;
    }
    out[n] = '\0';
    return out;
}
