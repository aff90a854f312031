/* Waiting for other jobs: names become numbers when the job is submitted (after_blocked is in
 * ctl/core.h). */
#ifndef CTL_AFTER_H
#define CTL_AFTER_H

#include "ctl/ctl.h"

int after_resolve(struct ctl *, struct job_spec *, struct report *);

#endif
