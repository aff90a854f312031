/* When which live job is to be looked at: a heap by time. An entry says no more than "look then";
 * what is due follows from the job's state, so one that has become pointless harms nobody. */
#include "base/heap.h"
#include "ctl/core.h"

void core_deadline(struct ctl *ctl, const struct live_job *job, uint64_t at_ms)
{
    if (at_ms == 0)
        return;
    heap_push(&ctl->deadlines, ((struct deadline){ .at_ms = at_ms, .job = job->row.id }));
    core_wake(ctl, at_ms);
}

uint64_t deadlines_first(const struct ctl *ctl)
{
    return ctl->deadlines.n ? ctl->deadlines.at[0].at_ms : 0;
}

uint64_t deadlines_take(struct ctl *ctl)
{
    struct deadline first;
    heap_take(&ctl->deadlines, &first);
    return first.job;
}
