/* How many members a world can have: as many as its settings allow, in whole units, because a job
 * that asked for a unit cannot use a part of one. */
#include "rdzv/world.h"

uint32_t world_largest(const struct rdzv_settings *settings, uint32_t members)
{
    uint32_t n = members < settings->max ? members : settings->max;
    return n - n % settings->node_unit;
}

uint32_t world_least(const struct rdzv_settings *settings)
{
    uint32_t unit = settings->node_unit;
    return (settings->min + unit - 1) / unit * unit;
}
