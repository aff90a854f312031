/* In what a job that is submitted differs from one that was. */
#ifndef SUBMISSION_DIFFERENCE_H
#define SUBMISSION_DIFFERENCE_H

#include "base/arena.h"

#include <stddef.h>

struct job_spec;

/* "roles.w.replicas is 1, not 2; ... and more", in arena: every field but whether it is held. NULL:
 * they are the same. */
const char *job_difference(struct arena *, const struct job_spec *is,
                           const struct job_spec *wanted);

#endif
