/* What tasks ask for, learnt from those that arrived: how often each shape was asked for. */
#ifndef SCHED_MIX_H
#define SCHED_MIX_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define MIX_SHAPES   512u  /* at most so many are told apart */
#define MIX_ARRIVAL  1024u /* what one arrival counts when it comes */
#define MIX_FIRST    32u   /* arrivals before anything is said of the mix */
#define MIX_DEVICES  64u   /* whole devices a task, at most */
#define DEVICE_MILLI 1000u

struct shape { /* of one task */
    uint64_t cpu_milli, memory;
    uint64_t types;   /* bit per type of device it may have; 0: any */
    uint32_t devices; /* whole ones */
    uint32_t share;   /* milli of one device; then devices is 0 */
};
/* A share of a whole device is a device; nothing beyond MIX_DEVICES. */
struct shape shape_normal(struct shape);
/* By what they ask of devices, then types, cpu, memory. */
int shape_compare(const struct shape *, const struct shape *);

struct mix_count {
    struct shape shape;
    uint64_t count; /* MIX_ARRIVAL for each arrival, halved every few thousand later ones */
};
/* All that a mix is. What follows from a mix follows from `basis`: the counts at the time when they
 * were last taken over, so that not every arrival changes everything. */
struct mix_numbers {
    const struct mix_count *counts, *basis; /* each in the order of shape_compare() */
    size_t n_counts, n_basis;
    uint32_t since_fade; /* arrivals */
};

struct mix;
struct mix *mix_create(void);
void mix_destroy(struct mix *); /* NULL-safe */

/* That many tasks of the shape arrived. The basis is taken anew when the total has doubled (first
 * at MIX_FIRST), or the shares of the shapes moved by an eighth. */
void mix_add(struct mix *, const struct shape *, uint32_t times);
/* Grows with every new basis; 0: none yet. */
uint64_t mix_version(const struct mix *);

/* For saving; good until the next mix_add(). */
struct mix_numbers mix_numbers(const struct mix *);
/* Makes the mix what was saved. ERR_INPUT, and the mix as it was, for numbers that no mix has. */
int mix_load(struct mix *, const struct mix_numbers *, struct err *);

#endif
