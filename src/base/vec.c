/* Growable arrays: the untyped half of the macros in vec.h. An array begins with room for eight
 * elements, one of large elements with room for one, and doubles when it is full; new elements are
 * zeroed. */
#include "base/vec.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

#define LARGE 64u /* bytes of an element: there is often just one, in each of many arrays */

void *vec_grow(void *at, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t first = size < LARGE ? 8 : 1, more = *cap ? *cap * 2 : first, bytes;
        if (__builtin_mul_overflow(more, size, &bytes))
            BUG("array of %zu elements of %zu bytes", more, size);
        at = mem_resize(at, bytes);
        *cap = more;
    }
    memset((char *)at + *n * size, 0, size);
    (*n)++;
    return at;
}

size_t vec_close_gap(void *at, size_t n, size_t i, size_t size)
{
    if (i >= n)
        BUG("element %zu of %zu", i, n);
    char *gap = (char *)at + i * size;
    memmove(gap, gap + size, (n - i - 1) * size);
    return n - 1;
}
