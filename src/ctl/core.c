/* What the core's files ask of it all the time: to be woken, to look at a job in this turn, to look
 * for places of its tasks, where data lie; and what it hands out to be read. Memory only. */
#include "ctl/core.h"

#include "catalogue/declarations.h"

void core_wake(struct ctl *ctl, uint64_t at_ms)
{
    if (at_ms == 0 || (ctl->wake_at && ctl->wake_at <= at_ms))
        return;
    ctl->wake_at = at_ms;
    if (ctl->config.wake)
        ctl->config.wake(ctl->config.wake_arg, at_ms);
}

void core_touch(struct ctl *ctl, struct live_job *job)
{
    if (job->touched)
        return;
    job->touched = true;
    vec_push(&ctl->touched, job->row.id);
}

void core_wants(struct ctl *ctl, struct live_job *job)
{
    if (job->wanting || live_in_phase(job, PHASE_UNPLACED) == 0)
        return;
    job->wanting = true;
    vec_push(&ctl->wanting, job->row.id);
}

struct storage core_storage(const struct ctl *ctl, const char *work_dir)
{
    return (struct storage){ .roots = ctl->config.roots,
                             .n_roots = ctl->config.n_roots,
                             .catalogue = declarations_catalogue(ctl->declarations),
                             .work_dir = work_dir };
}

struct contents ctl_contents(struct ctl *ctl)
{
    return (struct contents){ .ctl = ctl,
                              .store = ctl->config.store,
                              .dialects = ctl->config.dialects,
                              .accounts = ctl->accounts,
                              .live = ctl->live,
                              .arrays = ctl->arrays,
                              .cluster = ctl->cluster,
                              .nodes = ctl->nodes,
                              .closed_devices = ctl->closed_devices,
                              .queues = ctl->queues,
                              .run_times = ctl->run_times,
                              .counters = &ctl->counters,
                              .images = ctl->images,
                              .state_dir = ctl->config.state_dir,
                              .runs_dir = ctl->config.runs_dir,
                              .python = ctl->config.python,
                              .last_id = ctl->last_id };
}
