/* From positions of a node to numbers, files and names of its devices, and those that are not given
 * out. Reads the last report of the node's driver. */
#include "ctl/devices.h"

#include "base/map.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/tape_scope.h"
#include "dialect/gpu_share.h"
#include "job/gpu_model.h"
#include "sched/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct gpu_report *report_of(const struct ctl *ctl, const struct task_place *place)
{
    uint32_t node = place->node ? cluster_find(ctl->cluster, place->node) : UINT32_MAX;
    return node == UINT32_MAX ? NULL : cluster_node(ctl->cluster, node).spec->report;
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

enum gpu_grant devices_hold(const struct ctl *ctl, const struct task_place *place)
{
    return hold_of(place->n_gpus ? report_of(ctl, place) : NULL, place);
}

struct task_devices devices_of_task(const struct ctl *ctl, struct arena *arena,
                                    const struct task_place *place)
{
    if (!place->n_gpus)
        return (struct task_devices){ .hold = GPU_GRANT_NONE };
    const struct gpu_report *report = report_of(ctl, place);
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

const char *devices_mps(const struct ctl *ctl, struct arena *arena, const struct account *account)
{
    const char *setting = ctl->config.gpu_mps;
    if (!setting || !*setting)
        return NULL;
    return gpu_share_mps(arena, setting, account ? account->ids.uid : (uint32_t)geteuid());
}

/* ---- devices that are not given out ---- */

const char *device_key(char key[DEVICE_KEY_MAX], const char *node, uint32_t device)
{
    snprintf(key, DEVICE_KEY_MAX, "%u %s", device, node);
    return key;
}

struct closed_device {
    uint32_t subject;
    bool is;
    char why[];
};

static struct closed_device *close_for(const struct device_trouble *trouble)
{
    size_t size = strlen(trouble->why) + 1;
    struct closed_device *closed = mem_new(sizeof *closed + size);
    memcpy(closed->why, trouble->why, size);
    closed->subject = trouble->subject;
    closed->is = trouble->is;
    return closed;
}

static const struct closed_device *find_closed(const struct ctl *ctl, const char *node,
                                               uint32_t device)
{
    char key[DEVICE_KEY_MAX];
    return string_map_get(ctl->closed, device_key(key, node, device));
}

bool devices_trouble(const struct ctl *ctl, const char *node, uint32_t device,
                     struct device_trouble *trouble)
{
    const struct closed_device *closed = find_closed(ctl, node, device);
    if (closed)
        *trouble = (struct device_trouble){ .why = closed->why,
                                            .subject = closed->subject,
                                            .is = closed->is };
    return closed != NULL;
}

const char *devices_why(const struct ctl *ctl, const char *node, uint32_t device)
{
    const struct closed_device *closed = find_closed(ctl, node, device);
    return closed ? closed->why : NULL;
}

const char *devices_shut(const struct ctl *ctl, const struct task_place *place)
{
    const char *why = NULL;
    if (string_map_count(ctl->closed) == 0) /* asked of every task, turn by turn */
        return NULL;
    for (uint32_t i = 0; !why && i < place->n_gpus; i++)
        why = devices_why(ctl, place->node, place->gpus[i]);
    return why;
}

const char *device_name(const struct ctl *ctl, struct arena *arena, const struct task_place *place,
                        uint32_t i)
{
    char label[GPU_LABEL_MAX];
    const struct gpu_device *device = gpu_in_slot(report_of(ctl, place), place->gpus[i]);
    return device ? arena_strdup(arena, gpu_label(device, label))
                  : arena_printf(arena, "%u", place->gpus[i]);
}

static bool is_of_types(const char *model, const struct words *types)
{
    for (size_t i = 0; i < types->n; i++)
        if (gpu_model_is(model, types->at[i]))
            return true;
    return types->n == 0;
}

/* What is not known of it may be of any type. */
static bool is_wanted(const struct gpu_device *device, const struct job_spec *spec,
                      const char *role)
{
    for (size_t i = 0; spec && device && *device->model && i < spec->n_roles; i++) {
        const struct role *one = &spec->roles[i];
        if (one->resources.gpu_milli > 0 && (!role || strcmp(one->name, role) == 0) &&
            is_of_types(device->model, &one->resources.gpu_types))
            return true;
    }
    return !spec || !device || !*device->model;
}

const char *devices_closed(const struct ctl *ctl, struct arena *arena, const struct job_spec *job,
                           const char *role)
{
    const char *first = NULL;
    size_t n = 0;
    for (uint32_t i = 0; string_map_count(ctl->closed) > 0 && i < cluster_count(ctl->cluster);
         i++) {
        const struct node_spec *spec = cluster_node(ctl->cluster, i).spec;
        for (uint32_t k = 0; k < spec->gpus; k++) {
            const char *why = devices_why(ctl, spec->name, k);
            if (!why || !is_wanted(gpu_in_slot(spec->report, k), job, role))
                continue;
            first = first ? first : why;
            n++;
        }
    }
    if (n > 1)
        return arena_printf(arena, "%s; and %zu more", first, n - 1);
    return first ? arena_strdup(arena, first) : NULL;
}

static bool holds(const struct live_task *task, const char *node, uint32_t device)
{
    if (!task->taken || !task->place.node || strcmp(task->place.node, node) != 0)
        return false;
    for (uint32_t i = 0; i < task->place.n_gpus; i++)
        if (task->place.gpus[i] == device)
            return true;
    return false;
}

struct live_job *holders_next(const struct ctl *ctl, struct holders *at, const char *node,
                              uint32_t device)
{
    for (; at->job < live_active(ctl->live); at->job++, at->next = 0) {
        struct live_job *job = live_active_at(ctl->live, at->job);
        while (job->row.gpu_milli > 0 && at->next < job->row.tasks) {
            at->flat = at->next++;
            if (holds(&job->tasks[at->flat], node, device))
                return job;
        }
    }
    return NULL;
}

static void tell_holders(struct ctl *ctl, const char *node, uint32_t device, const char *why)
{
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next(ctl, &at, node, device));)
        event_task_note(ctl, job, at.flat, "device",
                        &(struct reason){ .kind = REASON_SAID, .text = why }, NULL);
}

void devices_touch(struct ctl *ctl, const char *node, uint32_t device)
{
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next(ctl, &at, node, device));)
        if (live_due(&job->tasks[at.flat]))
            core_touch(ctl, job);
}

void devices_close(struct ctl *ctl, const char *node, uint32_t device,
                   const struct device_trouble *trouble)
{
    char key[DEVICE_KEY_MAX];
    uint32_t at = cluster_find(ctl->cluster, node);
    if (at == UINT32_MAX)
        return;
    struct closed_device *before = string_map_remove(ctl->closed, device_key(key, node, device));
    if (trouble)
        string_map_set(ctl->closed, key, close_for(trouble));
    if (trouble && !before)
        tell_holders(ctl, node, device, trouble->why);
    if (trouble)
        devices_touch(ctl, node, device);
    free(before);
    cluster_close_device(ctl->cluster, at, device, trouble != NULL);
    ctl->plan_due = true;
}

void ctl_device(struct ctl *ctl, const char *node, uint32_t device,
                const struct device_trouble *trouble)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_DEVICE,
                                                  .name = node,
                                                  .what = device,
                                                  .why = trouble ? trouble->why : "" });
    devices_close(ctl, node, device, trouble);
}

void ctl_devices(struct ctl *ctl, const char *node, struct gpu_report *report)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_DEVICES, .name = node, .report = report });
    uint32_t at = cluster_find(ctl->cluster, node);
    if (at == UINT32_MAX)
        return;
    struct node_spec spec = *cluster_node(ctl->cluster, at).spec;
    spec.report = report;
    spec.gpus = report->n_slots;
    spec.gpu_type = gpu_models(report, ctl->scratch);
    spec.price_milli = core_price(ctl, spec.gpu_type);
    cluster_put(ctl->cluster, &spec);
    map_destroy(ctl->possible); /* answers for the node of before */
    ctl->possible = map_create();
    ctl->plan_due = true;
}
