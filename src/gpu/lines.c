/* A line "device=N" begins a device, "process=PID" a process of it; keys in between are rows of the
 * tables below. */
#include "gpu/lines.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

enum kind { TEXT, NUMBER, SIZE };
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
    { "used", SIZE, offsetof(struct gpu_device, memory_used) },
    { "utilisation", NUMBER, offsetof(struct gpu_device, utilisation) },
    { "temperature", NUMBER, offsetof(struct gpu_device, temperature) },
    { "milliwatts", NUMBER, offsetof(struct gpu_device, milliwatts) },
    { "ecc", SIZE, offsetof(struct gpu_device, ecc_errors) },
    { "error", TEXT, offsetof(struct gpu_device, error) },
};
static const struct row process_rows[] = {
    { "held", SIZE, offsetof(struct gpu_process, memory) },
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
        else
            buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)(const void *)field);
        buf_puts(out, "\n");
    }
}

void gpu_lines_put(const struct gpu_report *report, struct buf *out)
{
    put_rows(report_rows, ARRAY_LEN(report_rows), report, out);
    for (size_t i = 0; i < report->n; i++) {
        const struct gpu_device *device = &report->at[i];
        buf_addf(out, "device=%u\n", device->number);
        put_rows(device_rows, ARRAY_LEN(device_rows), device, out);
        for (size_t k = 0; k < device->n_processes; k++) {
            buf_addf(out, "process=%u\n", device->processes[k].pid);
            put_rows(process_rows, ARRAY_LEN(process_rows), &device->processes[k], out);
        }
    }
    buf_puts(out, "end=1\n");
}

/* ---- reading ---- */

struct reading {
    struct arena *arena;
    struct gpu_report *out;
    const struct row *rows; /* of what the last line began */
    size_t n_rows, cap_devices, cap_processes;
    void *of;
};

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
    r->cap_processes = 0;
    out->at = at;
    out->at[out->n] = (struct gpu_device){
        .number = number, .minor = number, .model = "", .uuid = "", .pci = "", .error = ""
    };
    r->of = &out->at[out->n++];
    r->rows = device_rows;
    r->n_rows = ARRAY_LEN(device_rows);
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
    r->of = &device->processes[device->n_processes++];
    r->rows = process_rows;
    r->n_rows = ARRAY_LEN(process_rows);
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
    if (!scan_u64(value, 0, row->kind == NUMBER ? UINT32_MAX : UINT64_MAX, &number))
        return false;
    if (row->kind == NUMBER)
        *(uint32_t *)(void *)field = (uint32_t)number;
    else
        *(uint64_t *)(void *)field = number;
    return true;
}

static bool read_line(struct reading *r, const char *key, const char *value)
{
    uint64_t number;
    bool device = strcmp(key, "device") == 0, process = strcmp(key, "process") == 0;
    if (device || process) {
        if (!scan_u64(value, 0, UINT32_MAX, &number))
            return false;
        if (process)
            return begin_process(r, (uint32_t)number);
        begin_device(r, (uint32_t)number);
        return true;
    }
    for (size_t i = 0; i < r->n_rows; i++)
        if (strcmp(r->rows[i].key, key) == 0)
            return read_field(r, &r->rows[i], value);
    return false;
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
