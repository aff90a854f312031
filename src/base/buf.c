/* A growing byte buffer with a maximum. What would not fit is dropped whole, and so is everything
 * after it: the text up to the overflow has no holes. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
    *b = BUF_INIT(max);
}

void buf_fini(struct buf *b)
{
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->overflow = false;
    if (b->data)
        b->data[0] = '\0';
}

/* Room for n more bytes and a NUL. */
static bool reserve(struct buf *b, size_t n)
{
    if (b->overflow || b->len > b->max || n > b->max - b->len) {
        b->overflow = true;
        return false;
    }
    size_t need = b->len + n + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    b->data = mem_resize(b->data, cap);
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    if (n == 0 || !reserve(b, n))
        return;
    memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
}

char *buf_room(struct buf *b, size_t n)
{
    if (!reserve(b, n))
        return NULL;
    char *at = b->data + b->len;
    b->len += n;
    b->data[b->len] = '\0';
    return at;
}

void buf_puts(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    char *at = buf_room(b, 1);
    if (at)
        *at = c;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_addv(b, fmt, ap);
    va_end(ap);
}

void buf_addv(struct buf *b, const char *fmt, va_list ap)
{
    char shot[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(shot, sizeof shot, fmt, ap);
    if (n > 0 && (size_t)n < sizeof shot) {
        buf_add(b, shot, (size_t)n);
    } else if (n > 0 && reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_add_hex(struct buf *b, const void *data, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        buf_add(b, (const char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2);
}

void buf_drop(struct buf *b, size_t n)
{
    if (n == 0)
        return;
    if (n >= b->len) {
        b->len = 0;
    } else {
        memmove(b->data, b->data + n, b->len - n);
        b->len -= n;
    }
    if (b->data)
        b->data[b->len] = '\0';
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
    char *text = b->data ? b->data : mem_new(1);
    b->data = NULL;
    b->len = b->cap = 0;
    return text;
}
