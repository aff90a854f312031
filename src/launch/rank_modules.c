/* Looks at /proc/PID/maps for libraries below site-packages/NAME/ (or dist-packages).
 *
 * The list of modules that are imported ahead. Each one was looked at for what its import does:
 * no thread that outlives a fork, no device touched, nothing that depends on the rank.
 *   numpy        OpenBLAS makes a pool (none with OMP_NUM_THREADS=1) that ends itself before a fork
 *   scipy        as numpy
 *   pandas       pure computation
 *   PIL          pure computation
 *   torch        CUDA is initialised at first use, not by the import; libgomp's pool too
 *   torchvision  registers operators with torch
 *   torchaudio   as torchvision
 *   torch._dynamo  what DistributedDataParallel and the optimizers import when they are first used,
 *                which takes longer than torch itself. It has no library of its own: it is known by
 *                Python's profiler, which it imports and hardly anybody else does
 * Not on it: tensorflow and jax (threads and devices at import), pyarrow and cv2 (their own thread
 * pools), deepspeed and horovod (look at the rank's environment and devices), tokenizers (refuses
 * to use threads after a fork). */
#include "launch/rank_modules.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define MAPS_MAX (4u << 20) /* a rank with torch has 200 KiB of it */

enum module { /* in the order they are imported */
              MODULE_NUMPY,
              MODULE_SCIPY,
              MODULE_PANDAS,
              MODULE_PIL,
              MODULE_TORCH,
              MODULE_TORCHVISION,
              MODULE_TORCHAUDIO,
              MODULE_DYNAMO
};
static const char *const modules[] = {
    [MODULE_NUMPY] = "numpy",           [MODULE_SCIPY] = "scipy",
    [MODULE_PANDAS] = "pandas",         [MODULE_PIL] = "PIL",
    [MODULE_TORCH] = "torch",           [MODULE_TORCHVISION] = "torchvision",
    [MODULE_TORCHAUDIO] = "torchaudio", [MODULE_DYNAMO] = "torch._dynamo",
};

static unsigned module_of(const char *path)
{
    static const char *const parents[] = { "/site-packages/", "/dist-packages/" };
    for (size_t i = 0; i < ARRAY_LEN(parents); i++) {
        const char *at = strstr(path, parents[i]);
        if (!at)
            continue;
        at += strlen(parents[i]);
        size_t len = strcspn(at, "/");
        for (unsigned m = 0; at[len] == '/' && m < ARRAY_LEN(modules); m++)
            if (strlen(modules[m]) == len && strncmp(at, modules[m], len) == 0)
                return 1u << m;
    }
    return 0;
}

int rank_modules_look(pid_t pid, struct rank_modules *out)
{
    char path[48], line[1024];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    struct rank_modules sight = { .mapped = 0 };
    bool profiler = false;
    for (size_t bytes = 0; bytes < MAPS_MAX && fgets(line, sizeof line, file);) {
        bytes += strlen(line);
        const char *name = strchr(line, '/');
        if (!name || !strstr(name, ".so") || !strstr(line, " r-xp "))
            continue;
        sight.mapped++;
        sight.modules |= module_of(name);
        profiler = profiler || strstr(name, "/lib-dynload/_lsprof.");
    }
    fclose(file);
    if (sight.mapped == 0)
        return -1;
    if (profiler && (sight.modules & (1u << MODULE_TORCH)))
        sight.modules |= 1u << MODULE_DYNAMO;
    *out = sight;
    return 0;
}

void rank_modules_names(unsigned bits, const char *separator, struct buf *out)
{
    for (unsigned m = 0; m < ARRAY_LEN(modules); m++)
        if (bits & (1u << m)) {
            if (out->len > 0)
                buf_puts(out, separator);
            buf_puts(out, modules[m]);
        }
}

bool rank_modules_variable(const char *entry)
{
    static const char *const prefixes[] = {
        "OMP_",     "GOMP_",   "KMP_",  "MKL_", "OPENBLAS_", "BLIS_",   "NUMEXPR_",        "NPY_",
        "CUDA_",    "NVIDIA_", "NCCL_", "HIP_", "ROCR_",     "HSA_",    "GLOO_",           "TORCH_",
        "PYTORCH_", "LD_",     "LC_",   "LANG", "PYTHON",    "MALLOC_", "GLIBC_TUNABLES=", "TZ=",
    };
    if (strncmp(entry, "CUDA_VISIBLE_DEVICES=", strlen("CUDA_VISIBLE_DEVICES=")) == 0)
        return false; /* read when CUDA is initialised, in the rank; may differ between ranks */
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}
