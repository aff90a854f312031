/* The kernel's own figures: muster-node is static, so nothing is loaded to ask. Without an id of
 * the machine (a container has none) its name stands for it. */
#include "node/machine.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/conf.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#define CONF_MAX   32768u
#define LABELS_MAX 64u

static const char *read_id(struct arena *a, const char *path)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, 128, &text, &len, NULL) < 0)
        return "";
    text[strcspn(text, "\n")] = '\0';
    return arena_strdup(a, text);
}

static const char *machine_id(struct arena *a)
{
    const char *id = read_id(a, "/etc/machine-id");
    char host[256] = "localhost";
    if (*id)
        return id;
    gethostname(host, sizeof host - 1);
    return arena_strdup(a, host);
}

static unsigned count_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static int read_labels(struct arena *a, const char *dir, struct pairs *labels, struct err *err)
{
    static const char key[] = "label=";
    AUTO_FREE char *path = file_join(dir, "host.conf");
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, CONF_MAX, &text, &len, err) < 0)
        return -1;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        char *name = line + sizeof key - 1, *equals = strchr(name, '=');
        if (!equals || equals == name)
            return err_set(err, ERR_INPUT, "%s: %.60s is not label=NAME=VALUE", path, line);
        if (labels->n == LABELS_MAX)
            return err_set(err, ERR_INPUT, "%s: more than %u labels", path, LABELS_MAX);
        *equals = '\0';
        pairs_set(labels, a, name, equals + 1);
    }
    return 0;
}

int machine_read(struct arena *a, const char *dir, struct wire_host_hello *out, struct err *err)
{
    struct sysinfo info = { 0 };
    struct statvfs fs;
    struct pairs labels = { .n = 0 };
    if (read_labels(a, dir, &labels, err) < 0)
        return -1;
    out->labels = labels;
    out->machine = machine_id(a);
    out->boot = read_id(a, "/proc/sys/kernel/random/boot_id");
    out->cpu_milli = 1000ull * count_cpus();
    if (sysinfo(&info) == 0)
        out->memory = (uint64_t)info.totalram * info.mem_unit;
    if (statvfs(dir, &fs) == 0)
        out->disk = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

static bool has_number(const char *list, uint32_t number)
{
    char text[16];
    size_t len = (size_t)snprintf(text, sizeof text, "%u", number);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && memcmp(at, text, len) == 0)
            return true;
    return false;
}

static uint32_t count_numbers(const char *list)
{
    uint32_t n = *list != '\0';
    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Devices by their numbers alone. */
static void make_devices(struct arena *a, const char *list, struct wire_host_hello *out)
{
    out->devices = ARENA_ARRAY(a, count_numbers(list), struct wire_host_device);
    out->n_devices = 0;
    out->device_error = "";
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        uint64_t number;
        if (scan_u64(arena_strndup(a, at, strcspn(at, ",")), 0, 4096, &number))
            out->devices[out->n_devices++] = (struct wire_host_device){
                .minor = (uint32_t)number, .model = "", .uuid = "", .pci = "", .error = ""
            };
    }
}

/* Slurm may show no others (cgroups), and counts them anew then. */
static void limit_devices(struct arena *a, const char *list, struct wire_host_hello *out)
{
    uint32_t kept = 0, n = count_numbers(list);
    if (out->n_devices == 0) {
        make_devices(a, list, out);
        return;
    }
    for (uint32_t i = 0; i < out->n_devices && out->n_devices != n; i++)
        if (has_number(list, out->devices[i].minor))
            out->devices[kept++] = out->devices[i];
    if (out->n_devices != n)
        out->n_devices = kept;
}

void machine_limit(struct arena *a, const struct conf *conf, struct wire_host_hello *out)
{
    if (conf->cpus)
        out->cpu_milli = 1000 * conf->cpus;
    if (conf->memory)
        out->memory = conf->memory;
    if (strcmp(conf->gpus, "none") == 0)
        out->n_devices = 0;
    else if (*conf->gpus)
        limit_devices(a, conf->gpus, out);
}

static bool same_devices(const struct wire_host_hello *a, const struct wire_host_hello *b)
{
    if (a->n_devices != b->n_devices || strcmp(a->device_error, b->device_error) != 0)
        return false;
    for (uint32_t i = 0; i < a->n_devices; i++) {
        const struct wire_host_device *one = &a->devices[i], *other = &b->devices[i];
        if (one->minor != other->minor || one->memory != other->memory ||
            strcmp(one->uuid, other->uuid) != 0 || strcmp(one->model, other->model) != 0 ||
            strcmp(one->error, other->error) != 0)
            return false;
    }
    return true;
}

static bool same_labels(const struct pairs *a, const struct pairs *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        const char *other = pairs_get(b, a->at[i].name);
        same = other && strcmp(other, a->at[i].value) == 0;
    }
    return same;
}

bool machine_differs(const struct wire_host_hello *a, const struct wire_host_hello *b)
{
    uint64_t change = a->disk > b->disk ? a->disk - b->disk : b->disk - a->disk;
    return a->cpu_milli != b->cpu_milli || a->memory != b->memory || change > a->disk / 16 ||
           !same_devices(a, b) || !same_labels(&a->labels, &b->labels);
}
