/* Texts are PyTorch's (c10/cuda), JAX's, CuPy's and TensorFlow's, CUDA's (cudaGetErrorString, names
 * of the runtime's and the driver's interface), NCCL's (ncclGetErrorString), the kernel driver's,
 * and those of the node check. Which numbers of
 * Xid are the device's own fault is by NVIDIA's catalogue of them. */
#include "job/device_error.h"

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CANNOT_RUN                                                                                 \
    126 /* from here on codes are a shell's: signals, commands that are not there                  \
         */

static const struct {
    enum device_error error;
    const char *text;
} signs[] = {
    { DEVICE_ERROR_ECC, "uncorrectable ECC error" },
    { DEVICE_ERROR_ECC, "CUDA_ERROR_ECC_UNCORRECTABLE" },
    { DEVICE_ERROR_ECC, "cudaErrorECCUncorrectable" },
    { DEVICE_ERROR_LOST, "uncorrectable NVLink error" },
    { DEVICE_ERROR_LOST, "GPU has fallen off the bus" },
    { DEVICE_ERROR_LOST, "GPU is lost" },
    { DEVICE_ERROR_LOST, "CUDA-capable device(s) is/are busy or unavailable" },
    { DEVICE_ERROR_LOST, "cudaErrorDevicesUnavailable" },
    { DEVICE_ERROR_LOST, "CUDA error: system not yet initialized" },
    { DEVICE_ERROR_MEMORY, "CUDA out of memory" },
    { DEVICE_ERROR_MEMORY, "CUDA error: out of memory" },
    { DEVICE_ERROR_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
    { DEVICE_ERROR_MEMORY, "cuda runtime error (2) : out of memory" },
    { DEVICE_ERROR_MEMORY, "CUBLAS_STATUS_ALLOC_FAILED" },
    { DEVICE_ERROR_MEMORY, "cudaErrorMemoryAllocation" },
    { DEVICE_ERROR_MEMORY, "RESOURCE_EXHAUSTED: Out of memory" },
    { DEVICE_ERROR_MEMORY, "cupy.cuda.memory.OutOfMemoryError" },
    { DEVICE_ERROR_MEMORY, "by allocator GPU_" },
    { DEVICE_ERROR_ASSERT, "device-side assert triggered" },
    { DEVICE_ERROR_ASSERT, "an illegal memory access was encountered" },
    { DEVICE_ERROR_ASSERT, "CUDA_ERROR_ILLEGAL_ADDRESS" },
    { DEVICE_ERROR_ASSERT, "CUDA_ERROR_ASSERT" },
    { DEVICE_ERROR_ASSERT, "cudaErrorIllegalAddress" },
    { DEVICE_ERROR_ASSERT, "cudaErrorAssert" },
    { DEVICE_ERROR_NCCL_USE, "ncclInvalidUsage" },
    { DEVICE_ERROR_NCCL_USE, "ncclInvalidArgument" },
    { DEVICE_ERROR_NCCL, "ncclSystemError" },
    { DEVICE_ERROR_NCCL, "ncclRemoteError" },
    { DEVICE_ERROR_NCCL, "ncclInternalError" },
    { DEVICE_ERROR_NCCL, "ncclUnhandledCudaError" },
    { DEVICE_ERROR_NCCL, "NCCL error" },
    { DEVICE_ERROR_NCCL, "Watchdog caught collective operation timeout" },
    { DEVICE_ERROR_NO_CUDA, "Torch not compiled with CUDA enabled" },
    { DEVICE_ERROR_NO_CUDA, "is built without CUDA" },
    { DEVICE_ERROR_UNUSABLE, "was granted, but the CUDA driver" },
    { DEVICE_ERROR_UNUSABLE, "was granted, but CUDA has no such device" },
    { DEVICE_ERROR_UNUSABLE, "was granted, but torch" },
};

/* Double bit and contained errors, retired pages, NVLink, off the bus, the device's own processor.
 */
static const struct {
    enum device_error error;
    long number;
} xids[] = {
    { DEVICE_ERROR_ECC, 48 },    { DEVICE_ERROR_ECC, 63 },    { DEVICE_ERROR_ECC, 64 },
    { DEVICE_ERROR_ECC, 92 },    { DEVICE_ERROR_ECC, 94 },    { DEVICE_ERROR_ECC, 95 },
    { DEVICE_ERROR_LOST, 61 },   { DEVICE_ERROR_LOST, 62 },   { DEVICE_ERROR_LOST, 74 },
    { DEVICE_ERROR_LOST, 79 },   { DEVICE_ERROR_LOST, 119 },  { DEVICE_ERROR_LOST, 120 },
    { DEVICE_ERROR_ASSERT, 13 }, { DEVICE_ERROR_ASSERT, 31 },
};

#define ERROR_CLASS(id, class, text) [DEVICE_ERROR_##id] = END_##class,
#define ERROR_TEXT(id, class, text)  [DEVICE_ERROR_##id] = (text),
static const enum end_class classes[DEVICE_ERROR_N] = { DEVICE_ERRORS(ERROR_CLASS) };
static const char *const texts[DEVICE_ERROR_N] = { DEVICE_ERRORS(ERROR_TEXT) };

static enum device_error earlier(enum device_error a, enum device_error b)
{
    return a == DEVICE_ERROR_NONE || (b != DEVICE_ERROR_NONE && b < a) ? b : a;
}

/* "NVRM: Xid (PCI:0000:17:00): 79, pid=..." */
static enum device_error xid_in(const char *text)
{
    static const char mark[] = "Xid (";
    enum device_error found = DEVICE_ERROR_NONE;
    for (const char *at = text; (at = strstr(at, mark)); at += sizeof mark - 1) {
        const char *number = strstr(at, "): ");
        long n = number ? strtol(number + 3, NULL, 10) : 0;
        for (size_t i = 0; i < ARRAY_LEN(xids); i++)
            if (xids[i].number == n)
                found = earlier(found, xids[i].error);
    }
    return found;
}

static bool failed_by_itself(const struct ending *e)
{
    if (e->lost || e->oom || (e->by != BY_ITSELF && e->by != BY_NONE))
        return false;
    return e->exited ? (e->code > 0 && e->code < CANNOT_RUN) || e->code == 128 + SIGABRT
                     : e->signal == SIGABRT;
}

enum device_error device_error_of(const struct ending *e)
{
    if (!e->tail || !failed_by_itself(e))
        return DEVICE_ERROR_NONE;
    enum device_error found = xid_in(e->tail);
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (strcasestr(e->tail, signs[i].text))
            found = earlier(found, signs[i].error);
    return found;
}

enum end_class device_error_class(enum device_error error)
{
    return classes[error];
}

const char *device_error_text(enum device_error error)
{
    return texts[error];
}
