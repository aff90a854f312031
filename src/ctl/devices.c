/* Positions to numbers, and the list of a machine's devices. */
#include "ctl/devices.h"

#include "ctl/core.h"
#include "sched/cluster.h"

static const struct gpu_report *report_of(const struct ctl *ctl, const struct task_place *place)
{
    uint32_t node = place->node ? cluster_find(ctl->cluster, place->node) : UINT32_MAX;
    return node == UINT32_MAX ? NULL : cluster_node(ctl->cluster, node).spec->report;
}

static uint32_t *map_devices(const struct ctl *ctl, struct arena *arena,
                             const struct task_place *place, size_t field)
{
    const struct gpu_report *report = report_of(ctl, place);
    uint32_t *out = ARENA_ARRAY(arena, place->n_gpus, uint32_t);
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(report, place->gpus[i]);
        out[i] = device ? *(const uint32_t *)(const void *)((const char *)device + field)
                        : place->gpus[i];
    }
    return out;
}

uint32_t *devices_numbers(const struct ctl *ctl, struct arena *arena,
                          const struct task_place *place)
{
    return map_devices(ctl, arena, place, offsetof(struct gpu_device, number));
}

uint32_t *devices_minors(const struct ctl *ctl, struct arena *arena, const struct task_place *place)
{
    return map_devices(ctl, arena, place, offsetof(struct gpu_device, minor));
}

enum gpu_hold devices_hold(const struct ctl *ctl, const struct task_place *place)
{
    if (!place->n_gpus || !report_of(ctl, place))
        return GPU_HOLD_NONE;
    return place->gpu_share_milli ? GPU_HOLD_SHARE : GPU_HOLD_WHOLE;
}

static void put_text(struct arena *arena, struct text_node *map, const char *key, const char *text)
{
    if (*text)
        text_str(arena, map, key, text);
}

struct text_node *devices_tree(struct arena *arena, const struct gpu_report *report)
{
    struct text_node *list = text_list(arena, NULL, NULL);
    for (size_t i = 0; i < report->n; i++) {
        const struct gpu_device *device = &report->at[i];
        struct text_node *one = text_map(arena, list, NULL);
        text_int(arena, one, "number", device->number);
        if (device->offered)
            text_int(arena, one, "slot", device->slot);
        text_int(arena, one, "minor", device->minor);
        put_text(arena, one, "model", device->model);
        text_int(arena, one, "memory", (int64_t)device->memory);
        put_text(arena, one, "uuid", device->uuid);
        put_text(arena, one, "pci", device->pci);
        put_text(arena, one, "error", device->error);
    }
    return list;
}
