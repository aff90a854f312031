/* Which devices tasks have left since somebody looked at them, and which launches wait for that.
 * Whoever holds a device is taken to have used it. Nothing of it is stored: a server that starts
 * counts as left what its tasks may still have to be launched on. A server that nobody looks for,
 * and a node that is declared, have no such devices; machines look themselves. */
#include "inventory/left_devices.h"

#include "inventory/device_holders.h"
#include "inventory/device_key.h"
#include "inventory/task_devices.h"
#include "live/live.h"

#include "base/map.h"
#include "base/mem.h"

struct left_devices {
    struct left_devices_config config;
    struct string_map *by_key; /* by which leaving, as a number */
    uint64_t leavings;
};

struct left_devices *left_devices_create(const struct left_devices_config *config)
{
    struct left_devices *left = mem_new(sizeof *left);
    *left = (struct left_devices){ .config = *config, .by_key = string_map_create() };
    return left;
}

void left_devices_destroy(struct left_devices *left)
{
    if (!left)
        return;
    string_map_destroy(left->by_key);
    free(left);
}

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

void device_leave(struct left_devices *left, const struct task_place *place)
{
    char key[DEVICE_KEY_MAX];
    if (!left->config.looked_at || !devices_are_local(left->config.cluster, place) ||
        devices_hold(left->config.cluster, place) == GPU_GRANT_NONE)
        return;
    for (uint32_t i = 0; i < place->n_gpus; i++)
        string_map_set(left->by_key, device_key(key, place->node, place->gpus[i]),
                       (void *)(uintptr_t)++left->leavings);
}

void device_leave_loaded(struct left_devices *left, const struct live_job *job)
{
    for (uint32_t flat = 0; job->tasks && flat < job->row.tasks; flat++)
        if (job->tasks[flat].taken && is_to_launch(&job->tasks[flat]))
            device_leave(left, &job->tasks[flat].place);
}

uint64_t device_left(const struct left_devices *left, const char *node, uint32_t device)
{
    char key[DEVICE_KEY_MAX];
    return (uintptr_t)string_map_get(left->by_key, device_key(key, node, device));
}

void device_seen(struct left_devices *left, const char *node, uint32_t device)
{
    const struct left_devices_config *c = &left->config;
    struct holders at = { .job = 0 };
    char key[DEVICE_KEY_MAX];
    if (!string_map_remove(left->by_key, device_key(key, node, device)))
        return;
    for (struct live_job *job; (job = holders_next_due(c->live, &at, node, device));)
        c->touch(c->arg, job);
}

bool device_in_use(const struct left_devices *left, const char *node, uint32_t device)
{
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next(left->config.live, &at, node, device));)
        if (uses_its_place(&job->tasks[at.flat]))
            return true;
    return false;
}

static const char *say_first(const struct left_devices *left, struct arena *arena,
                             const struct task_place *place)
{
    for (uint32_t i = 0; i < place->n_gpus; i++)
        if (device_left(left, place->node, place->gpus[i]))
            return arena_printf(
                arena, "waits until device %s of %s has been looked at: a task has just left it",
                device_name(left->config.cluster, arena, place, i), place->node);
    return NULL;
}

const char *device_check_wait(struct left_devices *left, struct arena *arena,
                              const struct live_job *job)
{
    const char *why = NULL;
    for (uint32_t flat = 0; string_map_count(left->by_key) > 0 && !why && flat < job->row.tasks;
         flat++)
        if (live_due(&job->tasks[flat]))
            why = say_first(left, arena, &job->tasks[flat].place);
    if (why && left->config.look)
        left->config.look(left->config.arg);
    return why;
}
