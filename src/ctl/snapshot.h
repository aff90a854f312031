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

#endif
