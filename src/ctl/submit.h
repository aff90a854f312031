/* Submissions that are only looked at, and jobs that a submission makes (internal to ctl). */
#ifndef CTL_SUBMIT_H
#define CTL_SUBMIT_H

#include "ctl/ctl.h"
#include "live/live.h"

struct submitted_job {               /* a job whose row was just written */
    const struct live_column *notes; /* what its row keeps */
    const struct job_spec *spec;
    const struct text_node *tree; /* of spec; NULL: it is decoded when it is needed */
    const char *text;             /* of its first event */
    struct text_node *body;       /* of it, or NULL */
};
/* The event makes the job queued (or suspended) and live, and the row says so. */
struct live_job *submit_enter(struct ctl *, struct job_row *, const struct submitted_job *);

#endif
