/* What members still hold of an earlier leader's round, and what becomes of it here. */
#ifndef RDZV_CLAIMS_H
#define RDZV_CLAIMS_H

#include "job/rendezvous.h"

struct member;
struct rdzv;

bool claims_current(const struct rdzv *, uint64_t term, uint32_t round);
void claims_learn(struct rdzv *, const struct rdzv_join *, uint64_t now_us); /* term, take-over */
/* Gives the member its part. True: it must be told to STOP *round. */
bool claims_settle(struct rdzv *, struct member *, const struct rdzv_join *, uint64_t now_us,
                   uint32_t *round);
void claims_resumed(struct rdzv *, uint64_t now_us); /* nobody is waited for any longer */

#endif
