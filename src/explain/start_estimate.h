/* When a waiting job starts, in numbers: for whoever compares what was told with what happened. */
#ifndef EXPLAIN_START_ESTIMATE_H
#define EXPLAIN_START_ESTIMATE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct start_estimate {
    uint64_t job;
    uint64_t not_before_ms;       /* these three 0: not known */
    uint64_t limit_ms, learnt_ms; /* starts about then, by limits and by learnt run times */
    bool ahead_known;
    const uint64_t *ahead; /* who starts before it, when nothing changes; in arena */
    size_t n_ahead;
};
/* false: the job does not wait for its turn. */
bool explain_start(struct ctl *, struct arena *, uint64_t job, struct start_estimate *);

#endif
