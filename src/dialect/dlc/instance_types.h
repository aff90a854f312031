/* Instance types that EcsSpec may name. */
#ifndef DIALECT_DLC_INSTANCE_TYPES_H
#define DIALECT_DLC_INSTANCE_TYPES_H

#include "dialect/dialect.h"

/* Those that ship, cheapest of each family first; and with those that a server's catalogue has.
 * NULL when unknown. */
const struct entry *dlc_ecs_list(size_t *n);
const struct entry *dlc_ecs_find(const struct catalogue *, const char *name);

#endif
