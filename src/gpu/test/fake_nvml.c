/* libnvidia-ml.so.1 for test_nvml.c: a handle is a place in an array, at the number of its device,
 * an instance's 100 behind it. With OLD_DRIVER it has the functions that every version has, and
 * some by the names of before. */
#include "gpu/test/fake_nvml.h"

#include <stdio.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, LINKS = 18, INSTANCE = 100 };

struct fake_nvml fake_nvml;
static struct fake_nvml *const fake = &fake_nvml;

static const char handles[2 * INSTANCE + FAKE_INSTANCES];

static unsigned number_of(const char *handle)
{
    return (unsigned)(handle - handles);
}

int nvmlInit_v2(void)
{
    return fake->init;
}

int nvmlShutdown(void)
{
    fake->shut_down++;
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = fake->count;
    return fake->count_rc;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, const char **handle)
{
    *handle = &handles[i];
    return i == 0 ? fake->handle_rc : OK;
}

int nvmlDeviceGetName(const char *handle, char *out, unsigned size)
{
    snprintf(out, size, "%s", number_of(handle) >= INSTANCE ? fake->instance_name : fake->name);
    return OK;
}

struct fake_process {
    unsigned pid;
    unsigned long long memory;
    unsigned instance, compute;
};
static int list_processes(unsigned *n, struct fake_process *out)
{
    unsigned room = *n;
    *n = fake->processes;
    for (unsigned i = 0; i < room && i < fake->processes; i++)
        out[i] = (struct fake_process){ .pid = i + 1, .memory = fake->process_memory };
    return fake->processes_rc;
}

#ifdef OLD_DRIVER
int nvmlDeviceGetCurrentClocksThrottleReasons(const char *handle, unsigned long long *bits)
{
    *bits = handle ? 4 : 0;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v2(const char *handle, unsigned *n,
                                            struct fake_process *out)
{
    return handle ? list_processes(n, out) : NOT_FOUND;
}
#else
int nvmlDeviceGetComputeRunningProcesses_v3(const char *handle, unsigned *n,
                                            struct fake_process *out)
{
    return handle ? list_processes(n, out) : NOT_FOUND;
}

struct fake_memory {
    unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(const char *handle, struct fake_memory *out)
{
    *out = (struct fake_memory){ .total = handle ? 1000 : 0, .used = fake->used };
    return fake->memory_rc;
}

struct fake_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(const char *handle, struct fake_memory_v2 *out)
{
    out->total = handle ? 2000 : 0;
    out->used = fake->used;
    return out->version == (sizeof *out | 2u << 24) ? fake->memory_v2_rc : NOT_SUPPORTED;
}

int nvmlDeviceGetPciInfo_v3(const char *handle, struct fake_pci *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%s%u", fake->pci, number_of(handle));
    return OK;
}

int nvmlDeviceGetMigMode(const char *handle, unsigned *now, unsigned *later)
{
    *now = *later = 0;
    for (int i = 0; number_of(handle) == 0 && i < FAKE_INSTANCES; i++)
        *now |= fake->mig[i] != 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(const char *handle, unsigned i, const char **out)
{
    if (i >= FAKE_INSTANCES || !fake->mig[i])
        return NOT_FOUND;
    *out = handle + INSTANCE + i;
    return OK;
}

int nvmlDeviceGetTopologyCommonAncestor(const char *one, const char *other, int *level)
{
    *level = fake->path;
    return one == other ? NOT_FOUND : OK;
}

int nvmlDeviceGetNvLinkState(const char *handle, unsigned link, unsigned *active)
{
    *active = handle && link < fake->links;
    return OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(const char *handle, unsigned link, int *type)
{
    *type = fake->link_type;
    return handle && link < LINKS * 2 ? OK : NOT_FOUND;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(const char *handle, unsigned link, struct fake_pci *out)
{
    memcpy(out->id, fake->link_to, sizeof out->id);
    return handle && link < LINKS * 2 ? OK : NOT_FOUND;
}

const char *nvmlErrorString(int code)
{
    return code == 15 ? "GPU is lost" : "words";
}
#endif
