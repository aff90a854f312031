/* Shared by json_print and yaml_print. Texts of encoders may hold bytes that are not UTF-8 (what a
 * task printed): they become U+FFFD, so that every printed document is valid. */
#include "text/print.h"

#include "base/buf.h"
#include "base/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t print_next(const char **s, const char *end)
{
    uint32_t code;
    if (*s >= end)
        return 0;
    size_t n = scan_char(*s, (size_t)(end - *s), &code);
    *s += n ? n : 1;
    return n ? code : 0xfffd;
}

static void put_real(double value, struct buf *out)
{
    char text[40];
    if (!isfinite(value)) { /* JSON has no word for it */
        buf_puts(out, "null");
        return;
    }
    int digits = 15;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    buf_puts(out, text);
    if (!strpbrk(text, ".e"))
        buf_puts(out, ".0");
}

void print_number(const struct text_node *node, struct buf *out)
{
    double written;
    char text[FMT_MAX];
    if (node->kind == TEXT_INT)
        buf_puts(out, fmt_int(text, node->integer));
    /* As written when it says what the value is: 0.10 stays 0.10, and a number of 30 digits keeps
     * them. */
    else if (node->str && scan_real(node->str, &written) && !(written < node->real) &&
             !(written > node->real))
        buf_puts(out, node->str);
    else
        put_real(node->real, out);
}

bool print_is_odd(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
           (c >= 0x2028 && c <= 0x2029) || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void put_escape(uint32_t c, struct buf *out)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = c < 0x80 ? strchr(from, (int)c) : NULL;
    if (known)
        buf_addf(out, "\\%c", to[known - from]);
    else
        buf_addf(out, "\\u%04x", c); /* nothing above U+FFFF is escaped */
}

static bool needs_escape(uint32_t c, bool for_yaml)
{
    return c < 0x20 || c == '"' || c == '\\' || (for_yaml && print_is_odd(c));
}

#define LOW_BITS  0x0101010101010101u
#define HIGH_BITS 0x8080808080808080u

/* Most characters are: they stand for themselves in every quoted text. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Has w a byte c? */
static uint64_t has_byte(uint64_t w, unsigned char c)
{
    w ^= LOW_BITS * c;
    return (w - LOW_BITS) & ~w & HIGH_BITS;
}

static bool all_plain(const char *s, size_t n)
{
    uint64_t w;
    for (; n >= sizeof w; s += sizeof w, n -= sizeof w) {
        memcpy(&w, s, sizeof w);
        uint64_t odd = ((w - LOW_BITS * 0x20) | (w + LOW_BITS) | w) & HIGH_BITS;
        if (odd | has_byte(w, '"') | has_byte(w, '\\'))
            return false;
    }
    for (; n; s++, n--)
        if (!is_plain((unsigned char)*s))
            return false;
    return true;
}

static void put_odd(const char *s, const char *end, bool for_yaml, struct buf *out)
{
    const char *done = s, *p = s;
    buf_putc(out, '"');
    while (p < end) {
        const char *at = p;
        if (is_plain((unsigned char)*p)) {
            p++;
            continue;
        }
        uint32_t c = print_next(&p, end);
        bool broken = c == 0xfffd && p - at == 1;
        if (!broken && !needs_escape(c, for_yaml))
            continue;
        buf_add(out, done, (size_t)(at - done));
        if (broken)
            buf_puts(out, "\xef\xbf\xbd");
        else
            put_escape(c, out);
        done = p;
    }
    buf_add(out, done, (size_t)(end - done));
    buf_putc(out, '"');
}

/* What stands before and behind the quotes. */
struct around_chars {
    char before, after; /* NUL: nothing */
};

static void put_around(const char *s, bool for_yaml, struct around_chars with, struct buf *out)
{
    size_t n = strlen(s);
    if (!all_plain(s, n)) {
        if (with.before)
            buf_putc(out, with.before);
        put_odd(s, s + n, for_yaml, out);
        if (with.after)
            buf_putc(out, with.after);
        return;
    }
    char *to = buf_room(out, n + 2 + (with.before != 0) + (with.after != 0));
    if (!to)
        return;
    if (with.before)
        *to++ = with.before;
    *to++ = '"';
    memcpy(to, s, n + 1);
    to[n] = '"';
    if (with.after)
        to[n + 1] = with.after;
}

void print_quoted(const char *s, bool for_yaml, struct buf *out)
{
    put_around(s, for_yaml, (struct around_chars){ 0, 0 }, out);
}

void print_key(const char *key, bool more, struct buf *out)
{
    put_around(key, false, (struct around_chars){ more ? ',' : '\0', ':' }, out);
}
