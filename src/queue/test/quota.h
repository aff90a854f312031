/* What the tests of queues share. */
#ifndef QUEUE_TEST_QUOTA_H
#define QUEUE_TEST_QUOTA_H

#include <stdint.h>

#define Q   "kind: quota\nname: "
#define GIB (1ull << 30)

/* Xorshift; the seed is not 0. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
