/* Accelerators of this machine that tasks hold: two servers never give out the same one. A task
 * with whole devices holds each alone; shares of one device are held together, by tasks of one
 * server. */
#ifndef NODE_GPU_LOCK_H
#define NODE_GPU_LOCK_H

#include "job/gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_SERVER_MAX 1024

struct gpu_locks {
    int *held; /* descriptors, up to two a device: what their process leaves is free */
    size_t n;
};
struct gpu_ask {
    const uint32_t *minors;       /* of /dev/nvidiaN */
    const struct gpu_part *parts; /* of each, which instance of MIG; NULL: none is one */
    size_t n;
    bool share;         /* of each */
    const char *server; /* its socket: no other's on the machine */
};
/* false: somebody else has *which, and nothing is held. Where no lock can be made the devices are
 * not held. */
bool gpu_locks_take(struct gpu_locks *, const struct gpu_ask *, uint32_t *which);
void gpu_locks_give(struct gpu_locks *); /* none taken: nothing */
/* Does a task of another server hold that device? Takes nothing; one that is just taking it counts
 * when it has. */
bool gpu_lock_is_foreign(uint32_t minor, const struct gpu_part *, const char *server);

#endif
