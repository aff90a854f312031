/* A keyed hash of bytes: strangers choose many keys (labels, names, fields), so tables are seeded
 * at random. And hashes that are not keyed, for what no stranger chooses. */
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
uint32_t hash_fnv32(const char *text);           /* FNV-1a: for names that stay the same */

/* A hash over several values, one after the other: begin with HASH_BEGIN or with a value. Not
 * keyed; the same in every version, because jobs' records have such hashes. */
#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_add(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}
uint64_t hash_add_text(uint64_t hash, const char *text); /* NULL is as "" */

#endif
