/* Which devices of a machine are offered. CUDA ignores what follows the first entry of its variable
 * that names no device, so the same is done here. */
#include "job/gpu.h"

#include "base/buf.h"
#include "base/scan.h"

#include <string.h>

#define ENTRY_MAX  96u
#define MODELS_MAX 4096u

static struct gpu_device *find_named(const struct gpu_report *report, const char *entry)
{
    uint64_t number;
    bool numbered = scan_u64(entry, 0, UINT32_MAX, &number);
    for (size_t i = 0; i < report->n; i++) {
        struct gpu_device *device = &report->at[i];
        if (numbered ? device->number == number
                     : *entry && strncmp(device->uuid, entry, strlen(entry)) == 0)
            return device;
    }
    return NULL;
}

/* Marks those that are named. */
static void mark_visible(struct gpu_report *report, const char *visible)
{
    for (const char *at = visible; *at;) {
        char entry[ENTRY_MAX];
        size_t n = strcspn(at, ",");
        if (n >= sizeof entry)
            return;
        memcpy(entry, at, n);
        entry[n] = '\0';
        struct gpu_device *device = find_named(report, entry + strspn(entry, " "));
        if (!device)
            return;
        device->offered = true;
        at += n + (at[n] == ',');
    }
}

uint32_t gpu_offer(struct gpu_report *report, const char *visible)
{
    uint32_t n = 0;
    for (size_t i = 0; i < report->n; i++)
        report->at[i].offered = !visible;
    if (visible)
        mark_visible(report, visible);
    for (size_t i = 0; i < report->n; i++) {
        struct gpu_device *device = &report->at[i];
        device->offered = device->offered && !*device->error;
        device->slot = device->offered ? n++ : 0;
    }
    return n;
}

const struct gpu_device *gpu_in_slot(const struct gpu_report *report, uint32_t slot)
{
    for (size_t i = 0; report && i < report->n; i++)
        if (report->at[i].offered && report->at[i].slot == slot)
            return &report->at[i];
    return NULL;
}

static bool seen_before(const struct gpu_report *report, size_t device)
{
    for (size_t i = 0; i < device; i++)
        if (report->at[i].offered && strcmp(report->at[i].model, report->at[device].model) == 0)
            return true;
    return false;
}

const char *gpu_models(const struct gpu_report *report, struct arena *arena)
{
    AUTO_BUF struct buf text = BUF_INIT(MODELS_MAX);
    for (size_t i = 0; i < report->n; i++)
        if (report->at[i].offered && *report->at[i].model && !seen_before(report, i))
            buf_addf(&text, "%s%s", text.len ? GPU_MODELS_APART : "", report->at[i].model);
    return arena_strdup(arena, buf_str(&text));
}
