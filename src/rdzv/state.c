/* The state of one rendezvous. Most changes of it belong to the files that decide them; what
 * several decide is done here. */
#include "rdzv/state.h"

void state_gather(struct rdzv *rdzv, uint64_t now_us)
{
    rdzv->phase = RDZV_GATHER;
    rdzv->gathering = true;
    rdzv->gather_us = rdzv->last_join_us = now_us;
}
