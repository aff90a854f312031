/* Rules across the fields of a job. */
#ifndef JOB_CHECK_H
#define JOB_CHECK_H

#include "job/job.h"

/* As job_check, with the native tree the job came from, so that problems get places. root may be
 * NULL. */
void job_check_at(const struct job_spec *, const struct text_node *root, struct report *);

#endif
