/* A device is the same one by its UUID. One that does not answer has none and is found by its
 * number, where no other one has that now. Numbers are the driver's of now: they move up when it
 * does not list a device any more. The file has the lines of a report (gpu/lines.h), of the offered
 * devices alone and in the order of their slots. */
#include "gpu/device_slots.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "gpu/lines.h"

#include <string.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

static struct gpu_device *find_by_uuid(const struct gpu_report *report, const char *uuid)
{
    for (size_t i = 0; *uuid && i < report->n; i++)
        if (strcmp(report->at[i].uuid, uuid) == 0)
            return &report->at[i];
    return NULL;
}

/* The device of one report in another; NULL: it is not there. */
static struct gpu_device *find_same(const struct gpu_report *report, const struct gpu_report *from,
                                    const struct gpu_device *device)
{
    struct gpu_device *same = find_by_uuid(report, device->uuid);
    const struct gpu_number *x = &device->figures[GPU_MIG];
    for (size_t i = 0; !same && i < report->n; i++) {
        struct gpu_device *other = &report->at[i];
        const struct gpu_number *y = &other->figures[GPU_MIG];
        if (other->number == device->number && x->has == y->has && x->value == y->value &&
            (!*other->uuid || !*device->uuid) && !find_by_uuid(from, other->uuid))
            same = other;
    }
    return same;
}

static const char *keep(struct arena *own, const char *known, const char *now)
{
    return !*now || strcmp(known, now) == 0 ? known : arena_strdup(own, now);
}

/* Those of the last sample. */
static void take_sample(struct gpu_device *known, const struct gpu_device *now)
{
    for (int i = 0; i < GPU_NUMA; i++)
        known->figures[i] = now->figures[i];
    known->processes = now->processes;
    known->n_processes = now->n_processes;
}

/* What one that did not answer is gets known when it does. now NULL: it is not listed. */
static void take_over(struct arena *own, struct gpu_device *known, const struct gpu_device *now)
{
    static const struct gpu_device gone = { .error = "the driver does not list it any more" };
    const struct gpu_device *from = now ? now : &gone;
    take_sample(known, from);
    known->error = from->error;
    known->links = from->links;
    known->n_links = from->n_links;
    known->gone = !now;
    if (!now)
        return;
    known->number = now->number;
    known->divided = now->divided;
    if (*now->error)
        return;
    known->minor = now->minor;
    known->memory = now->memory;
    known->model = keep(own, known->model, now->model);
    known->uuid = keep(own, known->uuid, now->uuid);
    known->pci = keep(own, known->pci, now->pci);
    memcpy(known->figures, now->figures, sizeof known->figures);
}

/* Devices that were not listed before: one that was lost at the start, a driver that failed then,
 * new instances of MIG. */
static void add_new(struct arena *own, struct gpu_report *known, const struct gpu_report *now)
{
    struct gpu_device *wider = ARENA_ARRAY(own, known->n + now->n, struct gpu_device);
    size_t before = known->n;
    for (size_t i = 0; i < now->n; i++) {
        struct gpu_device *added = &wider[known->n];
        if (find_same(known, now, &now->at[i]))
            continue;
        if (known->n == before && before)
            memcpy(wider, known->at, before * sizeof *wider);
        *added = (struct gpu_device){ .model = "", .uuid = "", .pci = "", .error = "" };
        take_over(own, added, &now->at[i]);
        known->at = wider;
        known->n++;
    }
}

/* Does what is known differ from what is listed now, apart from figures? */
static bool is_other(const struct gpu_report *known, const struct gpu_report *now)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct gpu_device *same = find_same(known, now, &now->at[i]);
        if (!same || same->divided != now->at[i].divided ||
            (*now->at[i].model && strcmp(same->model, now->at[i].model) != 0))
            return true;
    }
    return false;
}

bool gpu_slots_follow(struct arena *own, struct gpu_report *known, const struct gpu_report *now)
{
    bool other = is_other(known, now) || *known->error;
    for (size_t i = 0; i < known->n; i++)
        take_over(own, &known->at[i], find_same(now, known, &known->at[i]));
    known->driver = keep(own, known->driver, now->driver);
    known->cuda = now->cuda;
    known->error = "";
    if (other)
        add_new(own, known, now);
    return other;
}

void gpu_slots_fail(struct gpu_report *known, const char *error)
{
    static const struct gpu_device nothing = { .error = "" };
    known->error = error;
    for (size_t i = 0; i < known->n; i++)
        take_sample(&known->at[i], &nothing);
}

/* ---- the file ---- */

void gpu_slots_read(struct arena *arena, const char *path, struct gpu_report *out)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct err err;
    *out = (struct gpu_report){ .driver = "", .error = "" };
    if (access(path, F_OK) != 0)
        return;
    if (file_read(path, FILE_MAX, &text, &len, &err) < 0 || strlen(text) != len ||
        gpu_lines_read(arena, text, out) != 0) {
        log_warn("gpus.known", "file=%s note=\"it cannot be read\"", path);
        *out = (struct gpu_report){ .driver = "", .error = "" };
        return;
    }
    for (size_t i = 0; i < out->n; i++) {
        out->at[i].offered = true;
        out->at[i].slot = out->n_slots++;
    }
}

int gpu_slots_write(const char *path, const struct gpu_report *report, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(FILE_MAX);
    struct arena *arena = arena_create();
    struct gpu_report left = { .driver = report->driver, .error = "" };
    left.at = ARENA_ARRAY(arena, report->n_slots + 1, struct gpu_device);
    for (uint32_t slot = 0; slot < report->n_slots; slot++) {
        static const struct gpu_device nothing = { .error = "" };
        struct gpu_device *device = &left.at[left.n++];
        *device = *gpu_in_slot(report, slot);
        take_sample(device, &nothing);
        device->n_links = 0;
        device->error = "";
    }
    gpu_lines_put(&left, &lines);
    arena_destroy(arena);
    return file_replace(path, buf_str(&lines), lines.len, 0600, err);
}
