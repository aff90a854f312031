/* Tasks of jobs by the names that people call them by, and the way into one that runs: commands
 * inside it, signals to its processes. */
#ifndef ACCESS_TASK_ENTRY_H
#define ACCESS_TASK_ENTRY_H

#include "access/job_access.h"
#include "base/err.h"
#include "engine/engine.h"

/* Flat position of "worker/2" of a live job whose spec is there; "worker" means worker/0.
 * UINT32_MAX: it has no such task. */
uint32_t task_find(const struct live_job *, const char *text);
/* The same of a job that may have no tasks yet; false: it has no such task. */
bool task_read_ref(const struct job_spec *, const char *text, struct task_ref *);

struct task_target {
    const char *owner; /* who asks; another than the job's is refused, unless they may write it */
    uint64_t job;
    const char *task; /* role or role/0; NULL: the only one that runs */
};
/* Where it runs is filled in here. -1 with err. */
int task_exec(const struct job_access *, const struct task_target *, struct engine_exec *,
              struct err *);
/* A signal (job/signals.h) to the processes of the task: done with how many heard it, as
 * engine_signal has it; -1 with err, and done is never called. */
struct task_signal {
    struct task_target to;
    int signal;
    void (*done)(void *arg, int heard);
    void *arg;
};
int task_signal(const struct job_access *, const struct task_signal *, struct err *);

#endif
