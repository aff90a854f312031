/* What this machine has, apart from its accelerators. hwloc is loaded only here and only when
 * installed; without it the kernel's own figures do. */
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

void local_detect(struct arena *a, const char *disk_path, struct node_facts *out)
{
    struct sysinfo info = { 0 };
    struct statvfs fs;
    char host[256] = "localhost";
    unsigned cpus = hwloc_cpus();
    *out = (struct node_facts){ .name = NULL };
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    out->name = arena_strdup(a, host[0] ? host : "localhost");
    out->cpu_milli = 1000ull * (cpus ? cpus : kernel_cpus());
    if (sysinfo(&info) == 0)
        out->memory = (uint64_t)info.totalram * info.mem_unit;
    if (statvfs(disk_path, &fs) == 0)
        out->disk = (uint64_t)fs.f_bavail * fs.f_frsize;
}
