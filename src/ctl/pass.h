/* A pass of the scheduler: what has to be in order before its snapshot is made (snapshot.h), which
 * changes nothing. */
#ifndef CTL_PASS_H
#define CTL_PASS_H

#include "ctl/contents.h"
#include "ctl/snapshot.h"

struct ctl;
struct live_job;
/* The snapshot that a plan is made of. Before it: waiting jobs whose record cannot be read are
 * ended, those that stood aside and may start join their lines, those that start together with
 * others are told whom they wait for. After it: the core wakes when waiting itself changes whose
 * turn it is. */
void pass_begin(struct ctl *, struct arena *, struct sched_snapshot *);
/* What the next snapshot says of a job that holds something: after a commit that touched it. */
void pass_note(struct ctl *, struct live_job *);

#endif
