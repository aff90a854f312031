/* What the scheduler is asked about in one pass: lines of waiting jobs, tasks that want a place
 * again, what runs, queues and users. Lives in the pass's arena and points into live jobs. */
#ifndef CTL_SNAPSHOT_H
#define CTL_SNAPSHOT_H

#include "ctl/live.h"

struct ctl;
/* Of everything as pass.h has prepared it; changes nothing. Jobs without a spec are left out. */
void snapshot_make(const struct ctl *, struct arena *, struct sched_snapshot *);

/* To ask something of: without this waiting job; with one more. */
void snapshot_drop(struct arena *, struct sched_snapshot *, uint64_t job);
void snapshot_add(const struct ctl *, struct arena *, struct sched_snapshot *,
                  const struct sched_job *);
/* A job of that owner in that queue as the scheduler sees it; it came last. */
struct sched_job snapshot_newcomer(struct ctl *, const struct job_spec *, const char *owner);

#endif
