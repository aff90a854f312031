/* Things in the order of their times. */
#ifndef SCHED_MOMENTS_H
#define SCHED_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moment {
    uint64_t at_ms, id; /* those of one time by their ids */
    void *what;
};

/* By time, then by id; what is equal in both stays in its order. room: for n more. */
void moments_sort(struct moment *at, struct moment *room, size_t n);

#endif
