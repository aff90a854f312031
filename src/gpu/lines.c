/* A line "device=N" begins a device, "process=PID" a process of it and "link=N" its link to another
 * one; keys in between are rows of the tables below, and the numbers that the driver says of a
 * device under their own keys (job/gpu.h). */
#include "gpu/lines.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

enum kind { TEXT, NUMBER, SIZE, FLAG };
struct row {
    const char *key;
    enum kind kind;
    size_t at;
};
static const struct row report_rows[] = {
    { "driver", TEXT, offsetof(struct gpu_report, driver) },
    { "cuda", NUMBER, offsetof(struct gpu_report, cuda) },
    { "error", TEXT, offsetof(struct gpu_report, error) },
};
static const struct row device_rows[] = {
    { "minor", NUMBER, offsetof(struct gpu_device, minor) },
    { "model", TEXT, offsetof(struct gpu_device, model) },
    { "uuid", TEXT, offsetof(struct gpu_device, uuid) },
    { "pci", TEXT, offsetof(struct gpu_device, pci) },
    { "memory", SIZE, offsetof(struct gpu_device, memory) },
    { "divided", FLAG, offsetof(struct gpu_device, divided) },
    { "error", TEXT, offsetof(struct gpu_device, error) },
};
static const struct row process_rows[] = {
    { "held", SIZE, offsetof(struct gpu_process, memory) },
};
static const struct row link_rows[] = {
    { "nvlinks", NUMBER, offsetof(struct gpu_link, nvlinks) },
    { "has_path", FLAG, offsetof(struct gpu_link, has_path) },
    { "path", NUMBER, offsetof(struct gpu_link, path) },
};

/* ---- writing ---- */

static void put_rows(const struct row *rows, size_t n, const void *of, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *field = (const char *)of + rows[i].at;
        buf_addf(out, "%s=", rows[i].key);
        if (rows[i].kind == TEXT)
            buf_puts(out, *(const char *const *)(const void *)field);
        else if (rows[i].kind == NUMBER)
            buf_addf(out, "%u", *(const uint32_t *)(const void *)field);
        else if (rows[i].kind == FLAG)
            buf_puts(out, *(const bool *)(const void *)field ? "1" : "0");
        else
            buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)(const void *)field);
        buf_puts(out, "\n");
    }
}

static void put_device(const struct gpu_device *device, struct buf *out)
{
    buf_addf(out, "device=%u\n", device->number);
    put_rows(device_rows, ARRAY_LEN(device_rows), device, out);
    for (size_t k = 0; k < GPU_FIGURE_N; k++)
        if (device->figures[k].has)
            buf_addf(out, "%s=%llu\n", gpu_figure_key((enum gpu_figure)k),
                     (unsigned long long)device->figures[k].value);
    for (size_t k = 0; k < device->n_processes; k++) {
        buf_addf(out, "process=%u\n", device->processes[k].pid);
        put_rows(process_rows, ARRAY_LEN(process_rows), &device->processes[k], out);
    }
    for (size_t k = 0; k < device->n_links; k++) {
        buf_addf(out, "link=%u\n", device->links[k].to);
        put_rows(link_rows, ARRAY_LEN(link_rows), &device->links[k], out);
    }
}

void gpu_lines_put(const struct gpu_report *report, struct buf *out)
{
    put_rows(report_rows, ARRAY_LEN(report_rows), report, out);
    for (size_t i = 0; i < report->n; i++)
        put_device(&report->at[i], out);
    buf_puts(out, "end=1\n");
}

/* ---- reading ---- */

struct reading {
    struct arena *arena;
    struct gpu_report *out;
    const struct row *rows; /* of what the last line began */
    size_t n_rows, cap_devices, cap_processes, cap_links;
    void *of;
};

static void begin(struct reading *r, const struct row *rows, size_t n, void *of)
{
    r->rows = rows;
    r->n_rows = n;
    r->of = of;
}

static size_t grow(struct arena *arena, void **at, size_t n, size_t cap, size_t size)
{
    if (n < cap)
        return cap;
    char *wider = arena_alloc(arena, (2 * cap + 4) * size);
    if (n)
        memcpy(wider, *at, n * size);
    *at = wider;
    return 2 * cap + 4;
}

static void begin_device(struct reading *r, uint32_t number)
{
    struct gpu_report *out = r->out;
    void *at = out->at;
    r->cap_devices = grow(r->arena, &at, out->n, r->cap_devices, sizeof *out->at);
    r->cap_processes = r->cap_links = 0;
    out->at = at;
    out->at[out->n] = (struct gpu_device){
        .number = number, .minor = number, .model = "", .uuid = "", .pci = "", .error = ""
    };
    begin(r, device_rows, ARRAY_LEN(device_rows), &out->at[out->n++]);
}

static bool begin_process(struct reading *r, uint32_t pid)
{
    if (r->out->n == 0)
        return false;
    struct gpu_device *device = &r->out->at[r->out->n - 1];
    void *at = device->processes;
    r->cap_processes =
        grow(r->arena, &at, device->n_processes, r->cap_processes, sizeof *device->processes);
    device->processes = at;
    device->processes[device->n_processes] = (struct gpu_process){ .pid = pid };
    begin(r, process_rows, ARRAY_LEN(process_rows), &device->processes[device->n_processes++]);
    return true;
}

static bool begin_link(struct reading *r, uint32_t to)
{
    if (r->out->n == 0)
        return false;
    struct gpu_device *device = &r->out->at[r->out->n - 1];
    void *at = device->links;
    r->cap_links = grow(r->arena, &at, device->n_links, r->cap_links, sizeof *device->links);
    device->links = at;
    device->links[device->n_links] = (struct gpu_link){ .to = to };
    begin(r, link_rows, ARRAY_LEN(link_rows), &device->links[device->n_links++]);
    return true;
}

static bool read_field(struct reading *r, const struct row *row, const char *value)
{
    char *field = (char *)r->of + row->at;
    uint64_t number;
    if (row->kind == TEXT) {
        *(const char **)(void *)field = value;
        return true;
    }
    static const uint64_t most[] = { [NUMBER] = UINT32_MAX, [SIZE] = UINT64_MAX, [FLAG] = 1 };
    if (!scan_u64(value, 0, most[row->kind], &number))
        return false;
    if (row->kind == NUMBER)
        *(uint32_t *)(void *)field = (uint32_t)number;
    else if (row->kind == FLAG)
        *(bool *)(void *)field = number;
    else
        *(uint64_t *)(void *)field = number;
    return true;
}

static bool read_figure(const struct reading *r, const char *key, const char *value)
{
    for (size_t i = 0; r->rows == device_rows && i < GPU_FIGURE_N; i++) {
        struct gpu_number *figure = &((struct gpu_device *)r->of)->figures[i];
        if (strcmp(gpu_figure_key((enum gpu_figure)i), key) == 0)
            return figure->has = scan_u64(value, 0, UINT64_MAX, &figure->value);
    }
    return false;
}

enum part { PART_DEVICE, PART_PROCESS, PART_LINK, PART_N };

static bool begin_part(struct reading *r, enum part part, uint32_t number)
{
    if (part == PART_PROCESS)
        return begin_process(r, number);
    if (part == PART_LINK)
        return begin_link(r, number);
    begin_device(r, number);
    return true;
}

static bool read_line(struct reading *r, const char *key, const char *value)
{
    static const char *const parts[PART_N] = { "device", "process", "link" };
    uint64_t number;
    for (size_t i = 0; i < PART_N; i++)
        if (strcmp(key, parts[i]) == 0)
            return scan_u64(value, 0, UINT32_MAX, &number) &&
                   begin_part(r, (enum part)i, (uint32_t)number);
    for (size_t i = 0; i < r->n_rows; i++)
        if (strcmp(r->rows[i].key, key) == 0)
            return read_field(r, &r->rows[i], value);
    return read_figure(r, key, value);
}

int gpu_lines_read(struct arena *arena, const char *text, struct gpu_report *out)
{
    *out = (struct gpu_report){ .driver = "", .error = "" };
    struct reading r = {
        .arena = arena, .out = out, .rows = report_rows, .n_rows = ARRAY_LEN(report_rows), .of = out
    };
    for (char *at = arena_strdup(arena, text); *at;) {
        char *end = strchr(at, '\n'), *eq = strchr(at, '=');
        if (!end || !eq || eq > end)
            return -1;
        *end = *eq = '\0';
        if (strcmp(at, "end") == 0)
            return 0;
        if (!read_line(&r, at, eq + 1))
            return -1;
        at = end + 1;
    }
    return -1;
}
