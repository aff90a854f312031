/* Which devices of a machine are offered. CUDA ignores what follows the first entry of its variable
 * that names no device, so the same is done here. */
#include "job/gpu.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define ENTRY_MAX  96u
#define MODELS_MAX 4096u

static const char *const figure_keys[GPU_FIGURE_N] = {
#define GPU_FIGURE_KEY(name_, key_) [GPU_##name_] = (key_),
    GPU_FIGURES(GPU_FIGURE_KEY)
#undef GPU_FIGURE_KEY
};

const char *gpu_figure_key(enum gpu_figure figure)
{
    return figure_keys[figure];
}

/* ---- what is visible ---- */

static bool is_instance(const struct gpu_device *device)
{
    return device->figures[GPU_MIG].has;
}

/* By number; by the beginning of its UUID; an instance of MIG also as "MIG-UUID/GI/CI", the form of
 * older drivers, which is its UUID there. */
static bool is_named(const struct gpu_device *device, const char *entry)
{
    uint64_t number;
    if (scan_u64(entry, 0, UINT32_MAX, &number))
        return device->number == number && !is_instance(device) && !device->gone;
    return *entry && strncmp(device->uuid, entry, strlen(entry)) == 0;
}

static size_t find_named(const struct gpu_report *report, const char *entry)
{
    size_t i = 0;
    while (i < report->n && !is_named(&report->at[i], entry))
        i++;
    return i;
}

/* Is the device the one that was named, or an instance of it? */
static bool is_within(const struct gpu_device *device, const struct gpu_device *named)
{
    return device == named ||
           (named->divided && is_instance(device) && device->number == named->number);
}

/* Marks those that are named. */
static void mark_visible(const struct gpu_report *report, const char *visible, bool *marks)
{
    for (const char *at = visible; *at;) {
        char entry[ENTRY_MAX];
        size_t n = strcspn(at, ",");
        if (n >= sizeof entry)
            return;
        memcpy(entry, at, n);
        entry[n] = '\0';
        size_t found = find_named(report, entry + strspn(entry, " "));
        if (found == report->n)
            return;
        for (size_t i = 0; i < report->n; i++)
            marks[i] = marks[i] || is_within(&report->at[i], &report->at[found]);
        at += n + (at[n] == ',');
    }
}

/* One flag for each device; to be freed. */
static bool *visible_marks(const struct gpu_report *report, const char *visible)
{
    bool *marks = mem_new((report->n + 1) * sizeof *marks);
    for (size_t i = 0; !visible && i < report->n; i++)
        marks[i] = true;
    if (visible)
        mark_visible(report, visible, marks);
    return marks;
}

uint32_t gpu_count_visible(const struct gpu_report *report, const char *visible)
{
    AUTO_FREE bool *marks = visible_marks(report, visible);
    uint32_t n = 0;
    for (size_t i = 0; i < report->n; i++)
        n += marks[i] && !report->at[i].divided && !*report->at[i].error;
    return n;
}

/* ---- how near devices are ---- */

enum { NEAR_PATH_MAX = 60, NEAR_NVLINK = 1000 };

/* Any NVLink is nearer than every path over PCIe, more of them are nearer than fewer. */
static uint32_t nearness(const struct gpu_device *a, const struct gpu_device *b)
{
    const struct gpu_number *x = &a->figures[GPU_NUMA], *y = &b->figures[GPU_NUMA];
    if (a->number == b->number)
        return NEAR_PATH_MAX; /* instances of one device */
    for (size_t i = 0; i < a->n_links; i++) {
        const struct gpu_link *link = &a->links[i];
        if (link->to != b->number)
            continue;
        if (link->nvlinks)
            return NEAR_NVLINK * (link->nvlinks < 64 ? link->nvlinks : 64);
        if (link->has_path)
            return link->path < NEAR_PATH_MAX ? NEAR_PATH_MAX - link->path : 0;
    }
    return x->has && y->has && x->value == y->value ? NEAR_PATH_MAX - 40 : 0;
}

static void find_near(struct arena *arena, struct gpu_report *report)
{
    uint32_t n = report->n_slots, first = UINT32_MAX;
    bool differ = false;
    report->near = NULL;
    if (n < 3)
        return;
    uint32_t *near = ARENA_ARRAY(arena, (size_t)n * n, uint32_t);
    for (size_t i = 0; i < report->n; i++)
        for (size_t k = 0; k < report->n; k++) {
            const struct gpu_device *a = &report->at[i], *b = &report->at[k];
            if (i == k || !a->offered || !b->offered)
                continue;
            uint32_t x = nearness(a, b), y = nearness(b, a);
            uint32_t *at = &near[(size_t)a->slot * n + b->slot];
            *at = x > y ? x : y;
            first = first == UINT32_MAX ? *at : first; /* none is as near as that */
            differ = differ || *at != first;
        }
    report->near = differ ? near : NULL;
}

uint32_t gpu_offer(struct arena *arena, struct gpu_report *report, const char *visible)
{
    AUTO_FREE bool *marks = visible_marks(report, visible);
    for (size_t i = 0; i < report->n; i++) {
        struct gpu_device *device = &report->at[i];
        if (!marks[i] || device->offered || device->divided)
            continue;
        device->offered = true;
        device->slot = report->n_slots++;
    }
    find_near(arena, report);
    return report->n_slots;
}

void gpu_bar(struct gpu_report *report, const char *visible)
{
    AUTO_FREE bool *marks = visible_marks(report, visible);
    for (size_t i = 0; i < report->n; i++)
        report->at[i].barred = report->at[i].offered && !report->at[i].gone && !marks[i];
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

const char *gpu_label(const struct gpu_device *device, char text[GPU_LABEL_MAX])
{
    const struct gpu_number *instance = &device->figures[GPU_MIG];
    if (instance->has)
        snprintf(text, GPU_LABEL_MAX, "%u:%llu", device->number,
                 (unsigned long long)instance->value);
    else
        snprintf(text, GPU_LABEL_MAX, "%u", device->number);
    return text;
}

struct gpu_part gpu_part_of(const struct gpu_device *device)
{
    static const enum gpu_figure caps[] = { GPU_CAP_GI, GPU_CAP_CI };
    struct gpu_part part = { .is = is_instance(device),
                             .gi = (uint32_t)device->figures[GPU_MIG_GI].value,
                             .ci = (uint32_t)device->figures[GPU_MIG_CI].value };
    for (size_t i = 0; part.is && i < ARRAY_LEN(caps); i++)
        if (device->figures[caps[i]].has)
            part.caps[part.n_caps++] = (uint32_t)device->figures[caps[i]].value;
    return part;
}

/* Bits of nvmlClocksEventReasons; that of an idle device (1) is left out. */
static const struct {
    uint64_t bit;
    const char *word;
} throttles[] = {
    { 0x002, "clocks set" },  { 0x004, "power cap" },        { 0x008, "hardware slowdown" },
    { 0x010, "sync boost" },  { 0x020, "software thermal" }, { 0x040, "hardware thermal" },
    { 0x080, "power brake" }, { 0x100, "display clocks" },   { 0x200, "board limit" },
    { 0x400, "reliability" },
};

const char *gpu_throttle(uint64_t bits, size_t *at)
{
    while (*at < ARRAY_LEN(throttles) && !(bits & throttles[*at].bit))
        ++*at;
    return *at < ARRAY_LEN(throttles) ? throttles[(*at)++].word : NULL;
}
