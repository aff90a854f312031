/* Who a program of a job is: by its token, or because it was seen to be one. Each function fills
 * *who and returns 0, or -1. */
#ifndef ACCESS_JOB_IDENTITY_H
#define ACCESS_JOB_IDENTITY_H

#include "access/job_access.h"
#include "account/identity.h"
#include "base/err.h"
#include "job/ids.h"

/* The job, while that generation of it lives; NULL: it has ended, or there is another one. */
struct live_job *find_generation(const struct job_access *, struct generation);
/* By a token that a job's programs find in their environment (token_is_of_job()): it is good while
 * that generation lives. */
int identify_by_job_token(const struct job_access *, struct arena *, const char *token,
                          struct identity *who, struct err *err);
/* A program of that job that needs no token: it was seen to be one. */
int identify_by_job(const struct job_access *, struct arena *, struct generation,
                    struct identity *who, struct err *err);
/* Which is that of a process of this machine? As find_process of engine/engine.h. */
int find_job_of_process(const struct job_access *, uint32_t pid, struct generation *);

#endif
