/* What placing a task costs in free devices that later tasks could have used: a number per state of
 * a node and shape of a task, remembered.
 *
 * Nodes in equal state are one state here, told by an id. Whoever has nodes holds the states they
 * are in; a state that nobody holds is forgotten. All of it can be thrown away and made again from
 * a mix: numbers do not depend on what was asked before. */
#ifndef SCHED_POTENTIAL_H
#define SCHED_POTENTIAL_H

#include "sched/rollout.h"

#include <stdbool.h>

#define POTENTIAL_SHAPES 1024u /* remembered at a time */

struct potential;
struct potential *potential_create(void);
void potential_destroy(struct potential *); /* NULL-safe */

/* Follows the mix: does nothing when its basis is the one already in use. Until a mix with a basis
 * was given, every number is 0. Ids stay good. */
void potential_learn(struct potential *, const struct mix *);
/* Of the mix it follows; numbers differ only where this does. */
uint64_t potential_version(const struct potential *);

/* The id of the state, with one reference more. Unused elements of free[] do not count. */
uint32_t potential_hold(struct potential *, const struct node_state *);
void potential_keep(struct potential *, uint32_t state); /* one reference more */
void potential_drop(struct potential *, uint32_t state);
/* Good until the next potential_hold(). */
const struct node_state *potential_state(const struct potential *, uint32_t state);
/* Ids are below this. */
uint32_t potential_bound(const struct potential *);

/* The id of the shape; good until POTENTIAL_SHAPES others were asked for. */
uint32_t potential_shape(struct potential *, const struct shape *);

struct putting {
    int32_t delta; /* how much more will be wasted, WASTE_MILLI to a milli-device; the least wins;
                    * INT32_MAX when it does not fit */
    uint16_t slot; /* a share goes to a device like free[slot] */
    bool fits;     /* by cpu, memory, devices and type */
};
/* A task of the shape on a node in the state. */
struct putting potential_put(struct potential *, uint32_t state, uint32_t shape);
/* The state afterwards (not held). false when it does not fit. slot: of potential_put(), or any
 * other whose device has room. */
bool node_state_put(struct node_state *, const struct shape *, uint16_t slot);
/* Phi of the state, in WASTE_MILLI. */
int32_t potential_of(struct potential *, const struct node_state *);

struct potential_work { /* what was computed so far, as opposed to remembered */
    uint64_t pairs;     /* of state and shape */
    uint64_t states;    /* Phi */
};
struct potential_work potential_work(const struct potential *);

#endif
