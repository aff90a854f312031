/* A map from device to trouble beside the accounting of the cluster, which knows no reasons. Who
 * has a device that is closed hears of it once, when it closes. */
#include "inventory/closed_devices.h"

#include "inventory/device_holders.h"
#include "inventory/device_key.h"
#include "job/gpu.h"
#include "job/gpu_model.h"
#include "sched/cluster.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct closed_devices {
    struct closed_devices_config config;
    struct string_map *by_key; /* device_key.h */
};

struct closed_device {
    uint32_t subject;
    bool is;
    char why[];
};

struct closed_devices *closed_devices_create(const struct closed_devices_config *config)
{
    struct closed_devices *closed = mem_new(sizeof *closed);
    *closed = (struct closed_devices){ .config = *config, .by_key = string_map_create() };
    return closed;
}

void closed_devices_destroy(struct closed_devices *closed)
{
    if (!closed)
        return;
    string_map_destroy_with(closed->by_key, free);
    free(closed);
}

static struct closed_device *close_for(const struct device_trouble *trouble)
{
    size_t size = strlen(trouble->why) + 1;
    struct closed_device *one = mem_new(sizeof *one + size);
    memcpy(one->why, trouble->why, size);
    one->subject = trouble->subject;
    one->is = trouble->is;
    return one;
}

static void tell_holders(struct closed_devices *closed, const char *node, uint32_t device,
                         const char *why)
{
    const struct closed_devices_config *c = &closed->config;
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next(c->live, &at, node, device));)
        c->holds(c->arg, job, at.flat, why);
}

static void touch_holders(struct closed_devices *closed, const char *node, uint32_t device)
{
    const struct closed_devices_config *c = &closed->config;
    struct holders at = { .job = 0 };
    for (struct live_job *job; (job = holders_next_due(c->live, &at, node, device));)
        c->touch(c->arg, job);
}

bool device_close(struct closed_devices *closed, const char *node, uint32_t device,
                  const struct device_trouble *trouble)
{
    char key[DEVICE_KEY_MAX];
    uint32_t at = cluster_find(closed->config.cluster, node);
    if (at == UINT32_MAX)
        return false;
    struct closed_device *before = string_map_remove(closed->by_key, device_key(key, node, device));
    if (trouble)
        string_map_set(closed->by_key, key, close_for(trouble));
    if (trouble && !before)
        tell_holders(closed, node, device, trouble->why);
    if (trouble)
        touch_holders(closed, node, device);
    free(before);
    cluster_close_device(closed->config.cluster, at, device, trouble != NULL);
    return true;
}

/* ---- reading ---- */

static const struct closed_device *find(const struct closed_devices *closed, const char *node,
                                        uint32_t device)
{
    char key[DEVICE_KEY_MAX];
    return string_map_get(closed->by_key, device_key(key, node, device));
}

bool device_trouble(const struct closed_devices *closed, const char *node, uint32_t device,
                    struct device_trouble *trouble)
{
    const struct closed_device *one = find(closed, node, device);
    if (one)
        *trouble =
            (struct device_trouble){ .why = one->why, .subject = one->subject, .is = one->is };
    return one != NULL;
}

const char *closed_in_place(const struct closed_devices *closed, const struct task_place *place)
{
    const struct closed_device *one = NULL;
    if (string_map_count(closed->by_key) == 0) /* asked of every task, turn by turn */
        return NULL;
    for (uint32_t i = 0; !one && i < place->n_gpus; i++)
        one = find(closed, place->node, place->gpus[i]);
    return one ? one->why : NULL;
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

const char *closed_for_job(const struct closed_devices *closed, struct arena *arena,
                           const struct job_spec *job, const char *role)
{
    const struct cluster *cluster = closed->config.cluster;
    const struct closed_device *first = NULL;
    size_t n = 0;
    for (uint32_t i = 0; string_map_count(closed->by_key) > 0 && i < cluster_count(cluster); i++) {
        const struct node_spec *spec = cluster_node(cluster, i).spec;
        for (uint32_t k = 0; k < spec->gpus; k++) {
            const struct closed_device *one = find(closed, spec->name, k);
            if (!one || !is_wanted(gpu_in_slot(spec->report, k), job, role))
                continue;
            first = first ? first : one;
            n++;
        }
    }
    if (n > 1)
        return arena_printf(arena, "%s; and %zu more", first->why, n - 1);
    return first ? arena_strdup(arena, first->why) : NULL;
}
