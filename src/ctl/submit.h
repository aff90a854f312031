/* Submissions that are only looked at (internal to ctl). */
#ifndef CTL_SUBMIT_H
#define CTL_SUBMIT_H

#include "ctl/ctl.h"

/* The job that a submission would make: read, its names resolved, admitted; nothing is stored. In
 * arena. NULL: refused, with err and, where fields are wrong, report. */
const struct job_spec *submit_preview(struct ctl *, struct arena *, const struct ctl_submit *,
                                      struct report *, struct err *);

#endif
