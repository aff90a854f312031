/* What the nodes answered in one node check, which takes up to two rounds. */
#ifndef RDZV_CHECK_ANSWERS_H
#define RDZV_CHECK_ANSWERS_H

#include "base/arena.h"
#include "job/rendezvous.h"
#include "rdzv/pairing.h"

struct check_texts { /* by one node, texts of the check's memory */
    const char *figures, *why;
};
struct check_answers { /* arrays of n; all 0: no check runs */
    size_t n;
    uint64_t *members;
    struct pairing_node *nodes;
    uint32_t *group;
    bool *answered;
    struct check_texts *said;
    struct arena *memory;
    size_t missing;
    int round;
    uint64_t until_us;
};
void check_answers_make(struct check_answers *, size_t n); /* of no members yet */
void check_answers_clear(struct check_answers *);
size_t check_answers_find(const struct check_answers *, uint64_t member); /* n: it is not in it */

/* Round 0 or 1 begins: who is asked with whom, of whom an answer is missing. */
void check_answers_await(struct check_answers *, int round, uint64_t until_us);
void check_answers_put(struct check_answers *, size_t i, const struct rdzv_check_report *);
/* Nobody else is waited for: whose answer is missing is bad by itself, because of why. */
void check_answers_miss(struct check_answers *, const char *why);
/* Worth another round with other partners? */
bool check_answers_unclear(const struct check_answers *);

#endif
