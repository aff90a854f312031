/* When is a job over, and does an ended attempt come back: pure decisions over counts (reference
 * openpai.md 3.3, 3.4). */
#ifndef JOB_COMPLETION_H
#define JOB_COMPLETION_H

#include "job/job.h"
#include "job/state.h"

/* Finished tasks of one role so far (final states only). */
struct role_tally {
    uint32_t succeeded, failed, stopped;
};
/* Which rule decided. */
enum verdict_rule {
    VERDICT_NONE,
    VERDICT_FAILED,    /* too many tasks of the role failed */
    VERDICT_SUCCEEDED, /* enough of the role ended with 0 */
    VERDICT_LATE,      /* all tasks ended, and some of the role failed, which decides at the end */
    VERDICT_ALL,       /* all tasks that are waited for ended: ended counts them */
};
struct verdict {
    enum job_outcome outcome; /* OUTCOME_NONE: goes on */
    enum verdict_rule rule;
    uint32_t role;      /* the role whose rule decided */
    uint32_t count, of; /* FAILED SUCCEEDED LATE: so many of its tasks */
    struct role_tally ended;
};
#define VERDICT_TEXT 200
/* "worker: 3 of 3 tasks ended with 0"; "": the job goes on. */
const char *verdict_text(char out[VERDICT_TEXT], const struct job_spec *, const struct verdict *);
/* Rules in order: failed >= done.failed of a role; succeeded >= done.succeeded of a role; all tasks
 * of all roles ended. */
struct verdict job_verdict(const struct job_spec *,
                           const struct role_tally *tally /* one per role */);

enum retry_answer { RETRY_NO, RETRY_NOW, RETRY_LATER };
struct retry_counts { /* retries so far, per class */
    uint32_t platform, conflict, unknown, user, success;
};
struct retry_decision {
    enum retry_answer answer;
    uint64_t delay_ms; /* RETRY_LATER */
    uint32_t next, of; /* "attempt 2 of 3"; of 0: no limit */
};
/* Does an end of this class lead to another attempt, and when. Pure. */
struct retry_decision retry_decide(const struct retry *, const struct retry_counts *,
                                   enum end_class);
void retry_count_one(struct retry_counts *, enum end_class);

#endif
