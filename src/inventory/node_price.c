/* The price of a node's devices, by the settings: the first that names their model counts, or the
 * last that stands for all others. Pure. */
#include "inventory/node_price.h"

#include "job/gpu_model.h"

#include <string.h>

uint64_t node_price(const struct amounts *prices, const char *gpu_type)
{
    uint64_t other = prices && prices->n ? 1000 : 0; /* nothing said: any bid will do */
    for (size_t i = 0; prices && i < prices->n; i++) {
        if (gpu_model_is(gpu_type ? gpu_type : "", prices->at[i].name))
            return prices->at[i].milli;
        if (strcmp(prices->at[i].name, "*") == 0)
            other = prices->at[i].milli;
    }
    return other;
}
