/* What the core does for jobs that wait for other jobs (depend/dependency.h). */
#ifndef CTL_DEPEND_WORK_H
#define CTL_DEPEND_WORK_H

#include <stdbool.h>

struct depend_answer;
struct arena;
struct ctl;
struct job_spec;
struct live_job;
struct report;

/* Numbers for names, and in the report what can never come true: unknown jobs (also those that the
 * owner may not read), ends that exclude each other, members matched with jobs that have none of
 * their index. */
int depend_work_resolve(struct ctl *, const char *owner, struct job_spec *, struct report *);
/* Who waits no longer joins the queue, who never can run ends. false: nothing was asked. */
bool depend_work_settle(struct ctl *);

#endif
