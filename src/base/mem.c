/* Allocation that cannot fail: memory gone means abort, which a restart survives by design. A size
 * of 0 gives memory of one byte, so a result is never NULL; only a NULL text is copied as NULL. */
#include "base/mem.h"

#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *sure(void *p, size_t n)
{
    if (p)
        return p;
    fprintf(stderr, "muster: out of memory (%zu bytes)\n", n);
    abort();
}

void *mem_new(size_t n)
{
    return sure(calloc(1, n ? n : 1), n);
}

void *mem_resize(void *p, size_t n)
{
    return sure(realloc(p, n ? n : 1), n);
}

char *mem_strdup(const char *s)
{
    return s ? sure(strdup(s), strlen(s)) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
    return sure(strndup(s, n), n);
}

char *mem_printf(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    return sure(n < 0 ? NULL : text, strlen(fmt));
}

void mem_hold(size_t n)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most there is */
    mallopt(M_TRIM_THRESHOLD, n < INT_MAX ? (int)n : INT_MAX);
    mallopt(M_MXFAST, 0); /* else one free() joins all small ones since the last time: 20 ms */
}

void mem_trim(void)
{
    malloc_trim(0);
}
