/* How much of a node's free devices will go to waste, by the mix of tasks that arrive. */
#ifndef SCHED_ROLLOUT_H
#define SCHED_ROLLOUT_H

#include "sched/mix.h"

#include <stdint.h>

#define NODE_KINDS   64u /* types of device */
#define NODE_DEVICES 64u

struct node_state { /* all of a node that counts for placing; amounts are free ones */
    uint64_t cpu_milli, memory;
    uint32_t kind;               /* type of its devices, below NODE_KINDS */
    uint16_t n;                  /* devices */
    uint16_t free[NODE_DEVICES]; /* milli of each, sorted downwards */
};

#define WASTE_MILLI 1024 /* waste is told in so many parts of a milli-device */

struct rollout;
/* From the basis of a mix. */
struct rollout *rollout_create(const struct mix_numbers *);
void rollout_destroy(struct rollout *); /* NULL-safe */

/* Phi: 0 for a node without free devices or when no task asks for any. At most about
 * 1.1 * 64,000 * WASTE_MILLI, so that differences fit 32 bits. Depends on nothing but the basis and
 * the state. */
int32_t rollout_waste(struct rollout *, const struct node_state *);

#endif
