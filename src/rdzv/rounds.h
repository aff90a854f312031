/* The rounds of a rendezvous: one is begun, ended by a failure or a change, done; and the end of
 * all. Moves places from state to state, charges budgets, and says what members are told of it. */
#ifndef RDZV_ROUNDS_H
#define RDZV_ROUNDS_H

#include "job/rendezvous.h"

#include <stddef.h>

struct member;
struct place;
struct rdzv;

void rounds_start(struct rdzv *, struct member *const *, size_t n);
/* RUN -> STOPPING; a second failure while stopping only adds to the first. */
void rounds_stop(struct rdzv *, bool by_failure, const char *cause, uint64_t now_us);
/* FAILED of a member, told by a report or with its JOIN. */
void rounds_failed(struct rdzv *, struct member *, const struct rdzv_deaths *, bool final,
                   uint64_t now_us);
/* The member of the place is gone without a word; rounds_leave follows. */
void rounds_lost(struct rdzv *, const struct place *, const char *cause);
/* All have stopped: what they stopped for, who pays for it, whether that is the end (final). */
void rounds_settle(struct rdzv *);
void rounds_done(struct rdzv *, struct place *, uint64_t now_us);
/* The member's place, if it has one that still counts, is given up. */
void rounds_leave(struct rdzv *, struct place *, const char *cause, uint64_t now_us);
void rounds_barrier(struct rdzv *, uint64_t now_us);
void rounds_over(struct rdzv *, enum rdzv_end_kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
