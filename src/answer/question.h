/* Questions to the planner, from outside the core: the snapshot of a pass, and what is known of the
 * jobs in it. Nothing here changes what anybody sees. What is answered lies in the arena that was
 * asked with or is the core's own, and holds until the core's next turn. */
#ifndef ANSWER_QUESTION_H
#define ANSWER_QUESTION_H

#include "inventory/away_view.h"
#include "job/sentence.h"
#include "sched/plan.h"
#include "store/store.h"

struct ctl;
struct queues;
struct reader;
struct run_times;

/* All that waits and runs, as a pass would find it now. Jobs that cannot be read are not in it. */
void question_snapshot(struct ctl *, struct arena *, struct sched_snapshot *);
const struct queues *question_queues(struct ctl *);
/* The position of a user in a queue, as snapshots have it. */
uint32_t question_user(struct ctl *, uint32_t queue, const char *owner);
const struct run_times *question_run_times(struct ctl *);
uint64_t question_next_id(struct ctl *); /* of a job that would be submitted now */

/* Of a job that has not ended; NULL and UINT32_MAX of others, and where it cannot be read. */
const struct job_row *question_row(struct ctl *, uint64_t job);
const struct job_spec *question_spec(struct ctl *, uint64_t job);
uint32_t question_queue(struct ctl *, uint64_t job); /* position of its queue */

struct asked_job {               /* what only the core knows of the job that is asked about */
    struct job_row row;          /* as recorded */
    uint64_t array;              /* number of its array; 0: it is of none */
    const struct job_row *live;  /* as it is; NULL: it has ended, and the rest is not known */
    const struct job_spec *spec; /* NULL: it cannot be read */
    bool waits;                  /* to start, or to be resumed */
    bool bundled;                /* it starts for the first time, together with other jobs */
    uint32_t at_once;            /* so many of its array run at a time, and it is none of them yet;
                                    0: no bound keeps it */
    uint64_t promised_ms;        /* it was told to start by then; 0: it was not */
    enum wait_why why;           /* as the last plan has it */
    struct sentence reason;      /* that the reader may have (reader_text) */
    struct sentence after;       /* for which jobs it waits; text NULL: for none */
    size_t unplaced;             /* it runs: tasks that want a place now */
    struct away_list away;       /* machines that cannot be reached and have tasks of it */
    const struct text_node *early_images; /* fetched while it waits; NULL: none */
};
/* -1: there is none. */
int question_about(struct ctl *, const struct reader *, uint64_t job, struct asked_job *,
                   struct err *);
/* For which jobs one that is not there yet would wait, its names being numbers; text NULL: for
 * none.
 */
struct sentence question_would_wait(struct ctl *, struct arena *, const struct job_spec *);
/* Of an array: its first member that waits to start, one that has its turn before one that has not;
 * the id itself when none does, and of other jobs. */
uint64_t question_member(struct ctl *, uint64_t job);

#endif
