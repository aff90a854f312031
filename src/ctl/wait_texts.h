/* Why a job waits, in words for answers, lists and events. */
#ifndef CTL_WAIT_TEXTS_H
#define CTL_WAIT_TEXTS_H

#include "account/redact.h"
#include "sched/plan.h"

struct ctl;
struct live_job;

/* The nodes as they are have no place for it; more of them would cure that. */
bool reason_is_of_nodes(enum wait_why);
/* The line of a reason of that job's, which names the other job that it is about; in arena. */
struct sentence reason_text(struct ctl *, struct arena *, const struct job_spec *,
                            const struct wait_reason *);

/* What a live job says of why it waits or has ended, for one who may read the job: without what is
 * said of another one that it starts with; other jobs are still named (reader_text). */
struct sentence reason_of(const struct ctl *, const struct reader *, const struct live_job *);
/* Of jobs that start together, is it about one that the reader may not read? */
bool reason_hidden(const struct ctl *, const struct reader *, uint64_t of);
#define REASON_HIDDEN "starts together with others, and another user's job has no room"

#endif
