/* Devices of nodes: a task's place has positions among those that its node gives out; programs know
 * them by the driver's numbers, the kernel by those of their files. */
#ifndef CTL_DEVICES_H
#define CTL_DEVICES_H

#include "base/arena.h"
#include "job/gpu.h"
#include "job/launch.h"
#include "job/place.h"

#include <stdint.h>

struct ctl;
struct live_job;
struct node_spec;

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
struct task_devices devices_of_task(const struct ctl *, struct arena *, const struct task_place *);
/* The hold of it alone. */
enum gpu_grant devices_hold(const struct ctl *, const struct task_place *);
/* Where tasks of that account (NULL: the server's own) with shares of devices reach their MPS
 * daemon; NULL: there is none. */
const char *devices_mps(const struct ctl *, struct arena *, const struct account *);
/* Why one of that place is not given out; NULL: all are. */
const char *devices_shut(const struct ctl *, const struct task_place *);
/* Why it is not given out; NULL: it is. */
const char *devices_why(const struct ctl *, const char *node, uint32_t device);
/* It is not given out any more, and why; NULL: it is again. */
struct device_trouble;
void devices_close(struct ctl *, const char *node, uint32_t device, const struct device_trouble *);
/* A key for what is known of one device. */
#define DEVICE_KEY_MAX 320
const char *device_key(char key[DEVICE_KEY_MAX], const char *node, uint32_t device);
/* Goes through the tasks that have a device: the job of one, and its flat position. Nobody gives or
 * takes places meanwhile. NULL: there is none after that. */
struct holders {
    size_t job; /* 0: begins; among the active ones */
    uint32_t next, flat;
};
struct live_job *holders_next(const struct ctl *, struct holders *, const char *node,
                              uint32_t device);
/* Jobs with a launch that is still to be made on the device are looked at in this turn. */
void devices_touch(struct ctl *, const char *node, uint32_t device);
/* As people name the i-th of a place, in arena. */
const char *device_name(const struct ctl *, struct arena *, const struct task_place *, uint32_t i);
/* The same of the first of all nodes that is not given out and that such a job (NULL: any) could
 * use, in that role (NULL: in any), and how many more there are; NULL: none is. In arena. */
struct job_spec;
const char *devices_closed(const struct ctl *, struct arena *, const struct job_spec *,
                           const char *role);

#endif
