/* How long jobs ran, learnt from those that ended: the newest RUN_TIMES_JOBS of them, by owner and
 * name, and by queue. Nothing of it is written: a restarted server learns it again from the rows of
 * the newest jobs. It serves estimates only; no plan looks at it. */
#ifndef LEARN_RUN_TIMES_H
#define LEARN_RUN_TIMES_H

#include "store/store.h"

#define RUN_TIMES_JOBS    4096u
#define RUN_TIMES_SAMPLES 64u /* of a group: the newest */
#define RUN_TIMES_NAME    3u  /* so many have to be known of an owner and a name */
#define RUN_TIMES_QUEUE   8u  /* of a queue */

struct run_times;

struct run_times *run_times_create(void);
void run_times_destroy(struct run_times *); /* NULL-safe */
/* At the start, from the rows. */
void run_times_load(struct run_times *, struct store *);
/* A job is in a final state; in the turn that records it. Jobs that somebody stopped, and those
 * that never ran, say nothing. */
void run_times_ended(struct run_times *, const struct job_row *);
void run_times_committed(struct run_times *);
void run_times_undone(struct run_times *); /* the commit failed */

struct run_samples {    /* of jobs like one */
    const uint64_t *ms; /* sorted; good until the next commit */
    uint32_t n;
    bool of_queue; /* its owner has too few of its name: of all jobs of its queue */
};
/* false: too few are known. */
bool run_times_find(const struct run_times *, const struct job_row *of, struct run_samples *);
/* Of those jobs, the run time that so many thousandths do not exceed. */
uint64_t run_samples_at(const struct run_samples *, uint32_t thousandths);
/* The same of those that ran longer than ran_ms; 0: none did. */
uint64_t run_samples_beyond(const struct run_samples *, uint64_t ran_ms, uint32_t thousandths);

#endif
