/* A piece has its size class in front of it. Classes are 16 bytes apart up to 1 KiB, then powers of
 * two; what is larger than the last comes from the C library. */
#include "ctl/test/faults/pool.h"

#include "base/err.h"
#include "base/mem.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STEP      16u
#define FINE      64u /* classes of 16 to 1,024 bytes */
#define COARSE    7u  /* of 2 to 128 KiB */
#define CLASSES   (FINE + COARSE)
#define SLAB      (256u << 10)
#define UNCLASSED UINT32_MAX

struct piece {
    uint32_t size, class;
    struct piece *next; /* while it is free; keeps what follows at 16 bytes */
};
_Static_assert(sizeof(struct piece) == STEP, "pieces are aligned");

static struct pool {
    struct piece *free[CLASSES];
    unsigned char *slab;
    size_t left;
    void *slabs; /* the newest, each begins with the one before */
} pool;

static uint32_t class_of(uint32_t size)
{
    if (size <= FINE * STEP)
        return (size - 1) / STEP;
    uint32_t class = FINE;
    for (uint32_t most = 2 * FINE * STEP; most < size; most *= 2)
        class ++;
    return class < CLASSES ? class : UNCLASSED;
}

static uint32_t size_of(uint32_t class)
{
    return class < FINE ? (class + 1) * STEP : (FINE * STEP) << (class - FINE + 1);
}

static struct piece *cut(uint32_t class)
{
    size_t n = sizeof(struct piece) + size_of(class);
    if (pool.left < n) {
        void *before = pool.slabs;
        pool.slabs = mem_new(SLAB);
        memcpy(pool.slabs, &before, sizeof before);
        pool.slab = (unsigned char *)pool.slabs + STEP;
        pool.left = SLAB - STEP;
    }
    struct piece *piece = (struct piece *)(void *)pool.slab;
    pool.slab += n;
    pool.left -= n;
    piece->size = size_of(class);
    piece->class = class;
    return piece;
}

static void *take(int n)
{
    uint32_t class = class_of((uint32_t)n);
    struct piece *piece;
    if (class == UNCLASSED) {
        piece = mem_new(sizeof *piece + (size_t)n);
        piece->size = (uint32_t)n;
        piece->class = class;
    } else if ((piece = pool.free[class]))
        pool.free[class] = piece->next;
    else
        piece = cut(class);
    return piece + 1;
}

static void give_back(void *p)
{
    struct piece *piece = (struct piece *)p - 1;
    if (piece->class == UNCLASSED) {
        free(piece);
        return;
    }
    piece->next = pool.free[piece->class];
    pool.free[piece->class] = piece;
}

static int size(void *p)
{
    return (int)((const struct piece *)p - 1)->size;
}

static void *resize(void *p, int n)
{
    if (size(p) >= n && size(p) / 2 <= n)
        return p;
    void *more = take(n);
    memcpy(more, p, (size_t)(size(p) < n ? size(p) : n));
    give_back(p);
    return more;
}

static int round_up(int n)
{
    uint32_t class = class_of((uint32_t)n);
    return class == UNCLASSED ? (n + 15) & ~15 : (int)size_of(class);
}

static int begin(void *arg)
{
    (void)arg;
    return SQLITE_OK;
}

static void end(void *arg)
{
    (void)arg;
}

void pool_install(void)
{
    static const sqlite3_mem_methods methods = { .xMalloc = take,
                                                 .xFree = give_back,
                                                 .xRealloc = resize,
                                                 .xSize = size,
                                                 .xRoundup = round_up,
                                                 .xInit = begin,
                                                 .xShutdown = end };
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
        BUG("SQLite is in use");
}
