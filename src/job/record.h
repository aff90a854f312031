/* The canonical job as records keep it: one line of JSON, back to a job. */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include "job/job.h"

/* The result lies in arena whole. NULL: it makes no sense. */
struct job_spec *job_of_text(struct arena *, const char *text);             /* text may be NULL */
struct job_spec *job_of_tree(struct arena *, const struct text_node *tree); /* the same, parsed */

#endif
