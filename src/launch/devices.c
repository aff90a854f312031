/* Counts device files: what torch's device_count() answers on an ordinary node, a second earlier.
 * MIG slices and broken devices are not seen; --nproc-per-node=N is the way around. */
#include "launch/devices.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN 512

static bool all_digits(const char *s)
{
    const char *c = s;
    while (isdigit((unsigned char)*c))
        c++;
    return c > s && !*c;
}

static bool first_word(const char *path, char out[32])
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fscanf(f, "%31s", out) == 1;
    fclose(f);
    return ok;
}

/* Entries of root + dir that count: prefix, then digits (or anything); and, with `file`, whose file
 * of that name begins with another word than "0" (want NULL) or with the word wanted. */
struct entries {
    const char *dir, *prefix;
    bool any_name;
    const char *file, *want;
};

static uint32_t count(const char *root, const struct entries *e)
{
    char path[PATH_LEN], word[32];
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s%s", root, e->dir);
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        size_t len = strlen(e->prefix);
        if (d->d_name[0] == '.' || strncmp(d->d_name, e->prefix, len) != 0 ||
            (!e->any_name && !all_digits(d->d_name + len)))
            continue;
        if (e->file) {
            int wrote = snprintf(path, sizeof path, "%s%s/%s/%s", root, e->dir, d->d_name, e->file);
            if (wrote < 0 || (size_t)wrote >= sizeof path || !first_word(path, word) ||
                (e->want ? strcmp(word, e->want) != 0 : strcmp(word, "0") == 0))
                continue;
        }
        n++;
    }
    closedir(dir);
    return n;
}

/* As CUDA reads it: a list that ends at the first -1; unset: all. */
static uint32_t visible(const char *list, uint32_t present)
{
    uint32_t n = 0;
    if (!list)
        return present;
    while (*list && n < present) {
        size_t len = strcspn(list, ",");
        if (len == 0 || list[0] == '-')
            break;
        n++;
        list += len;
        list += *list == ',';
    }
    return n;
}

uint32_t devices_cuda(const char *root)
{
    static const struct entries nvidia[] = {
        { .dir = "/dev", .prefix = "nvidia" },
        { .dir = "/proc/driver/nvidia/gpus", .prefix = "", .any_name = true },
    };
    static const struct entries amd = { .dir = "/sys/class/kfd/kfd/topology/nodes",
                                        .prefix = "",
                                        .file = "gpu_id" };
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES");
    uint32_t n = count(root, &nvidia[0]);
    if (n == 0)
        n = count(root, &nvidia[1]);
    if (n > 0)
        return visible(cuda, n);
    return visible(hip ? hip : cuda, count(root, &amd));
}

uint32_t devices_xpu(const char *root)
{
    static const struct entries intel = {
        .dir = "/sys/class/drm", .prefix = "renderD", .file = "device/vendor", .want = "0x8086"
    };
    return visible(getenv("ZE_AFFINITY_MASK"), count(root, &intel));
}

uint32_t devices_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return n > 0 ? (uint32_t)n : 1;
}
