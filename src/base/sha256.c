#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void take_block(uint32_t state[8], const unsigned char *p)
{
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
#pragma GCC unroll 64
    for (unsigned i = 0; i < 64; i++) { /* instead of moving all, the names turn */
        const uint32_t *e = &s[(68 - i) % 8], *a = &s[(64 - i) % 8];
        const uint32_t f = s[(69 - i) % 8], g = s[(70 - i) % 8];
        const uint32_t b = s[(65 - i) % 8], c = s[(66 - i) % 8];
        uint32_t *d = &s[(67 - i) % 8], *h = &s[(71 - i) % 8];
        uint32_t one =
            *h + (turn(*e, 6) ^ turn(*e, 11) ^ turn(*e, 25)) + ((*e & f) ^ (~*e & g)) + k[i] + w[i];
        *d += one;
        *h = one + (turn(*a, 2) ^ turn(*a, 13) ^ turn(*a, 22)) + ((*a & b) ^ (*a & c) ^ (b & c));
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256_init(struct sha256 *h)
{
    *h = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *h, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n > 0) {
        size_t at = h->n % sizeof h->block, room = sizeof h->block - at;
        size_t take = n < room ? n : room;
        h->n += take;
        if (take == sizeof h->block) {
            take_block(h->state, p);
        } else {
            memcpy(h->block + at, p, take);
            if (take == room)
                take_block(h->state, h->block);
        }
        p += take;
        n -= take;
    }
}

void sha256_end(struct sha256 *h, char hex[SHA256_HEX])
{
    static const unsigned char pad[64] = { 0x80 };
    unsigned char bits[8];
    uint64_t n = h->n * 8;
    for (unsigned i = 0; i < 8; i++)
        bits[i] = (unsigned char)(n >> (56 - 8 * i));
    sha256_add(h, pad, 1 + (119 - h->n % 64) % 64);
    sha256_add(h, bits, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        snprintf(hex + (size_t)8 * i, 9, "%08x", h->state[i]);
}

int sha256_of(int fd, char hex[SHA256_HEX])
{
    unsigned char data[1u << 16];
    struct sha256 h;
    sha256_init(&h);
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, data, sizeof data, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        sha256_add(&h, data, (size_t)n);
        at += n;
    }
    sha256_end(&h, hex);
    return 0;
}
