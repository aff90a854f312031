/* Byte by byte, so that it does not matter how a stream is cut. Of an escape sequence that is no
 * colour only the ESC is shown another way: without it the rest is text. */
#include "cli/visible_text.h"

#include "base/scan.h"

#include <string.h>

#define ESC 0x1b

static bool is_plain(char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r';
}

static void show_byte(unsigned char c, struct buf *out)
{
    if (c < 0x20 || c == 0x7f)
        buf_addf(out, "^%c", c ^ 0x40);
    else
        buf_addf(out, "\\x%02x", c);
}

static void end_color(struct visible_text *v, struct buf *out)
{
    if (v->colored)
        buf_puts(out, "\033[0m");
    v->colored = false;
}

/* "ESC [ 1;31 m", of digits and what is between them alone: with another character in it, it means
 * something else. Its length; 0: not yet whole; -1: none. */
static int color_length(const struct visible_text *v)
{
    size_t i = 1;
    if (v->n > i && v->held[i++] != '[')
        return -1;
    while (i < v->n && strchr("0123456789;:", v->held[i]))
        i++;
    if (i < v->n)
        return v->held[i] == 'm' ? (int)i + 1 : -1;
    return i < sizeof v->held ? 0 : -1;
}

static size_t character_bytes(unsigned char lead)
{
    return lead < 0xc2 || lead > 0xf4 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Of the character at the front: its length; 0: not yet whole; -1: none that a terminal may have.
 */
static int character_length(const struct visible_text *v)
{
    uint32_t code;
    size_t len = scan_char(v->held, v->n, &code);
    if (len)
        return code >= 0x80 && code < 0xa0 ? -1 : (int)len;
    for (size_t i = 1; i < v->n; i++)
        if (((unsigned char)v->held[i] & 0xc0) != 0x80)
            return -1;
    return v->n < character_bytes((unsigned char)v->held[0]) ? 0 : -1;
}

/* A C1 control of two bytes is shown by its code, which is its second byte. */
static bool is_c1(const struct visible_text *v)
{
    uint32_t code;
    return scan_char(v->held, v->n, &code) == 2 && code < 0xa0;
}

static void take(struct visible_text *v, size_t n)
{
    v->n -= n;
    memmove(v->held, v->held + n, v->n);
}

static void show_held(struct visible_text *v, struct buf *out)
{
    if (is_c1(v))
        take(v, 1);
    show_byte((unsigned char)v->held[0], out);
    take(v, 1);
}

static void pass_held(struct visible_text *v, size_t n, struct buf *out)
{
    buf_add(out, v->held, n);
    if (v->held[0] == ESC)
        v->colored = strspn(v->held + 2, "0;") != n - 3;
    take(v, n);
}

/* As much of what is held as is decided. */
static void settle(struct visible_text *v, struct buf *out)
{
    while (v->n > 0) {
        unsigned char c = (unsigned char)v->held[0];
        int len = c == ESC ? color_length(v) : c >= 0x80 ? character_length(v) : is_plain((char)c);
        if (c == '\n') {
            end_color(v, out);
            len = 1;
        } else if (len == 0 && (c == ESC || c >= 0x80)) {
            return; /* more may come */
        }
        if (len > 0)
            pass_held(v, (size_t)len, out);
        else
            show_held(v, out);
    }
}

void visible_text_add(struct visible_text *v, const char *text, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len;) {
        size_t run = 0;
        while (v->n == 0 && i + run < len && is_plain(text[i + run]))
            run++;
        buf_add(out, text + i, run);
        i += run;
        if (i == len)
            return;
        v->held[v->n++] = text[i++];
        settle(v, out);
    }
}

void visible_text_end(struct visible_text *v, struct buf *out)
{
    while (v->n > 0) {
        show_held(v, out);
        settle(v, out);
    }
    end_color(v, out);
}
