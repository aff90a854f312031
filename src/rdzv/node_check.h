/* The node check before a round of new members. */
#ifndef RDZV_NODE_CHECK_H
#define RDZV_NODE_CHECK_H

#include "job/rendezvous.h"

struct member;
struct rdzv;
void node_check_begin(struct rdzv *, struct member *const *, size_t n, uint64_t now_us);
void node_check_answer(struct rdzv *, const struct member *, const struct rdzv_check_report *);
bool node_check_has(const struct rdzv *, uint64_t member);
void node_check_repeat(struct rdzv *, uint64_t member); /* the order may have been lost */
void node_check_progress(struct rdzv *, uint64_t now_us);
void node_check_expire(struct rdzv *, uint64_t now_us);

#endif
