/* A binary heap: the untyped half of the macros in heap.h. Elements are whole words, because they
 * begin with two. */
#include "base/heap.h"

#include <stdbool.h>
#include <stdint.h>

static bool before(const uint64_t *a, const uint64_t *b)
{
    return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static void swap(uint64_t *a, uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

void heap_rise(void *at, size_t n, size_t size)
{
    uint64_t *heap = at;
    size_t words = size / sizeof *heap;
    for (size_t i = n - 1, up; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!before(heap + i * words, heap + up * words))
            break;
        swap(heap + i * words, heap + up * words, words);
    }
}

size_t heap_sink(void *at, size_t n, size_t size)
{
    uint64_t *heap = at;
    size_t words = size / sizeof *heap;
    swap(heap, heap + --n * words, words);
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(heap + (child + 1) * words, heap + child * words))
            child++;
        if (!before(heap + child * words, heap + i * words))
            break;
        swap(heap + child * words, heap + i * words, words);
    }
    return n;
}
