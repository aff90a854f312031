/* From positions of a node to numbers, files and names of its devices. Reads the last report of the
 * node's driver. */
#include "inventory/task_devices.h"

#include "dialect/gpu_share.h"
#include "sched/cluster.h"

#include <unistd.h>

static const struct gpu_report *report_of(const struct cluster *cluster,
                                          const struct task_place *place)
{
    uint32_t node = place->node ? cluster_find(cluster, place->node) : UINT32_MAX;
    return node == UINT32_MAX ? NULL : cluster_node(cluster, node).spec->report;
}

static uint32_t *map_devices(const struct gpu_report *report, struct arena *arena,
                             const struct task_place *place, size_t field)
{
    uint32_t *out = ARENA_ARRAY(arena, place->n_gpus, uint32_t);
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(report, place->gpus[i]);
        out[i] = device ? *(const uint32_t *)(const void *)((const char *)device + field)
                        : place->gpus[i];
    }
    return out;
}

static uint32_t *numbers_of(const struct gpu_report *report, struct arena *arena,
                            const struct task_place *place)
{
    return map_devices(report, arena, place, offsetof(struct gpu_device, number));
}

static const char **names_of(const struct gpu_report *report, struct arena *arena,
                             const struct task_place *place)
{
    bool divided = false;
    for (size_t i = 0; report && i < report->n; i++)
        divided = divided || report->at[i].divided;
    if (!divided)
        return NULL;
    const char **names = ARENA_ARRAY(arena, place->n_gpus, const char *);
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(report, place->gpus[i]);
        names[i] = device && *device->uuid ? arena_strdup(arena, device->uuid)
                                           : arena_printf(arena, "%u", place->gpus[i]);
    }
    return names;
}

static struct gpu_part *parts_of(const struct gpu_report *report, struct arena *arena,
                                 const struct task_place *place)
{
    struct gpu_part *parts = ARENA_ARRAY(arena, place->n_gpus, struct gpu_part);
    bool any = false;
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(report, place->gpus[i]);
        if (device)
            parts[i] = gpu_part_of(device);
        any = any || parts[i].is;
    }
    return any ? parts : NULL;
}

static enum gpu_grant hold_of(const struct gpu_report *report, const struct task_place *place)
{
    if (!place->n_gpus || !report)
        return GPU_GRANT_NONE;
    return place->gpu_share_milli ? GPU_GRANT_SHARE : GPU_GRANT_WHOLE;
}

enum gpu_grant devices_hold(const struct cluster *cluster, const struct task_place *place)
{
    return hold_of(place->n_gpus ? report_of(cluster, place) : NULL, place);
}

bool devices_are_local(const struct cluster *cluster, const struct task_place *place)
{
    uint32_t at = cluster_find(cluster, place->node);
    return at != UINT32_MAX && !cluster_node(cluster, at).spec->machine;
}

struct task_devices devices_of_task(const struct cluster *cluster, struct arena *arena,
                                    const struct task_place *place)
{
    if (!place->n_gpus)
        return (struct task_devices){ .hold = GPU_GRANT_NONE };
    const struct gpu_report *report = report_of(cluster, place);
    const struct gpu_device *first = gpu_in_slot(report, place->gpus[0]);
    return (struct task_devices){
        .numbers = numbers_of(report, arena, place),
        .minors = map_devices(report, arena, place, offsetof(struct gpu_device, minor)),
        .names = names_of(report, arena, place),
        .parts = parts_of(report, arena, place),
        .hold = hold_of(report, place),
        .memory = first ? first->memory : 0,
    };
}

const char *devices_mps(const char *setting, struct arena *arena, const struct account *account)
{
    if (!setting || !*setting)
        return NULL;
    return gpu_share_mps(arena, setting, account ? account->ids.uid : (uint32_t)geteuid());
}

const char *device_name(const struct cluster *cluster, struct arena *arena,
                        const struct task_place *place, uint32_t i)
{
    char label[GPU_LABEL_MAX];
    const struct gpu_device *device = gpu_in_slot(report_of(cluster, place), place->gpus[i]);
    return device ? arena_strdup(arena, gpu_label(device, label))
                  : arena_printf(arena, "%u", place->gpus[i]);
}
