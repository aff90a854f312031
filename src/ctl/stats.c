/* Figures of the core that are counted as things happen, durations of passes in bins among them,
 * whether it can write its records, and the price that the settings give a type of device. */
#include "ctl/core.h"

#include "base/mem.h"
#include "job/gpu_model.h"

#include <string.h>

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

uint64_t core_price(const struct ctl *ctl, const char *gpu_type)
{
    const struct amounts *prices = ctl->config.prices;
    uint64_t other = prices && prices->n ? 1000 : 0; /* nothing said: any bid will do */
    for (size_t i = 0; prices && i < prices->n; i++) {
        if (gpu_model_is(gpu_type, prices->at[i].name))
            return prices->at[i].milli;
        if (strcmp(prices->at[i].name, "*") == 0)
            other = prices->at[i].milli;
    }
    return other;
}

bool ctl_storage_full(const struct ctl *ctl)
{
    return ctl->unwritten;
}
