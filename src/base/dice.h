/* Dice that fall the same way each time: what is drawn for rollouts, loads and tests. The generator
 * is splitmix64 (Steele, Lea, Flood, 2014). Not for secrets. */
#ifndef BASE_DICE_H
#define BASE_DICE_H

#include "base/hash.h"

struct dice {
    uint64_t state; /* any number is a beginning */
};

static inline uint64_t dice_roll(struct dice *d)
{
    return hash_u64(d->state += 0x9e3779b97f4a7c15u);
}

/* 0 to n - 1; n is at least 1. */
static inline uint32_t dice_below(struct dice *d, uint32_t n)
{
    return (uint32_t)(dice_roll(d) % n);
}

#endif
