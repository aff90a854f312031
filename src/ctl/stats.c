/* Figures of the core that are counted as things happen, durations of passes in bins among them,
 * and whether it can write its records. */
#include "ctl/core.h"

#include "base/mem.h"

static const uint64_t plan_bounds[] = { PLAN_BOUNDS_US };
_Static_assert(ARRAY_LEN(plan_bounds) == PLAN_BINS - 1, "a bin for each bound and one above");

void counters_plan(struct ctl *ctl, uint64_t us)
{
    size_t bin = 0;
    while (bin < ARRAY_LEN(plan_bounds) && us > plan_bounds[bin])
        bin++;
    ctl->counters.plan_bins[bin]++;
    ctl->counters.plans_timed++;
    ctl->counters.plan_us_sum += us;
    ctl->counters.plan_us_last = us;
}

bool ctl_storage_full(const struct ctl *ctl)
{
    return ctl->unwritten;
}
