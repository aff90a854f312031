/* A keyed hash of bytes: strangers choose many keys (labels, names, fields), so tables are seeded
 * at random. And two that are not keyed. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_seed {
    uint64_t k[2];
};

struct hash_seed hash_seed_random(void);
uint64_t hash_bytes(struct hash_seed seed, const void *data, size_t n); /* SipHash-1-3 */
uint64_t hash_u64(uint64_t key);                 /* mixes all bits; not keyed */
uint32_t hash_crc32(const void *data, size_t n); /* as zlib's: finds damage, not malice */

#endif
