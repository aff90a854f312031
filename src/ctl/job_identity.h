/* Who a program of a job is: by its token, or because it was seen to be one. Each function fills
 * *who and returns 0, or -1. Nothing here waits for a turn. */
#ifndef CTL_JOB_IDENTITY_H
#define CTL_JOB_IDENTITY_H

#include "account/identity.h"
#include "ctl/ctl.h"

/* A token that a job's programs find in their environment: it is good while that generation of the
 * job lives. */
bool ctl_is_job_token(const char *token); /* by its looks */
int ctl_identity_job_token(struct ctl *, struct arena *, const char *token, struct identity *who,
                           struct err *err);
/* A program of that job that needs no token: it was seen to be one. */
int ctl_identity_of_job(struct ctl *, struct arena *, struct generation, struct identity *who,
                        struct err *err);
/* Which is that of a process of this machine? As find_process of engine/engine.h. */
int ctl_find_process(struct ctl *, uint32_t pid, struct generation *);

#endif
