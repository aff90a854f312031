/* A /dev of a task's own: the harmless devices, and of the machine's accelerators those that it was
 * given. */
#ifndef NODE_DEVICES_H
#define NODE_DEVICES_H

#include "job/gpu.h"
#include "job/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct devices {
    bool own;             /* else the machine's */
    const uint32_t *gpus; /* numbers that the task holds */
    size_t n_gpus;
    const struct gpu_part *parts; /* of each, which instance of MIG; NULL: none is one */
    const struct words *nodes;    /* below /dev, of accelerators these in their place, as a
                                   * specification says them; NULL: there is none */
};
/* A device as the kernel numbers it. */
struct device {
    char type; /* 'c' or 'b' */
    unsigned major, minor;
};
/* Fills out with those that a task may have, at most n; how many. */
size_t devices_list(const struct devices *, struct device *out, size_t n);
#define DEVICES_NAME 48
/* Names below /dev, besides those that any container has, of what a task may have and the machine
 * has: fills out with at most n; how many. */
size_t devices_names(const struct devices *, char (*out)[DEVICES_NAME], size_t n);
/* In a new process that may mount, after it has entered the view of its task: makes a mount
 * namespace of its own with that /dev, or does so in the present one, if that is private. Where the
 * kernel allows none, /dev stays as it is. 0, or -1 and errno. */
int devices_show(const struct devices *, bool is_private);

#endif
