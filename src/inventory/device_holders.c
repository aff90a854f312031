/* Looks through the places of active jobs for one device. Who holds it changes with every launch
 * and every end, and it is asked of a device only when something happens to it: no index is kept.
 */
#include "inventory/device_holders.h"

#include "live/live.h"

#include <string.h>

static bool holds(const struct live_task *task, const char *node, uint32_t device)
{
    if (!task->taken || !task->place.node || strcmp(task->place.node, node) != 0)
        return false;
    for (uint32_t i = 0; i < task->place.n_gpus; i++)
        if (task->place.gpus[i] == device)
            return true;
    return false;
}

struct live_job *holders_next(const struct live *live, struct holders *at, const char *node,
                              uint32_t device)
{
    for (; at->job < live_active(live); at->job++, at->next = 0) {
        struct live_job *job = live_active_at(live, at->job);
        while (job->row.gpu_milli > 0 && at->next < job->row.tasks) {
            at->flat = at->next++;
            if (holds(&job->tasks[at->flat], node, device))
                return job;
        }
    }
    return NULL;
}

struct live_job *holders_next_due(const struct live *live, struct holders *at, const char *node,
                                  uint32_t device)
{
    struct live_job *job;
    while ((job = holders_next(live, at, node, device)))
        if (live_due(&job->tasks[at->flat]))
            return job;
    return NULL;
}
