/* What the scheduler is asked about in one pass: lines of waiting jobs, tasks that want a place
 * again, what runs, queues and users. Lives in the pass's arena and points into live jobs. */
#ifndef CTL_SNAPSHOT_H
#define CTL_SNAPSHOT_H

#include "ctl/live.h"

struct ctl;
/* Jobs that can never run, or whose record cannot be read, are ended on the way; those that stand
 * aside and may start now join their lines. */
void snapshot_make(struct ctl *, struct arena *, struct sched_snapshot *);
/* What the next snapshot says of a job that holds something: after a commit that touched it. */
void snapshot_note(struct ctl *, struct live_job *);

/* The same to ask something of: nothing is changed, and those that cannot be read are left out. */
void snapshot_look(struct ctl *, struct arena *, struct sched_snapshot *);
/* Of such a copy: without this waiting job; with one more. */
void snapshot_drop(struct arena *, struct sched_snapshot *, uint64_t job);
void snapshot_add(struct ctl *, struct arena *, struct sched_snapshot *, const struct sched_job *);
/* A job of that owner in that queue as the scheduler sees it; it came last. */
struct sched_job snapshot_newcomer(struct ctl *, const struct job_spec *, const char *owner);

#endif
