/* When waiting jobs start, in numbers: for who holds what explain says against what happens. */
#ifndef CTL_FORETOLD_H
#define CTL_FORETOLD_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
/* The numbers of it, for who holds them against what happens. */
struct ctl_foretold {
    uint64_t job;
    uint64_t not_before_ms;       /* these three 0: not known */
    uint64_t limit_ms, learnt_ms; /* starts about then, by limits and by learnt run times */
    bool ahead_known;
    const uint64_t *ahead; /* who starts before it, when nothing changes; in arena */
    size_t n_ahead;
};
/* false: the job does not wait for its turn. */
bool ctl_foretell(struct ctl *, struct arena *, uint64_t job, struct ctl_foretold *);

#endif
