/* One waiting job as a pass sees it: whose turn comes before its own, what it is told, and when it
 * will start as far as is known. For explaining; a pass for the server itself asks nothing of it.
 */
#ifndef SCHED_WAIT_REPORT_H
#define SCHED_WAIT_REPORT_H

#include "sched/order.h"

#define WAIT_REPORT_NAMED 5u /* so many of a list are given one by one */
#define WAIT_REPORT_CHAIN                                                                          \
    6u /* jobs before it that are given a time, so that its own can be told                        \
        */

struct wait_report_end { /* a job that has to end, or to have had its turn, for this one */
    uint64_t job, at_ms;
    bool assumed; /* it has no limit of run time: the usual one is taken */
    bool waits;   /* it has not begun itself */
};
struct wait_report {
    bool starts;               /* in this pass */
    struct task_place *places; /* then now, else at at_ms; NULL: not known */
    uint32_t n_places;
    struct wait_reason reason; /* WAIT_NONE: it starts */
    bool has_turn;             /* false: it waits for a time or for others, rank says nothing */
    struct rank rank;
    uint32_t ahead,
        ahead_elsewhere; /* waiting jobs whose turn comes before: of its queue, others */
    uint64_t first[WAIT_REPORT_NAMED]; /* of its queue */
    uint64_t at_ms;                    /* 0: not known */
    bool promised;                     /* room is kept for it from then on */
    uint64_t not_before_ms; /* as long as nothing that runs ends sooner than it is counted with,
                               and no node comes; 0: not known */
    uint32_t n_ends;
    bool assumed;                                   /* one of them has no limit of run time */
    struct wait_report_end ends[WAIT_REPORT_NAMED]; /* the last ones, latest first */
    const struct vector *used;                      /* per queue of the snapshot, by what runs */
    struct vector user_used;
    struct plan plan; /* of the whole pass */
};

/* All in the arena. false: the snapshot has no such waiting job. */
bool sched_wait_report(const struct sched_snapshot *, uint64_t job, uint64_t now_ms, struct arena *,
                       struct wait_report *);

#endif
