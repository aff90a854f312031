/* What this machine has. hwloc and the NVIDIA management library are loaded only here and only when
 * installed; without them the kernel's own figures do, and there are no GPUs. */
#include "engine/local/local.h"

#include "base/arena.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

/* POSIX promises that a function's address fits an object pointer; ISO C has no cast for it. */
static bool symbol(void *lib, const char *name, void *function)
{
    void *at = dlsym(lib, name);
    memcpy(function, &at, sizeof at);
    return at != NULL;
}

/* hwloc's processing units this process may use; 0 when hwloc is not there. Signatures are those of
 * hwloc.h 2.x; HWLOC_OBJ_PU is 3. */
static unsigned hwloc_cpus(void)
{
    enum { OBJ_PU = 3 };
    unsigned n = 0;
    void *topology = NULL, *lib = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return 0;
    int (*init)(void **), (*load)(void *), (*depth)(void *, int);
    void (*destroy)(void *);
    unsigned (*count)(void *, int);
    if (symbol(lib, "hwloc_topology_init", &init) && symbol(lib, "hwloc_topology_load", &load) &&
        symbol(lib, "hwloc_get_type_depth", &depth) &&
        symbol(lib, "hwloc_topology_destroy", &destroy) &&
        symbol(lib, "hwloc_get_nbobjs_by_depth", &count) && init(&topology) == 0) {
        if (load(topology) == 0)
            n = count(topology, depth(topology, OBJ_PU));
        destroy(topology);
    }
    dlclose(lib);
    return n;
}

static unsigned kernel_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static void nvidia(struct arena *a, struct node_facts *out)
{
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return;
    int (*init)(void), (*count)(unsigned *), (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned), (*done)(void);
    bool whole = symbol(lib, "nvmlInit_v2", &init) &&
                 symbol(lib, "nvmlDeviceGetCount_v2", &count) &&
                 symbol(lib, "nvmlDeviceGetHandleByIndex_v2", &handle) &&
                 symbol(lib, "nvmlDeviceGetName", &name) && symbol(lib, "nvmlShutdown", &done);
    unsigned n = 0;
    void *device = NULL;
    char text[96] = "";
    if (whole && init() == 0) {
        if (count(&n) == 0 && n > 0 && handle(0, &device) == 0 &&
            name(device, text, sizeof text) == 0)
            out->gpu_type = arena_strdup(a, text);
        out->gpus = n;
        done();
    }
    dlclose(lib);
}

void local_detect(struct arena *a, const char *disk_path, struct node_facts *out)
{
    struct sysinfo info = { 0 };
    struct statvfs fs;
    char host[256] = "localhost";
    unsigned cpus = hwloc_cpus();
    *out = (struct node_facts){ .gpu_type = "" };
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    out->name = arena_strdup(a, host[0] ? host : "localhost");
    out->cpu_milli = 1000ull * (cpus ? cpus : kernel_cpus());
    if (sysinfo(&info) == 0)
        out->memory = (uint64_t)info.totalram * info.mem_unit;
    if (statvfs(disk_path, &fs) == 0)
        out->disk = (uint64_t)fs.f_bavail * fs.f_frsize;
    nvidia(a, out);
}
