/* Devices of a task: its place has positions among those that its node gives out; programs know
 * them by the driver's numbers, the kernel by those of their files. */
#ifndef INVENTORY_TASK_DEVICES_H
#define INVENTORY_TASK_DEVICES_H

#include "base/arena.h"
#include "job/gpu.h"
#include "job/launch.h"
#include "job/place.h"

#include <stdint.h>

struct cluster;

/* What a launch says of a task's devices. place->n_gpus of each, in arena. */
struct task_devices {
    uint32_t *numbers, *minors; /* of declared devices their positions */
    /* What CUDA knows them by where their numbers do not say it: UUIDs on a machine with devices in
     * MIG mode; else NULL. */
    const char **names;
    struct gpu_part *parts; /* what instances of MIG they are; NULL: all are whole */
    enum gpu_grant hold;    /* how the task holds them against other servers of the machine */
    uint64_t memory;        /* bytes that the driver says the first of them has; 0: unknown */
};
struct task_devices devices_of_task(const struct cluster *, struct arena *,
                                    const struct task_place *);
/* The hold of it alone. */
enum gpu_grant devices_hold(const struct cluster *, const struct task_place *);
/* Is its node one of the server's own machine? */
bool devices_are_local(const struct cluster *, const struct task_place *);
/* Where tasks of that account (NULL: the server's own) with shares of devices reach their MPS
 * daemon, by the setting; NULL: there is none. */
const char *devices_mps(const char *setting, struct arena *, const struct account *);
/* As people name the i-th of a place, in arena. */
const char *device_name(const struct cluster *, struct arena *, const struct task_place *,
                        uint32_t i);

#endif
