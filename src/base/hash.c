/* SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", with 1 and 3 rounds), the
 * finisher of splitmix64 for keys that we number ourselves, the CRC of zip, four bits at a time,
 * and FNV-1a (Fowler, Noll, Vo) of 32 bits and, in chains of values, of 64.
 */
#include "base/hash.h"

#include "base/clock.h"

#include <string.h>
#include <sys/random.h>

struct hash_seed hash_seed_random(void)
{
    struct hash_seed seed;
    /* Early in boot or in a strange sandbox there is no randomness: the clock and an address must
     * do. */
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (struct hash_seed){ .k = { clock_mono_us(), (uint64_t)(uintptr_t)&seed } };
    return seed;
}

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t hash_bytes(struct hash_seed seed, const void *data, size_t n)
{
    uint64_t v[4] = { seed.k[0] ^ 0x736f6d6570736575u, seed.k[1] ^ 0x646f72616e646f6du,
                      seed.k[0] ^ 0x6c7967656e657261u, seed.k[1] ^ 0x7465646279746573u };
    const unsigned char *p = data;
    uint64_t word, last = (uint64_t)n << 56;
    size_t left = n;
    for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)p[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_u64(uint64_t key)
{
    key ^= key >> 30;
    key *= 0xbf58476d1ce4e5b9u;
    key ^= key >> 27;
    key *= 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

uint32_t hash_crc32(const void *data, size_t n)
{
    static const uint32_t table[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                        0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
    const unsigned char *at = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc = (crc >> 4) ^ table[(crc ^ at[i]) & 15];
        crc = (crc >> 4) ^ table[(crc ^ ((uint32_t)at[i] >> 4)) & 15];
    }
    return ~crc;
}

uint32_t hash_fnv32(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

uint64_t hash_add_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash_add(hash, 1); /* where it ends: "a" "b" is not "ab" */
}
