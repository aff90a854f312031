/* The few functions of NVML that are needed, by their names in its documented interface; each but
 * the first five may be missing in an older library. Structs are those of nvml.h, with the version
 * that the name of the function says.
 *
 * A device in MIG mode is divided: each of its instances has a handle of its own, which knows name,
 * UUID, memory and processes; what has one sensor (temperature, power, clocks, errors) is the
 * device's, and utilisation is not measured. */
#include "gpu/nvml.h"

#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LIBRARY       "libnvidia-ml.so.1"
#define DEVICES_MAX   64u
#define INSTANCES_MAX 8u /* of one device */
#define PROCESSES_MAX 256u
#define NVLINKS_MAX   36u
#define TEXT_SIZE     96u
#define PATH_SIZE     160u

enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3, SENSOR_GPU = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_SINCE_LOADED = 0 };
enum { LINK_TO_SWITCH = 2 };
#define UNKNOWN_MEMORY UINT64_MAX

struct nvml_memory { /* nvmlMemory_t: used has what the driver reserves for itself in it */
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)
struct nvml_pci {
    char short_id[16];
    unsigned domain, bus, device, ids, sub_ids;
    char id[32];
};
struct nvml_utilisation {
    unsigned gpu, memory;
};
struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned instance, compute;
};

struct nvml {
    void *library;
    int (*init)(void), (*shutdown)(void), (*count)(unsigned *), (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*driver)(char *, unsigned);
    int (*cuda)(int *);
    int (*minor)(void *, unsigned *);
    int (*memory)(void *, struct nvml_memory *);
    int (*memory_v2)(void *, struct nvml_memory_v2 *);
    int (*utilisation)(void *, struct nvml_utilisation *);
    int (*temperature)(void *, int, unsigned *);
    int (*power)(void *, unsigned *);
    int (*clock)(void *, int, unsigned *);
    int (*throttle)(void *, unsigned long long *);
    int (*ecc)(void *, int, int, unsigned long long *);
    int (*pci)(void *, struct nvml_pci *);
    int (*processes)(void *, unsigned *, struct nvml_process *);
    int (*mig_mode)(void *, unsigned *now, unsigned *later);
    int (*mig_handle)(void *, unsigned, void **);
    int (*mig_gi)(void *, unsigned *);
    int (*mig_ci)(void *, unsigned *);
    int (*common)(void *, void *, int *);
    int (*link_state)(void *, unsigned, unsigned *);
    int (*link_pci)(void *, unsigned, struct nvml_pci *);
    int (*link_type)(void *, unsigned, int *);
    const char *(*words)(int);
};

static const struct {
    const char *name, *older; /* older: the same under its name in drivers of before; or NULL */
    size_t at;                /* of its pointer in struct nvml */
    bool needed;
} functions[] = {
#define FUNCTION(name_, older_, member_, needed_)                                                  \
    {                                                                                              \
        .name = (name_), .older = (older_), .at = offsetof(struct nvml, member_),                  \
        .needed = (needed_)                                                                        \
    }
    FUNCTION("nvmlInit_v2", NULL, init, true),
    FUNCTION("nvmlShutdown", NULL, shutdown, true),
    FUNCTION("nvmlDeviceGetCount_v2", NULL, count, true),
    FUNCTION("nvmlDeviceGetHandleByIndex_v2", NULL, handle, true),
    FUNCTION("nvmlDeviceGetName", NULL, name, true),
    FUNCTION("nvmlDeviceGetUUID", NULL, uuid, false),
    FUNCTION("nvmlSystemGetDriverVersion", NULL, driver, false),
    FUNCTION("nvmlSystemGetCudaDriverVersion_v2", NULL, cuda, false),
    FUNCTION("nvmlDeviceGetMinorNumber", NULL, minor, false),
    FUNCTION("nvmlDeviceGetMemoryInfo", NULL, memory, false),
    FUNCTION("nvmlDeviceGetMemoryInfo_v2", NULL, memory_v2, false),
    FUNCTION("nvmlDeviceGetUtilizationRates", NULL, utilisation, false),
    FUNCTION("nvmlDeviceGetTemperature", NULL, temperature, false),
    FUNCTION("nvmlDeviceGetPowerUsage", NULL, power, false),
    FUNCTION("nvmlDeviceGetClockInfo", NULL, clock, false),
    FUNCTION("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
             throttle, false),
    FUNCTION("nvmlDeviceGetTotalEccErrors", NULL, ecc, false),
    FUNCTION("nvmlDeviceGetPciInfo_v3", NULL, pci, false),
    FUNCTION("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
             processes, false),
    FUNCTION("nvmlDeviceGetMigMode", NULL, mig_mode, false),
    FUNCTION("nvmlDeviceGetMigDeviceHandleByIndex", NULL, mig_handle, false),
    FUNCTION("nvmlDeviceGetGpuInstanceId", NULL, mig_gi, false),
    FUNCTION("nvmlDeviceGetComputeInstanceId", NULL, mig_ci, false),
    FUNCTION("nvmlDeviceGetTopologyCommonAncestor", NULL, common, false),
    FUNCTION("nvmlDeviceGetNvLinkState", NULL, link_state, false),
    FUNCTION("nvmlDeviceGetNvLinkRemotePciInfo_v2", NULL, link_pci, false),
    FUNCTION("nvmlDeviceGetNvLinkRemoteDeviceType", NULL, link_type, false),
    FUNCTION("nvmlErrorString", NULL, words, false),
#undef FUNCTION
};

/* POSIX promises that a function's address fits an object pointer; ISO C has no cast for it. */
static const char *load_functions(struct nvml *n)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *function = dlsym(n->library, functions[i].name);
        if (!function && functions[i].older)
            function = dlsym(n->library, functions[i].older);
        memcpy((char *)n + functions[i].at, &function, sizeof function);
        if (!function && functions[i].needed)
            return functions[i].name;
    }
    return NULL;
}

static const char *error_of(const struct nvml *n, struct arena *a, const char *what, int code)
{
    const char *words = n->words ? n->words(code) : NULL;
    return words ? arena_printf(a, "%s: %s (NVML %d)", what, words, code)
                 : arena_printf(a, "%s: NVML error %d", what, code);
}

static const char *text_of(struct arena *a, int (*ask)(void *, char *, unsigned), void *handle)
{
    char text[TEXT_SIZE] = "";
    if (!ask || ask(handle, text, sizeof text) != NVML_OK)
        return "";
    text[strcspn(text, "\n")] = '\0';
    return arena_strdup(a, text);
}

static void read_processes(const struct nvml *n, struct arena *a, void *handle,
                           struct gpu_device *out)
{
    struct nvml_process found[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    if (!n->processes || n->processes(handle, &count, found) != NVML_OK || count > PROCESSES_MAX)
        return;
    out->processes = ARENA_ARRAY(a, count, struct gpu_process);
    for (unsigned i = 0; i < count; i++)
        out->processes[out->n_processes++] = (struct gpu_process){
            .pid = found[i].pid,
            .memory = found[i].memory == UNKNOWN_MEMORY ? 0 : found[i].memory,
        };
}

static void set(struct gpu_device *out, enum gpu_figure figure, uint64_t value)
{
    out->figures[figure] = (struct gpu_number){ .has = true, .value = value };
}

static void read_clocks(const struct nvml *n, void *handle, struct gpu_device *out)
{
    unsigned value;
    unsigned long long bits;
    if (n->clock && n->clock(handle, CLOCK_SM, &value) == NVML_OK)
        set(out, GPU_SM_CLOCK, value);
    if (n->clock && n->clock(handle, CLOCK_MEMORY, &value) == NVML_OK)
        set(out, GPU_MEMORY_CLOCK, value);
    if (n->throttle && n->throttle(handle, &bits) == NVML_OK)
        set(out, GPU_THROTTLE, bits);
}

/* Of a whole device; an instance has what its device has. */
static void read_sensors(const struct nvml *n, void *handle, struct gpu_device *out)
{
    unsigned value;
    unsigned long long errors;
    if (n->temperature && n->temperature(handle, SENSOR_GPU, &value) == NVML_OK)
        set(out, GPU_TEMPERATURE, value);
    if (n->power && n->power(handle, &value) == NVML_OK)
        set(out, GPU_POWER, value);
    if (n->ecc && n->ecc(handle, ECC_UNCORRECTED, ECC_SINCE_LOADED, &errors) == NVML_OK)
        set(out, GPU_ECC, errors);
    if (n->ecc && n->ecc(handle, ECC_CORRECTED, ECC_SINCE_LOADED, &errors) == NVML_OK)
        set(out, GPU_ECC_CORRECTED, errors);
    read_clocks(n, handle, out);
}

static void read_memory(const struct nvml *n, struct arena *a, void *handle, struct gpu_device *out)
{
    struct nvml_memory_v2 newer = { .version = MEMORY_V2 };
    struct nvml_memory memory = { .total = 0 };
    if (n->memory_v2 && n->memory_v2(handle, &newer) == NVML_OK) {
        out->memory = newer.total;
        set(out, GPU_MEMORY_USED, newer.used);
        return;
    }
    int rc = n->memory ? n->memory(handle, &memory) : NVML_NOT_SUPPORTED;
    if (rc != NVML_OK && rc != NVML_NOT_SUPPORTED)
        out->error = error_of(n, a, "its memory cannot be read", rc);
    if (rc != NVML_OK)
        return;
    out->memory = memory.total;
    set(out, GPU_MEMORY_USED, memory.used);
}

/* What has a handle of its own: a device, or an instance of it. */
static void read_own(const struct nvml *n, struct arena *a, void *handle, struct gpu_device *out)
{
    out->model = text_of(a, n->name, handle);
    out->uuid = text_of(a, n->uuid, handle);
    read_memory(n, a, handle, out);
    read_processes(n, a, handle, out);
}

/* false: it is not there, or empty. */
static bool read_small(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file)
        (void)fclose(file);
    return n > 0;
}

/* The kernel writes a PCI address with four digits of domain, the driver with eight. */
static void read_numa(struct gpu_device *out)
{
    char path[PATH_SIZE], text[16] = "";
    uint64_t node;
    size_t len = strlen(out->pci);
    if (len < 12)
        return;
    int n = snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", out->pci + len - 12);
    for (int i = 0; i < n; i++)
        path[i] = (char)tolower((unsigned char)path[i]);
    if (!read_small(path, text, sizeof text))
        return;
    text[strcspn(text, "\n")] = '\0';
    if (scan_u64(text, 0, 4096, &node))
        set(out, GPU_NUMA, node);
}

static void read_device(const struct nvml *n, struct arena *a, void *handle, struct gpu_device *out)
{
    struct nvml_pci pci = { .domain = 0 };
    struct nvml_utilisation busy;
    unsigned minor;
    read_own(n, a, handle, out);
    if (n->minor && n->minor(handle, &minor) == NVML_OK)
        out->minor = minor;
    if (n->pci && n->pci(handle, &pci) == NVML_OK)
        out->pci = arena_strndup(a, pci.id, strnlen(pci.id, sizeof pci.id));
    if (n->utilisation && n->utilisation(handle, &busy) == NVML_OK)
        set(out, GPU_UTILISATION, busy.gpu);
    read_sensors(n, handle, out);
    read_numa(out);
}

/* ---- MIG ---- */

/* "DeviceFileMinor: 30": the file in /dev/nvidia-caps that opens what the directory is of. */
static void read_cap(const char *dir, struct gpu_device *out, enum gpu_figure figure)
{
    static const char key[] = "DeviceFileMinor:";
    char path[PATH_SIZE + 8], text[256];
    uint64_t minor;
    snprintf(path, sizeof path, "%s/access", dir);
    if (!read_small(path, text, sizeof text))
        return;
    char *at = strstr(text, key);
    if (!at)
        return;
    at += sizeof key - 1;
    at += strspn(at, " \t");
    at[strcspn(at, "\n")] = '\0';
    if (scan_u64(at, 0, UINT32_MAX, &minor))
        set(out, figure, minor);
}

static void read_caps(struct gpu_device *out)
{
    const char *named = getenv("MUSTER_GPU_CAPABILITIES");
    char dir[PATH_SIZE];
    int n = snprintf(dir, sizeof dir, "%s/gpu%u/mig/gi%llu",
                     named ? named : "/proc/driver/nvidia/capabilities", out->minor,
                     (unsigned long long)out->figures[GPU_MIG_GI].value);
    if (n < 0 || (size_t)n >= sizeof dir)
        return;
    read_cap(dir, out, GPU_CAP_GI);
    snprintf(dir + n, sizeof dir - (size_t)n, "/ci%llu",
             (unsigned long long)out->figures[GPU_MIG_CI].value);
    read_cap(dir, out, GPU_CAP_CI);
}

static const struct gpu_device no_device = { .model = "", .uuid = "", .pci = "", .error = "" };

static void read_instance(const struct nvml *n, struct arena *a, void *handle,
                          const struct gpu_device *whole, struct gpu_device *out)
{
    static const enum gpu_figure shared[] = { GPU_TEMPERATURE,   GPU_POWER,    GPU_SM_CLOCK,
                                              GPU_MEMORY_CLOCK,  GPU_THROTTLE, GPU_ECC,
                                              GPU_ECC_CORRECTED, GPU_NUMA };
    unsigned id;
    out->number = whole->number;
    out->minor = whole->minor;
    out->pci = whole->pci;
    for (size_t i = 0; i < ARRAY_LEN(shared); i++)
        out->figures[shared[i]] = whole->figures[shared[i]];
    read_own(n, a, handle, out);
    if (!strstr(out->model, " MIG ")) /* whoever asks for a whole device must not get it */
        out->model = arena_printf(a, "%s MIG instance", whole->model);
    if (n->mig_gi && n->mig_gi(handle, &id) == NVML_OK)
        set(out, GPU_MIG_GI, id);
    if (n->mig_ci && n->mig_ci(handle, &id) == NVML_OK)
        set(out, GPU_MIG_CI, id);
    read_caps(out);
}

/* Positions of instances may have gaps. */
static void read_instances(const struct nvml *n, struct arena *a, void *handle,
                           struct gpu_report *out)
{
    struct gpu_device *whole = &out->at[out->n - 1];
    unsigned mode = 0, later;
    if (!n->mig_mode || !n->mig_handle || n->mig_mode(handle, &mode, &later) != NVML_OK || !mode)
        return;
    whole->divided = true;
    for (unsigned i = 0; i < INSTANCES_MAX; i++) {
        void *instance = NULL;
        if (n->mig_handle(handle, i, &instance) != NVML_OK)
            continue;
        struct gpu_device *device = &out->at[out->n++];
        *device = no_device;
        set(device, GPU_MIG, i);
        read_instance(n, a, instance, whole, device);
    }
}

/* ---- links ---- */

struct end {
    void *handle;
    struct gpu_device *device;
    unsigned switched;            /* NVLinks that end in a switch */
    char others[NVLINKS_MAX][32]; /* PCI addresses where the others end */
    size_t n_others;
};

static void read_nvlinks(const struct nvml *n, struct end *end)
{
    for (unsigned i = 0; n->link_state && i < NVLINKS_MAX; i++) {
        unsigned active = 0;
        int type = -1;
        struct nvml_pci pci = { .domain = 0 };
        if (n->link_state(end->handle, i, &active) != NVML_OK || !active)
            continue;
        if (n->link_type && n->link_type(end->handle, i, &type) == NVML_OK &&
            type == LINK_TO_SWITCH)
            end->switched++;
        else if (n->link_pci && n->link_pci(end->handle, i, &pci) == NVML_OK)
            memcpy(end->others[end->n_others++], pci.id, sizeof pci.id);
    }
}

static void read_link(const struct nvml *n, const struct end *from, const struct end *to)
{
    int path = -1;
    struct gpu_link *link = &from->device->links[from->device->n_links++];
    link->to = to->device->number;
    for (size_t i = 0; i < from->n_others; i++)
        link->nvlinks += *to->device->pci &&
                         strncasecmp(from->others[i], to->device->pci, sizeof from->others[i]) == 0;
    if (!link->nvlinks)
        link->nvlinks = from->switched < to->switched ? from->switched : to->switched;
    link->has_path =
        n->common && n->common(from->handle, to->handle, &path) == NVML_OK && path >= 0;
    link->path = link->has_path ? (uint32_t)path : 0;
}

/* Instances have the links of their device as far as they have any: they are found by number. */
static void read_links(const struct nvml *n, struct arena *a, struct end *ends, size_t count)
{
    for (size_t i = 0; count > 1 && i < count; i++)
        read_nvlinks(n, &ends[i]);
    for (size_t i = 0; i < count; i++) {
        ends[i].device->links = ARENA_ARRAY(a, count, struct gpu_link);
        for (size_t k = 0; k < count; k++)
            if (i != k)
                read_link(n, &ends[i], &ends[k]);
    }
}

static void read_devices(const struct nvml *n, struct arena *a, struct gpu_report *out)
{
    struct end *ends;
    size_t n_ends = 0;
    unsigned count = 0;
    char version[TEXT_SIZE] = "";
    int rc = n->count(&count), cuda = 0;
    if (n->driver && n->driver(version, sizeof version) == NVML_OK)
        out->driver = arena_strdup(a, version);
    if (n->cuda && n->cuda(&cuda) == NVML_OK && cuda > 0)
        out->cuda = (uint32_t)cuda;
    if (rc != NVML_OK)
        out->error = error_of(n, a, "its devices cannot be counted", rc);
    if (rc != NVML_OK || count == 0)
        return;
    count = count < DEVICES_MAX ? count : DEVICES_MAX;
    out->at = ARENA_ARRAY(a, count * (1 + INSTANCES_MAX), struct gpu_device);
    ends = ARENA_ARRAY(a, count, struct end);
    for (unsigned i = 0; i < count; i++) {
        void *handle = NULL;
        struct gpu_device *device = &out->at[out->n++];
        *device = no_device;
        device->number = device->minor = i;
        rc = n->handle(i, &handle);
        if (rc != NVML_OK) {
            device->error = error_of(n, a, "it does not answer", rc);
            continue;
        }
        read_device(n, a, handle, device);
        ends[n_ends++] = (struct end){ .handle = handle, .device = device };
        read_instances(n, a, handle, out);
    }
    read_links(n, a, ends, n_ends);
}

static const char *why_no_library(struct arena *a)
{
    const char *said = dlerror();
    bool there = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0;
    return there ? arena_printf(a, "there are device files, and " LIBRARY " cannot be loaded: %s",
                                said ? said : "")
                 : "";
}

void gpu_nvml_read(struct arena *a, struct gpu_report *out)
{
    struct nvml n = { .library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) };
    *out = (struct gpu_report){ .driver = "", .error = "" };
    if (!n.library) {
        out->error = why_no_library(a);
        return;
    }
    const char *lacks = load_functions(&n);
    int rc = lacks ? NVML_OK : n.init();
    if (lacks)
        out->error = arena_printf(a, LIBRARY " has no %s", lacks);
    else if (rc != NVML_OK)
        out->error = error_of(&n, a, "the driver cannot be asked", rc);
    else
        read_devices(&n, a, out);
    if (!lacks && rc == NVML_OK)
        n.shutdown();
    dlclose(n.library);
}
