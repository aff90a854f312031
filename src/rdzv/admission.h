/* Who may take part in a rendezvous. */
#ifndef RDZV_ADMISSION_H
#define RDZV_ADMISSION_H

#include "job/rendezvous.h"

struct member;
struct rdzv;
/* Creates or refreshes; NULL: refused, and told so. */
struct member *admission_admit(struct rdzv *, const struct rdzv_join *, uint64_t now_us);

#endif
