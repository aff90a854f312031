/* Bump allocation in a chain of blocks, each twice the one before it up to BLOCK_MAX. Blocks come
 * zeroed from calloc and are cleared again on reset, so an allocation is an addition. Under
 * AddressSanitizer what was not handed out is poisoned and every allocation is followed by a gap,
 * so that overruns are seen. */
#include "base/arena.h"

#include "base/bug.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define GAP            16u
#define FREE_MOST      0u /* what is used after its end is to be seen */
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define GAP            0u
#define FREE_MOST      8u
#endif

#define ALIGN       _Alignof(max_align_t)
#define BLOCK_FIRST ((size_t)4096)
#define BLOCK_MAX   ((size_t)4 << 20)
#define FREE_SIZES  4u /* the first, twice that ... */

struct block {
    struct block *before;
    size_t size, used; /* of data */
    max_align_t data[];
};

#define SIZE_FIRST (BLOCK_FIRST - sizeof(struct block))

struct arena {
    struct block *top, *first;
    size_t used; /* by allocations, in all blocks */
};

/* Blocks of arenas that are gone, cleared, in rows of one size: most arenas live for a moment, and
 * what one needed the next one needs. */
static _Thread_local struct free_blocks {
    struct block *top;
    unsigned n;
} free_blocks[FREE_SIZES];

/* NULL: blocks of that size are not kept. */
static struct free_blocks *free_blocks_of(size_t size)
{
    for (unsigned i = 0; i < FREE_SIZES; i++)
        if (size == SIZE_FIRST << i)
            return &free_blocks[i];
    return NULL;
}

static struct block *block_add(struct arena *a, size_t size)
{
    struct free_blocks *kept = free_blocks_of(size);
    struct block *b = kept ? kept->top : NULL;
    if (b) {
        kept->top = b->before;
        kept->n--;
    } else {
        b = mem_new(sizeof *b + size);
        b->size = size;
        POISON(b->data, size);
    }
    b->before = a->top;
    return a->top = b;
}

static void block_drop(struct block *b)
{
    struct free_blocks *kept = free_blocks_of(b->size);
    if (!kept || kept->n + 1 > FREE_MOST) {
        free(b);
        return;
    }
    memset(b->data, 0, b->used);
    b->used = 0;
    b->before = kept->top;
    kept->top = b;
    kept->n++;
}

struct arena *arena_create_of(size_t first)
{
    struct arena *a = mem_new(sizeof *a);
    a->first = block_add(a, first - sizeof(struct block));
    return a;
}

static size_t room_of(size_t n)
{
    return (n + GAP + (n == 0) + ALIGN - 1) / ALIGN * ALIGN;
}

struct arena *arena_create_for(const char *const *texts, size_t n)
{
    size_t room = sizeof(struct block);
    for (size_t i = 0; i < n; i++)
        room += texts[i] ? room_of(strlen(texts[i]) + 1) : 0;
    return arena_create_of(room);
}

struct arena *arena_create(void)
{
    return arena_create_of(BLOCK_FIRST);
}

static void free_down_to(struct arena *a, const struct block *stay)
{
    while (a->top != stay) {
        struct block *b = a->top;
        a->top = b->before;
        block_drop(b);
    }
}

void arena_destroy(struct arena *a)
{
    if (!a)
        return;
    free_down_to(a, NULL);
    free(a);
}

void arena_wipe(struct arena *a)
{
    for (struct block *b = a->top; b; b = b->before) {
        UNPOISON(b->data, b->used);
        explicit_bzero(b->data, b->used);
    }
}

void arena_reset(struct arena *a)
{
    free_down_to(a, a->first);
    UNPOISON(a->first->data, a->first->used);
    memset(a->first->data, 0, a->first->used);
    POISON(a->first->data, a->first->size);
    a->first->used = 0;
    a->used = 0;
}

size_t arena_used(const struct arena *a)
{
    return a->used;
}

/* A block that holds n bytes: the next size of the row, or one of its own below the top when n is
 * large, so that the rest of the top stays in use. */
static struct block *block_for(struct arena *a, size_t n)
{
    size_t next = a->top->size * 2 < BLOCK_MAX ? a->top->size * 2 : BLOCK_MAX;
    if (n <= next / 2 || a->top == a->first)
        return block_add(a, n > next ? n : next);
    struct block *own = mem_new(sizeof *own + n);
    own->size = n;
    own->before = a->top->before;
    a->top->before = own;
    POISON(own->data, n);
    return own;
}

void *arena_alloc(struct arena *a, size_t n)
{
    if (n > SIZE_MAX / 2)
        BUG("allocation of %zu bytes", n);
    size_t take = room_of(n);
    struct block *b = a->top;
    if (take > b->size - b->used)
        b = block_for(a, take);
    void *p = (char *)b->data + b->used;
    b->used += take;
    a->used += take;
    UNPOISON(p, n);
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        BUG("array of %zu elements of %zu bytes", n, size);
    return arena_alloc(a, bytes);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    n = strnlen(s, n);
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char shot[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(shot, sizeof shot, fmt, ap);
    va_end(ap);
    if (n < 0)
        BUG("format %s", fmt);
    char *text = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof shot) {
        memcpy(text, shot, (size_t)n);
        return text;
    }
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}
