/* The parts of an explanation, for the files that share it: why.c why a job waits and when it
 * starts, changes.c what would start it now, what_if.c what one change would do. */
#ifndef EXPLAIN_PARTS_H
#define EXPLAIN_PARTS_H

#include "account/redact.h"
#include "answer/question.h"
#include "ctl/ctl.h"
#include "explain/start_forecast.h"
#include "explain/view.h"
#include "sched/wait_report.h"

struct explain { /* of one job, on one copy of everything that waits and runs */
    struct ctl *ctl;
    struct arena *arena;
    struct reader reader;           /* who asks */
    struct sched_snapshot snapshot; /* as it is; this and the next two: explain_copy() */
    const struct queues *queues;
    uint64_t next_id; /* of a job that would come now */
    uint64_t job;     /* that is asked about; 0: it is not there yet */
    uint64_t number;  /* of it */
    bool suspended;
    const struct job_spec *spec;
    const char *owner;
    struct sched_job as; /* how the scheduler sees it */
    struct wait_report when;
    struct start_forecast told;
    /* Who starts before it: ahead_known: and nobody else, when nothing changes; otherwise those
     * whose turn comes before. */
    bool ahead_known;
    uint32_t ahead, ahead_elsewhere;   /* of its queue, of others */
    uint64_t first[WAIT_REPORT_NAMED]; /* of its queue */
};

/* Takes the copy. */
void explain_copy(struct explain *);
/* The job, of that spec and owner, as the scheduler sees one that comes last. */
struct sched_job explain_newest(struct explain *);
/* What is shown are dates. */
void explain_dates(const struct ctl *, struct explain_view *);
/* "worker/0": "n1" */
struct pairs explain_places(struct arena *, const struct job_spec *, const struct task_place *,
                            uint32_t n);
/* Whose promise would move or go if the second plan were made instead of the first. */
struct delay_list explain_moves(struct explain *, const struct plan *is, const struct plan *would);
/* On how many nodes the job's next task finds what in the way. */
struct unfits explain_unfits(struct explain *);
/* Fills reason, numbers and times of the view from e->when, and from forecasts on that snapshot. */
void explain_when(struct explain *, const struct sched_snapshot *, struct explain_view *);

/* Why the nodes that there are never have room for it, whatever ends; NULL: they may. */
const char *explain_never(struct explain *);
/* Shares of its queues and its user, and the checks that PAI-DLC answers with. */
void shares_put(struct explain *, struct explain_view *);
/* Of a job that waits for other jobs: for which. */
void explain_after(struct reader *, const struct sentence *, struct explain_view *);
/* The view of the job with the changes that are asked about, which are made in its place when it
 * waits. 0, or -1 with err. */
int what_if(struct ctl *, const struct explain_ask *, const struct asked_job *,
            struct explain_view *, struct err *);

/* What of all that is tried would start the job now. Each was looked at in a pass with everything
 * else that waits. */
struct change_list changes_find(struct explain *);

#endif
