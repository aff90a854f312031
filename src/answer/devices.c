/* Devices as answers: each as its node's driver described it last, and why it is not given out.
 * Figures that nobody knows are left out. */
#include "answer/devices.h"

#include "ctl/ctl.h"
#include "inventory/closed_devices.h"
#include "job/gpu.h"
#include "sched/cluster.h"
#include "text/tree.h"

static void put_text(struct arena *arena, struct text_node *map, const char *key, const char *text)
{
    if (*text)
        text_str(arena, map, key, text);
}

static void put_throttle(struct arena *arena, struct text_node *one, const struct gpu_number *bits)
{
    struct text_node *list = bits->has ? text_list(arena, one, "throttle") : NULL;
    size_t at = 0;
    for (const char *word; list && (word = gpu_throttle(bits->value, &at));)
        text_str(arena, list, NULL, word);
}

static void put_processes(struct arena *arena, struct text_node *one,
                          const struct gpu_device *device)
{
    struct text_node *list = text_list(arena, one, "process_list");
    for (size_t i = 0; i < device->n_processes; i++) {
        struct text_node *process = text_map(arena, list, NULL);
        text_int(arena, process, "pid", device->processes[i].pid);
        text_int(arena, process, "memory", (int64_t)device->processes[i].memory);
    }
}

/* The sentence, and what it says of the device without its name. */
static void put_closed(struct arena *arena, struct text_node *one,
                       const struct device_trouble *trouble)
{
    put_text(arena, one, "closed", trouble->why);
    if (trouble->subject)
        put_text(arena, one, trouble->is ? "closed_is" : "closed_says",
                 trouble->why + trouble->subject + (trouble->is ? sizeof " is " : sizeof ": ") - 1);
}

/* Figures that the driver does not say are left out. */
static void put_device(const struct contents *core, struct arena *arena,
                       const struct node_spec *spec, const struct gpu_device *device,
                       struct text_node *list)
{
    char label[GPU_LABEL_MAX];
    struct device_trouble trouble;
    struct text_node *one = text_map(arena, list, NULL);
    text_int(arena, one, "number", device->number);
    text_str(arena, one, "name", gpu_label(device, label));
    if (device->offered)
        text_int(arena, one, "slot", device->slot);
    text_int(arena, one, "minor", device->minor);
    put_text(arena, one, "model", device->model);
    text_int(arena, one, "memory", (int64_t)device->memory);
    put_text(arena, one, "uuid", device->uuid);
    put_text(arena, one, "pci", device->pci);
    if (device->divided)
        text_bool(arena, one, "mig", true);
    put_text(arena, one, "error", device->error);
    for (size_t i = 0; i < GPU_FIGURE_N; i++)
        if (device->figures[i].has)
            text_int(arena, one, gpu_figure_key((enum gpu_figure)i),
                     (int64_t)device->figures[i].value);
    put_throttle(arena, one, &device->figures[GPU_THROTTLE]);
    if (!*device->error && !*spec->report->error) {
        text_int(arena, one, "processes", (int64_t)device->n_processes);
        put_processes(arena, one, device);
    }
    if (device->offered && device_trouble(core->closed_devices, spec->name, device->slot, &trouble))
        put_closed(arena, one, &trouble);
}

/* The spec of a place's node; NULL: there is no such node. */
static const struct node_spec *node_of(const struct contents *core, const struct task_place *place)
{
    uint32_t node = place->node ? cluster_find(core->cluster, place->node) : UINT32_MAX;
    return node == UINT32_MAX ? NULL : cluster_node(core->cluster, node).spec;
}

uint32_t *devices_numbers(const struct contents *core, struct arena *arena,
                          const struct task_place *place)
{
    const struct node_spec *spec = node_of(core, place);
    uint32_t *out = ARENA_ARRAY(arena, place->n_gpus, uint32_t);
    for (uint32_t i = 0; i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(spec ? spec->report : NULL, place->gpus[i]);
        out[i] = device ? device->number : place->gpus[i];
    }
    return out;
}

struct text_node *devices_tree(const struct contents *core, struct arena *arena,
                               const struct node_spec *spec)
{
    struct text_node *list = text_list(arena, NULL, NULL);
    for (size_t i = 0; i < spec->report->n; i++)
        put_device(core, arena, spec, &spec->report->at[i], list);
    return list;
}

struct text_node *devices_of_place(const struct contents *core, struct arena *arena,
                                   const struct task_place *place)
{
    const struct node_spec *spec = node_of(core, place);
    struct text_node *list = NULL;
    for (uint32_t i = 0; spec && i < place->n_gpus; i++) {
        const struct gpu_device *device = gpu_in_slot(spec->report, place->gpus[i]);
        list = device && !list ? text_list(arena, NULL, NULL) : list;
        if (device)
            put_device(core, arena, spec, device, list);
    }
    return list;
}
