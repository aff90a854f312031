/* How many members a world can have. */
#ifndef RDZV_WORLD_H
#define RDZV_WORLD_H

#include "job/rendezvous.h"

/* The largest one of so many members; 0: none. */
uint32_t world_largest(const struct rdzv_settings *, uint32_t members);
uint32_t world_least(const struct rdzv_settings *);

#endif
