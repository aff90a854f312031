/* Rules across the fields of a job. */
#ifndef JOB_CHECK_H
#define JOB_CHECK_H

#include "base/report.h"
#include "job/spec.h"
#include "text/tree.h"

/* Cross-field rules on a job a dialect filled by hand (the same that job_decode applies). */
void job_check(const struct job_spec *, struct report *);
/* As job_check, with the native tree the job came from, so that problems get places. root may be
 * NULL. */
void job_check_at(const struct job_spec *, const struct text_node *root, struct report *);

#endif
