/* What a task with a share of a device is told of its share. Pure. */
#ifndef DIALECT_GPU_SHARE_H
#define DIALECT_GPU_SHARE_H

#include "base/arena.h"
#include "base/pairs.h"

#include <stdint.h>

#define MPS_UID "{uid}" /* in the setting gpu_mps: the number of the task's account */

struct gpu_share {
    uint32_t milli;  /* of the device, below 1000 */
    uint64_t memory; /* the whole device's, in bytes; 0: not known */
    const char *mps; /* pipe directory of an MPS daemon; NULL: none */
};
/* Adds MUSTER_GPU_SHARE, MUSTER_GPU_MEMORY_MIB and, with MPS, what its clients are limited by
 * (NVIDIA, Multi-Process Service, appendix of environment variables). What is in `own` stays. */
void gpu_share_env(const struct gpu_share *, struct arena *, const struct pairs *own,
                   struct pairs *env);
/* A setting with MPS_UID as the directory of one account; in arena. */
const char *gpu_share_mps(struct arena *, const char *setting, uint32_t uid);

#endif
