/* What one user may hold of a queue at a time, and what all may. A job counts with all tasks it may
 * ever have. */
#ifndef CTL_SHARE_H
#define CTL_SHARE_H

#include "ctl/ctl.h"
#include "ctl/live.h"

/* A job that alone is more than that can never start in its queue: refused in report. 0, or -1. */
int share_check(const struct ctl *, const struct job_spec *, struct report *);

#endif
