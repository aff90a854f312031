/* A node of an allocation that is silent while Slurm says that it is there. It may have been
 * switched off and be back, before Slurm noticed: then nobody is left there who would connect, and
 * the batch script of the allocation is told to start muster-node there again. When that is due: no
 * I/O, no clock. */
#ifndef ENGINE_SLURM_AGAIN_H
#define ENGINE_SLURM_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

struct again { /* of a node, by a clock that is not set; all zero: it is not silent */
    bool silent;
    uint64_t since_ms, told_ms;
    unsigned tries; /* how often the script was told; 0: a second host of the node is refused */
    bool named;     /* the script knows since then which node it is */
};
#define AGAIN_PACE_MS 10000u
/* It was looked at. true: the script is to be told. pace_ms: after so long, at first. */
bool again_is_due(struct again *, bool silent, uint64_t pace_ms, uint64_t now_ms);
void again_tell(struct again *, uint64_t now_ms); /* it is told now */

#endif
