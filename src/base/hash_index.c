/* Chains through an array of links, one for each position, and a bucket for each link: at most one
 * position a bucket on average. There is no probing, so removal leaves nothing behind, and the two
 * arrays have no pointers in them, so a copy is good as it is.
 *
 * The whole hash is in the link: elements of the caller are looked at only when all 64 bits agree.
 * Low bits choose the bucket, so hashes must be mixed (base/hash.h). */
#include "base/hash_index.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

#define ROOM_LEAST 16u
#define ABSENT     (UINT32_MAX - 1) /* in next: the position is not in the index */
#define SPARSE     8u               /* room for so many times what is used is given back */

struct hash_link {
    uint64_t hash;
    uint32_t next;
};
_Static_assert(sizeof(struct hash_link) + sizeof(uint32_t) <= HASH_INDEX_COST,
               "a position costs more than said");

static uint32_t *bucket_of(const struct hash_index *x, uint64_t hash)
{
    return &x->buckets[hash & (x->room - 1)];
}

static void link_in(struct hash_index *x, uint32_t at)
{
    uint32_t *bucket = bucket_of(x, x->links[at].hash);
    x->links[at].next = *bucket;
    *bucket = at;
}

static void forget_all(struct hash_index *x)
{
    memset(x->buckets, 0xff, x->room * sizeof *x->buckets);
}

/* Makes room for so many positions; what is in it stays. */
static void resize(struct hash_index *x, uint32_t room)
{
    uint32_t kept = x->room < room ? x->room : room;
    x->links = mem_resize(x->links, room * sizeof *x->links);
    x->buckets = mem_resize(x->buckets, room * sizeof *x->buckets);
    for (uint32_t at = kept; at < room; at++)
        x->links[at] = (struct hash_link){ .next = ABSENT };
    x->room = room;
    forget_all(x);
    for (uint32_t at = 0; at < kept; at++)
        if (x->links[at].next != ABSENT)
            link_in(x, at);
}

static uint32_t same_from(const struct hash_index *x, uint32_t at, uint64_t hash)
{
    while (at != HASH_INDEX_NONE && x->links[at].hash != hash)
        at = x->links[at].next;
    return at;
}

uint32_t hash_index_first(const struct hash_index *x, uint64_t hash)
{
    return x->room ? same_from(x, *bucket_of(x, hash), hash) : HASH_INDEX_NONE;
}

uint32_t hash_index_next(const struct hash_index *x, uint32_t at)
{
    return same_from(x, x->links[at].next, x->links[at].hash);
}

void hash_index_add(struct hash_index *x, uint32_t at, uint64_t hash)
{
    uint32_t room = x->room ? x->room : ROOM_LEAST;
    while (room <= at)
        room *= 2;
    if (room != x->room)
        resize(x, room);
    if (x->links[at].next != ABSENT)
        BUG("position %u is in the index", at);
    x->links[at].hash = hash;
    link_in(x, at);
}

void hash_index_remove(struct hash_index *x, uint32_t at)
{
    uint32_t *link = bucket_of(x, x->links[at].hash);
    while (*link != at)
        link = &x->links[*link].next;
    *link = x->links[at].next;
    x->links[at].next = ABSENT;
}

void hash_index_clear(struct hash_index *x)
{
    if (!x->room)
        return;
    forget_all(x);
    for (uint32_t at = 0; at < x->room; at++)
        x->links[at].next = ABSENT;
}

void hash_index_shrink(struct hash_index *x, uint32_t n)
{
    uint32_t room = x->room;
    while (room > ROOM_LEAST && n < room / SPARSE)
        room /= 2;
    if (room != x->room)
        resize(x, room);
}

static void *copy_of(const void *from, size_t n)
{
    return n ? memcpy(mem_resize(NULL, n), from, n) : NULL;
}

struct hash_index hash_index_copy(const struct hash_index *x)
{
    return (struct hash_index){ .links = copy_of(x->links, x->room * sizeof *x->links),
                                .buckets = copy_of(x->buckets, x->room * sizeof *x->buckets),
                                .room = x->room };
}

void hash_index_fini(struct hash_index *x)
{
    free(x->links);
    free(x->buckets);
    *x = (struct hash_index){ .room = 0 };
}
