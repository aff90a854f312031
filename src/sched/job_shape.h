/* Equal for jobs that ask for the same: one does not fit where the other did not. */
#ifndef SCHED_JOB_SHAPE_H
#define SCHED_JOB_SHAPE_H

#include <stdint.h>

struct job_spec;

uint64_t job_shape(const struct job_spec *); /* 63 bits */

#endif
