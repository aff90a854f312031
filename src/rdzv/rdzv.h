/* One rendezvous: who takes part, which round they are in, and what each has to be told. Pure:
 * events and the time come in, orders go out; no clock, no I/O, no randomness. The same code
 * runs in the server (inside a job) and in a launcher (else).
 *
 * Life: GATHER -> (CHECK) -> RUN -> STOPPING -> (CHECK) -> RUN ... -> OVER.
 *  - GATHER ends when max are there; or no more can come (rdzv_expect) and min are there; or min
 *    are there and nobody came for last_call_ms. The last call is for the first round only: later
 *    rounds form as soon as everyone who is alive has joined again, if that is at least min
 *    (rounded down to node_unit, never below one unit); with fewer it gathers until join_ms.
 *  - RUN ends by a failure (spends one of that member's budget), a loss, a leaver, or a newcomer
 *    while the world is below max (no budget spent; only when the larger world is a larger multiple
 *    of node_unit). Members beyond max or the unit wait, and take a place that becomes free.
 *  - STOPPING: everybody of the round was told STOP; ends when each living one has JOINed again.
 *  - DONE members wait for the others (exit barrier); a failure elsewhere brings them back into a
 *    new round. When all are done: OVER, everybody is told END.
 *  - A failure that is final or over its member's budget: all are told STOP, and once they have
 *    answered (or are lost) END with every death told, the first one first.
 * Group ranks: by node rank where members asked for one; the others keep their order from round to
 * round, newcomers last. Ranks are contiguous per member.
 * A rendezvous that began with a claim (rdzv_join.claim) takes over that round: it waits resume_ms
 * for the members the claim names, then treats the missing ones as lost. Its term is one more than
 * the highest it was told of. */
#ifndef RDZV_RDZV_H
#define RDZV_RDZV_H

#include "base/arena.h"
#include "job/rendezvous.h"
#include "rdzv/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rdzv;
struct rdzv *rdzv_create(const struct rdzv_limits *, struct rdzv_sink);
void rdzv_destroy(struct rdzv *); /* NULL-safe */

/* Events; orders come out during the call. now_us: monotonic, of this machine. A member that was
 * not JOINed, an old term or an old round: ignored. On one connection a member says JOIN once, and
 * again only after REPORT FAILED or a STOP of the round it runs (it ignores any other STOP): a
 * JOIN that does not claim the member's running round means that its ranks are gone. A member that
 * JOINed again with claim.done may get the next ROUND without a STOP. */
void rdzv_join(struct rdzv *, const struct rdzv_join *, uint64_t now_us);
void rdzv_report(struct rdzv *, uint64_t member, const struct rdzv_report *, uint64_t now_us);
void rdzv_checked(struct rdzv *, uint64_t member, const struct rdzv_check_report *,
                  uint64_t now_us);
void rdzv_leave(struct rdzv *, uint64_t member, const struct rdzv_leave *, uint64_t now_us);
void rdzv_beat(struct rdzv *, uint64_t member, uint64_t now_us);
/* Its connection broke or its node is gone. why: for people. */
void rdzv_lost(struct rdzv *, uint64_t member, const char *why, uint64_t now_us);
/* While a claim's other members are waited for: that one will not come (it led, and is gone). */
void rdzv_without(struct rdzv *, uint32_t group_rank, const char *why, uint64_t now_us);
/* So many members can take part from now on (alive and to come); UINT32_MAX: not known. A round
 * does not wait for those of later: they come when there is room for them, maybe never. Without
 * them being enough, though, too few are waited for until join_ms. */
void rdzv_expect(struct rdzv *, uint32_t members, uint32_t later, uint64_t now_us);
/* While somebody of those cannot be reached, which says nothing of what it runs: too few wait for
 * it for as long as it takes, and a claim's other members, too. */
void rdzv_hold(struct rdzv *, bool held, uint64_t now_us);
/* Deadlines. Returns when it wants to be called next (monotonic us), UINT64_MAX: by events only. */
uint64_t rdzv_tick(struct rdzv *, uint64_t now_us);

enum rdzv_phase rdzv_phase(const struct rdzv *);
uint32_t rdzv_least(const struct rdzv *); /* members that a round needs; 0: not known yet */
/* The death that a failed rendezvous ended by: of which member, and one clause about it ("rank 3 on
 * n2 was killed (SIGKILL)"), valid until the next call. false: it is not over by one. */
bool rdzv_root(struct rdzv *, uint64_t *member, const char **text);

uint64_t rdzv_term(const struct rdzv *);
uint32_t rdzv_round_number(const struct rdzv *); /* of the current or last round */

#endif
