/* Which devices tasks have left since somebody looked at them, and which launches wait for that.
 * Whoever holds a device is taken to have used it. Nothing of it is stored: a server that starts
 * counts as left what its tasks may still have to be launched on. A core that nobody looks for, and
 * a node that is declared, have no such devices. */
#include "ctl/device_check.h"

#include "base/map.h"
#include "ctl/core.h"
#include "ctl/devices.h"
#include "ctl/tape_scope.h"
#include "sched/cluster.h"

/* Now, by a retry in its place, or when it was told of before a restart: once more. */
static bool is_to_launch(const struct live_task *task)
{
    return live_due(task) || phase_postponed(task->phase) || live_again(task);
}

/* Others are between two attempts, wait for their launch, or may never have been launched: what is
 * told once more after a restart has no process that is known yet. */
static bool uses_its_place(const struct live_task *task)
{
    return task->taken && !live_again(task) && !live_untold(task) &&
           task->phase != PHASE_RELAUNCH && task->phase != PHASE_RELAUNCH_LATER;
}

void device_check_leave(struct ctl *ctl, const struct task_place *place)
{
    char key[DEVICE_KEY_MAX];
    uint32_t at = cluster_find(ctl->cluster, place->node);
    bool here = at != UINT32_MAX && !cluster_node(ctl->cluster, at).spec->machine;
    bool looked_at = here && (ctl->config.look || taped_replays(ctl));
    if (!looked_at || devices_hold(ctl, place) == GPU_GRANT_NONE)
        return;
    for (uint32_t i = 0; i < place->n_gpus; i++)
        string_map_set(ctl->left, device_key(key, place->node, place->gpus[i]),
                       (void *)(uintptr_t)++ctl->counters.leavings);
}

void device_check_load(struct ctl *ctl, const struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        if (job->tasks[flat].taken && is_to_launch(&job->tasks[flat]))
            device_check_leave(ctl, &job->tasks[flat].place);
}

static const char *say_first(const struct ctl *ctl, struct arena *arena,
                             const struct task_place *place)
{
    for (uint32_t i = 0; i < place->n_gpus; i++)
        if (ctl_device_left(ctl, place->node, place->gpus[i]))
            return arena_printf(
                arena, "waits until device %s of %s has been looked at: a task has just left it",
                device_name(ctl, arena, place, i), place->node);
    return NULL;
}

const char *device_check_wait(struct ctl *ctl, struct arena *arena, const struct live_job *job)
{
    const char *why = NULL;
    for (uint32_t flat = 0; string_map_count(ctl->left) > 0 && !why && flat < job->row.tasks;
         flat++)
        if (live_due(&job->tasks[flat]))
            why = say_first(ctl, arena, &job->tasks[flat].place);
    if (why && ctl->config.look)
        ctl->config.look(ctl->config.look_arg);
    return why;
}

bool ctl_device_in_use(const struct ctl *ctl, const char *node, uint32_t device)
{
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next(ctl, &at, node, device));)
        if (uses_its_place(&job->tasks[at.flat]))
            return true;
    return false;
}

uint64_t ctl_device_left(const struct ctl *ctl, const char *node, uint32_t device)
{
    char key[DEVICE_KEY_MAX];
    return (uintptr_t)string_map_get(ctl->left, device_key(key, node, device));
}

void ctl_device_seen(struct ctl *ctl, const char *node, uint32_t device)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_SEEN, .name = node, .what = device });
    char key[DEVICE_KEY_MAX];
    if (string_map_remove(ctl->left, device_key(key, node, device)))
        devices_touch(ctl, node, device);
}
