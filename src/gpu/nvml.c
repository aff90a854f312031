/* The few functions of NVML that are needed, by their names in its documented interface; each but
 * the first five may be missing in an older library. Sizes of its structs are those of nvml.h. */
#include "gpu/nvml.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY       "libnvidia-ml.so.1"
#define DEVICES_MAX   64u
#define PROCESSES_MAX 256u
#define TEXT_SIZE     96u

enum { NVML_OK = 0, SENSOR_GPU = 0, ECC_UNCORRECTED = 1, ECC_SINCE_LOADED = 0 };
#define UNKNOWN_MEMORY UINT64_MAX

struct nvml_memory {
    unsigned long long total, free, used;
};
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
    int (*utilisation)(void *, struct nvml_utilisation *);
    int (*temperature)(void *, int, unsigned *);
    int (*power)(void *, unsigned *);
    int (*ecc)(void *, int, int, unsigned long long *);
    int (*pci)(void *, struct nvml_pci *);
    int (*processes)(void *, unsigned *, struct nvml_process *);
    const char *(*words)(int);
};

static const struct {
    const char *name;
    size_t at; /* of its pointer in struct nvml */
    bool needed;
} functions[] = {
#define FUNCTION(name_, member_, needed_)                                                          \
    {                                                                                              \
        .name = (name_), .at = offsetof(struct nvml, member_), .needed = (needed_)                 \
    }
    FUNCTION("nvmlInit_v2", init, true),
    FUNCTION("nvmlShutdown", shutdown, true),
    FUNCTION("nvmlDeviceGetCount_v2", count, true),
    FUNCTION("nvmlDeviceGetHandleByIndex_v2", handle, true),
    FUNCTION("nvmlDeviceGetName", name, true),
    FUNCTION("nvmlDeviceGetUUID", uuid, false),
    FUNCTION("nvmlSystemGetDriverVersion", driver, false),
    FUNCTION("nvmlSystemGetCudaDriverVersion_v2", cuda, false),
    FUNCTION("nvmlDeviceGetMinorNumber", minor, false),
    FUNCTION("nvmlDeviceGetMemoryInfo", memory, false),
    FUNCTION("nvmlDeviceGetUtilizationRates", utilisation, false),
    FUNCTION("nvmlDeviceGetTemperature", temperature, false),
    FUNCTION("nvmlDeviceGetPowerUsage", power, false),
    FUNCTION("nvmlDeviceGetTotalEccErrors", ecc, false),
    FUNCTION("nvmlDeviceGetPciInfo_v3", pci, false),
    FUNCTION("nvmlDeviceGetComputeRunningProcesses_v3", processes, false),
    FUNCTION("nvmlErrorString", words, false),
#undef FUNCTION
};

/* POSIX promises that a function's address fits an object pointer; ISO C has no cast for it. */
static const char *load_functions(struct nvml *n)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *function = dlsym(n->library, functions[i].name);
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

static void read_sample(const struct nvml *n, void *handle, struct gpu_device *out)
{
    struct nvml_utilisation busy;
    unsigned value;
    unsigned long long errors;
    if (n->utilisation && n->utilisation(handle, &busy) == NVML_OK)
        out->utilisation = busy.gpu;
    if (n->temperature && n->temperature(handle, SENSOR_GPU, &value) == NVML_OK)
        out->temperature = value;
    if (n->power && n->power(handle, &value) == NVML_OK)
        out->milliwatts = value;
    if (n->ecc && n->ecc(handle, ECC_UNCORRECTED, ECC_SINCE_LOADED, &errors) == NVML_OK)
        out->ecc_errors = errors;
}

static void read_device(const struct nvml *n, struct arena *a, void *handle, struct gpu_device *out)
{
    struct nvml_memory memory = { 0 };
    struct nvml_pci pci = { .domain = 0 };
    unsigned minor;
    out->model = text_of(a, n->name, handle);
    out->uuid = text_of(a, n->uuid, handle);
    if (n->minor && n->minor(handle, &minor) == NVML_OK)
        out->minor = minor;
    if (n->pci && n->pci(handle, &pci) == NVML_OK)
        out->pci = arena_strndup(a, pci.id, strnlen(pci.id, sizeof pci.id));
    int rc = n->memory ? n->memory(handle, &memory) : NVML_OK;
    if (rc != NVML_OK)
        out->error = error_of(n, a, "its memory cannot be read", rc);
    out->memory = memory.total;
    out->memory_used = memory.used;
    read_sample(n, handle, out);
    read_processes(n, a, handle, out);
}

static void read_devices(const struct nvml *n, struct arena *a, struct gpu_report *out)
{
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
    out->at = ARENA_ARRAY(a, count, struct gpu_device);
    for (unsigned i = 0; i < count; i++) {
        void *handle = NULL;
        struct gpu_device *device = &out->at[out->n++];
        *device = (struct gpu_device){
            .number = i, .minor = i, .model = "", .uuid = "", .pci = "", .error = ""
        };
        rc = n->handle(i, &handle);
        if (rc == NVML_OK)
            read_device(n, a, handle, device);
        else
            device->error = error_of(n, a, "it does not answer", rc);
    }
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
