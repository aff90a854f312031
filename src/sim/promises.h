/* The promises of the core, held against what they rest on (the theorem of doc/scheduling.md): a
 * promised job starts at its time or sooner, unless what was assumed did not come true before.
 *
 * A promise whose assumptions are broken is not watched any more. One that is still open after its
 * time, and none of them broken, is a violation. */
#ifndef SIM_PROMISES_H
#define SIM_PROMISES_H

#include "base/vec.h"
#include "sched/plan.h"

/* Why a promise may be late. word in results, for people */
#define PROMISE_BREAKS(X)                                                                          \
    X(NONE, "", "")                                                                                \
    X(OVERRUN, "overrun", "a job ran longer than it was counted with")                             \
    X(NODE, "node_lost", "a node was lost")                                                        \
    X(AGAIN, "again", "a running job needed other places")                                         \
    X(MOVED, "moved", "a job promised before it did not start at its time")                        \
    X(BETTER, "better_rank", "a job of a better rank came before it")
#define PROMISE_BREAK_ENUM(id, word, text) BREAK_##id,
enum promise_break { PROMISE_BREAKS(PROMISE_BREAK_ENUM) BREAK_N };
#undef PROMISE_BREAK_ENUM
const char *promise_break_word(enum promise_break);
const char *promise_break_text(enum promise_break);

#define VIOLATIONS_KEPT 16u
struct violation {
    size_t tag;
    uint64_t made_ms, at_ms, started_ms; /* started 0: never did */
};
struct promise_counts {
    uint64_t made, kept, dropped; /* dropped: the job ended without a start */
    uint64_t late[BREAK_N];       /* by the first that was broken; NONE: violations */
};

struct promises;
struct promises *promises_create(uint64_t now_ms);
void promises_destroy(struct promises *); /* NULL-safe */

/* Time goes on: what was open at the time of its promise is late. All that happened before now_ms
 * has to be told before, and nothing of now_ms. */
void promises_time(struct promises *, uint64_t now_ms);
/* A RESERVE of a plan: the first one of a job that waits is its promise. tag: of its violation. */
void promises_reserve(struct promises *, const struct plan_entry *, size_t tag);
/* An ADMIT: the job is counted to be gone lasts_ms from now. */
void promises_start(struct promises *, const struct plan_entry *, uint64_t lasts_ms);
/* A MORE. */
void promises_more(struct promises *, const struct plan_entry *);
void promises_node_lost(struct promises *);
/* The job holds nothing any more: it ended, or waits again. */
void promises_gone(struct promises *, uint64_t job);

struct promise_counts promises_counts(const struct promises *);
/* The first VIOLATIONS_KEPT of them. */
const struct violation *promises_violations(const struct promises *, size_t *n);

#endif
