/* Tasks of any job, live or ended, as views (ctl_logs and ctl_exec of ctl/ctl.h live in the same
 * file). */
#ifndef CTL_TASKS_H
#define CTL_TASKS_H

#include "ctl/ctl.h"

/* The job's canonical form: the live one, or decoded into arena. NULL: cannot be read. */
const struct job_spec *tasks_spec(struct ctl *, struct arena *, const struct job_row *);
/* Flat position of a row's task, or UINT32_MAX when the job has none such. */
uint32_t tasks_flat(const struct job_spec *, struct task_ref);
/* Flat position of "worker/2" of a live job whose spec is there; "worker" means worker/0.
 * UINT32_MAX: it has no such task. */
struct live_job;
uint32_t tasks_find(const struct live_job *, const char *text);
/* The same of a job that may have no tasks yet; false: it has no such task. */
bool tasks_read_ref(const struct job_spec *, const char *text, struct task_ref *);
/* Tasks of a role of a job, to be read together. */
struct task_source {
    const struct job_row *job;
    const struct job_spec *spec;
};
struct task_span {
    uint32_t role, first, n;
};
/* Those tasks, with their attempts, into out; returns how many these are. */
struct task_view;
struct task_list;
size_t tasks_read(struct ctl *, struct arena *, const struct task_source *,
                  const struct task_span *, struct task_view *out);
/* All of them, roles in order. */
struct task_list tasks_all(struct ctl *, struct arena *, const struct job_row *);

#endif
