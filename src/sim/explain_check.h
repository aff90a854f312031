/* What `muster explain` would say of waiting jobs, held against what happens then. */
#ifndef SIM_EXPLAIN_CHECK_H
#define SIM_EXPLAIN_CHECK_H

#include "explain/start_estimate.h"

struct explain_check_changes { /* since the beginning: what answers name as their conditions */
    uint64_t early;            /* jobs that ended, or were stopped, before they were counted to */
    uint64_t late;             /* jobs that ran longer than they were counted with */
    uint64_t nodes_came, nodes_went, came; /* came: jobs */
};
struct explain_check_figures {
    uint64_t asked;
    uint64_t bounds, beaten;       /* of those that a change excuses, none is beaten */
    uint64_t sets, wrong, excused; /* of who starts before: told, not so, not so after a change */
    uint64_t estimates, learnt; /* jobs of which the rest is; estimated by learnt run times too */
    double limit_p50, limit_p90, best_p50, best_p90; /* see explain_check_ran() */
};
struct explain_check_failure { /* the first answer that was not so */
    uint64_t job, asked_ms, told_ms, started_ms;
    bool of_set;
};

struct explain_check;
struct explain_check *explain_check_create(void);
void explain_check_destroy(struct explain_check *); /* NULL-safe */
/* The answer of now. first: it came just now, and its estimate counts. */
void explain_check_ask(struct explain_check *, const struct start_estimate *, uint64_t now_ms,
                       const struct explain_check_changes *, bool first);
/* A job gets places, for the first time or anew. run_ms: as long as it will run. */
void explain_check_start(struct explain_check *, uint64_t job, uint64_t now_ms, uint64_t run_ms,
                         const struct explain_check_changes *);
/* Sorts. Errors are |estimated - real start| / (real wait + real run). */
struct explain_check_figures explain_check_figures(struct explain_check *);
const struct explain_check_failure *explain_check_wrong(
    const struct explain_check *); /* NULL: none was */

#endif
