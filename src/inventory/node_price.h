/* What devices cost where prices are set. */
#ifndef INVENTORY_NODE_PRICE_H
#define INVENTORY_NODE_PRICE_H

#include "job/job.h"

/* What a spot job has to bid for a device of those models ("" or NULL: none is known), in
 * thousandths. prices: by model, "*": all others; where some are set and none is of it, 1000. None
 * (or NULL): 0, any bid will do. */
uint64_t node_price(const struct amounts *prices, const char *gpu_type);

#endif
