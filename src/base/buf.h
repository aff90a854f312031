/* A growing byte buffer with a maximum. Overflow sets a flag and drops; callers look once, at the
 * end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* always NUL-terminated once something was added; NULL before */
    size_t len, cap, max;
    bool overflow;
};

#define BUF_INIT(limit) ((struct buf){ .max = (limit) })
void buf_init(struct buf *, size_t max);
void buf_fini(struct buf *);
void buf_clear(struct buf *); /* keeps the memory, clears overflow */
void buf_add(struct buf *, const void *data, size_t n);
/* n bytes at the end, which the caller fills; NULL: they do not fit, and are dropped. */
char *buf_room(struct buf *, size_t n);
void buf_puts(struct buf *, const char *s);
void buf_putc(struct buf *, char c);
void buf_addf(struct buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_add_hex(struct buf *, const void *data, size_t n); /* two small digits a byte */
void buf_addv(struct buf *, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_drop(struct buf *, size_t n);   /* removes n bytes at the front */
const char *buf_str(const struct buf *); /* "" when empty */
char *buf_take(struct buf *);            /* gives the text away (malloc'ed, NUL-terminated) */
#define AUTO_BUF __attribute__((cleanup(buf_fini)))

#endif
