/* A hash index: finds the elements of the caller's array by hash. It holds positions and hashes,
 * the caller holds the elements and compares them; elements that are equal for the caller may be in
 * it several times. Copying it is copying memory. Zeroed, it is empty. */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX
#define HASH_INDEX_COST 20u /* bytes for each position there is room for */

struct hash_index {
    struct hash_link *links; /* by position */
    uint32_t *buckets;       /* the first position of each */
    uint32_t room;           /* positions, and buckets: a power of two, or 0 */
};

/* A position with this hash; then another one with the same hash, in no order. NONE: no more. */
uint32_t hash_index_first(const struct hash_index *, uint64_t hash);
uint32_t hash_index_next(const struct hash_index *, uint32_t at);
/* The position is not in it yet. Positions are small numbers: there is room for all up to it. */
void hash_index_add(struct hash_index *, uint32_t at, uint64_t hash);
/* The position is in it. */
void hash_index_remove(struct hash_index *, uint32_t at);
/* Empties it and keeps its memory. */
void hash_index_clear(struct hash_index *);
/* Gives memory back when most of it is for positions from n on, none of which is in it. */
void hash_index_shrink(struct hash_index *, uint32_t n);
struct hash_index hash_index_copy(const struct hash_index *); /* owned by the caller */
void hash_index_fini(struct hash_index *);

#endif
