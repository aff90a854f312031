/* Tasks of jobs by the names that commands call them by (ctl_exec and ctl_signal of ctl/ctl.h live
 * in the same file). */
#ifndef CTL_TASKS_H
#define CTL_TASKS_H

#include "ctl/ctl.h"

/* Flat position of "worker/2" of a live job whose spec is there; "worker" means worker/0.
 * UINT32_MAX: it has no such task. */
struct live_job;
uint32_t tasks_find(const struct live_job *, const char *text);
/* The same of a job that may have no tasks yet; false: it has no such task. */
bool tasks_read_ref(const struct job_spec *, const char *text, struct task_ref *);

#endif
