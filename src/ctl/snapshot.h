/* What the scheduler is asked about in one pass: lines of waiting jobs, tasks that want a place
 * again, what runs, queues and users. Lives in the pass's arena and points into live jobs. */
#ifndef CTL_SNAPSHOT_H
#define CTL_SNAPSHOT_H

#include "sched/plan.h"

struct ctl;
struct live_job;
/* Of everything as pass.h has prepared it; changes nothing. Jobs without a spec are left out. */
void snapshot_make(const struct ctl *, struct arena *, struct sched_snapshot *);
/* bundle_key() of a job that stands aside; NULL also when it has started once, is to wait longer,
 * or its record has not been read. */
const char *snapshot_bundle_key(const struct ctl *, struct arena *, const struct live_job *);

#endif
