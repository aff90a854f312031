/* Numbers as bytes, the lowest first, n of them (at most 8): how everything of ours stores and
 * sends them. Bounds are the caller's. */
#ifndef BASE_LITTLE_ENDIAN_H
#define BASE_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

static inline void little_endian_put(void *to, uint64_t value, size_t n)
{
    unsigned char *at = to;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t little_endian_get(const void *from, size_t n)
{
    const unsigned char *at = from;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

#endif
