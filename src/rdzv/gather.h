/* From one state of a rendezvous to the next, as far as it allows: who forms the next world, when.
 */
#ifndef RDZV_GATHER_H
#define RDZV_GATHER_H

#include <stdint.h>

struct rdzv;
void gather_progress(struct rdzv *, uint64_t now_us);
uint64_t gather_due(const struct rdzv *); /* when to look again */

#endif
