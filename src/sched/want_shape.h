/* Equal for jobs that ask for the same: one does not fit where the other did not. */
#ifndef SCHED_WANT_SHAPE_H
#define SCHED_WANT_SHAPE_H

#include <stdint.h>

struct job_spec;

uint64_t want_shape(const struct job_spec *); /* 63 bits */

#endif
