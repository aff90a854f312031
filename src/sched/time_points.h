/* Things in the order of their times. */
#ifndef SCHED_TIME_POINTS_H
#define SCHED_TIME_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_point {
    uint64_t at_ms, id; /* those of one time by their ids */
    void *what;
};

/* By time, then by id; what is equal in both stays in its order. room: for n more. */
void time_points_sort(struct time_point *at, struct time_point *room, size_t n);

#endif
