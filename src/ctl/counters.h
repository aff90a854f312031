/* What the core counts of itself, for its figures. */
#ifndef CTL_COUNTERS_H
#define CTL_COUNTERS_H

#include <stdint.h>

/* Upper bounds, in microseconds, of what is counted of the time that plans took; the last has no
 * bound. */
#define PLAN_BOUNDS_US 100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000
enum { PLAN_BINS = 10 };

struct counters {
    uint64_t turns, commits, commits_failed, facts, plans, submitted;
    uint64_t evicted, promised, late; /* late: started after the time first promised */
    uint64_t plan_us_last, plan_us_sum, plans_timed, plan_bins[PLAN_BINS];
};

#endif
