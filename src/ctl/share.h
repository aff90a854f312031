/* What one user may hold of a queue at a time: user_cpu and user_gpu of its quota in the catalogue.
 * A job counts with all tasks it may ever have. */
#ifndef CTL_SHARE_H
#define CTL_SHARE_H

#include "ctl/ctl.h"
#include "ctl/live.h"

/* A job that alone is more than that is refused in report. 0, or -1. */
int share_check(const struct catalogue *, const struct job_spec *, struct report *);

#endif
