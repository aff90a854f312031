/* Does the generation that a job's token names live still? Private to ctl/; job_identity.h has what
 * follows for who asks. */
#ifndef CTL_JOB_TOKEN_H
#define CTL_JOB_TOKEN_H

#include "ctl/core.h"

/* The job, NULL: it has ended, or there is another generation. */
struct live_job *job_token_lives(const struct ctl *, struct generation);

#endif
