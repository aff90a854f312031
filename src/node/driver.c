/* A library is looked for as the loader of this node does it: LD_LIBRARY_PATH, the cache that
 * ldconfig made, the usual directories. The cache is a table before a heap of texts, of which only
 * the texts are read: paths, each between two zeros. What is shown has the version of the NVML that
 * is found first, as the driver refuses any other; and it is shown under the name that programs
 * load it by, where the image's loader looks without being told. */
#include "node/driver.h"

#include "base/file.h"
#include "base/mem.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE      "/etc/ld.so.cache"
#define CACHE_MOST (32u << 20)
#define NVML       "libnvidia-ml.so.1"
#define SOCKET     "/run/nvidia-persistenced/socket"

#if defined __x86_64__
#define TRIPLE  "x86_64-linux-gnu"
#define MACHINE EM_X86_64
#elif defined __aarch64__
#define TRIPLE  "aarch64-linux-gnu"
#define MACHINE EM_AARCH64
#else
#error "how do Debian and ELF call this processor?"
#endif

static const char *const libraries[] = {
    NVML,
    "libcuda.so.1",
    "libcudadebugger.so.1",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-nvvm.so.4",
    "libnvidia-opencl.so.1",
    "libnvidia-cfg.so.1",
    "libnvidia-allocator.so.1",
};
static const char *const usual[] = { "/usr/lib/" TRIPLE, "/lib/" TRIPLE, "/usr/lib64",
                                     "/lib64",           "/usr/lib",     "/lib" };

struct finding {
    struct arena *arena;
    char *cache;
    size_t cache_len;
    const char *version; /* ".580.159.04"; NULL: not known yet, or NVML's file does not say */
};

/* ---- on the node ---- */

static bool is_for_us(const char *path)
{
    Elf64_Ehdr head;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &head, sizeof head) == (ssize_t)sizeof head &&
           memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
           head.e_machine == MACHINE;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The file itself, when it is one of this driver. */
static const char *accept(const struct finding *f, const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);
    if (!real || !is_for_us(real) || (f->version && !ends_with(real, f->version)))
        return NULL;
    return arena_strdup(f->arena, real);
}

static const char *find_in(const struct finding *f, const char *dirs, const char *name)
{
    for (const char *at = dirs; at && *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        AUTO_FREE char *path = mem_printf("%.*s/%s", (int)len, at, name);
        const char *found = len > 0 ? accept(f, path) : NULL;
        if (found)
            return found;
        at += len;
    }
    return NULL;
}

static const char *find_in_cache(const struct finding *f, const char *name)
{
    AUTO_FREE char *end = mem_printf("/%s", name);
    size_t n = strlen(end) + 1; /* with the zero */
    for (const char *at = f->cache, *stop = at + f->cache_len; at && at + n <= stop; at++) {
        const char *start = at = memmem(at, (size_t)(stop - at), end, n);
        while (start && start > f->cache && start[-1] != '\0')
            start--;
        const char *found = start && *start == '/' ? accept(f, start) : NULL;
        if (found || !at)
            return found;
    }
    return NULL;
}

static const char *find_library(const struct finding *f, const char *name)
{
    const char *found = find_in(f, getenv("LD_LIBRARY_PATH"), name);
    if (!found)
        found = find_in_cache(f, name);
    for (size_t i = 0; i < ARRAY_LEN(usual) && !found; i++)
        found = find_in(f, usual[i], name);
    return found;
}

/* ---- in the image ---- */

static const char *place_in(const char *tree)
{
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        AUTO_FREE char *libc = mem_printf("%s%s/libc.so.6", tree, usual[i]);
        if (access(libc, F_OK) == 0)
            return usual[i];
    }
    return usual[0];
}

static size_t add(struct root_bind *out, const char *from, const char *at)
{
    *out = (struct root_bind){ .from = from, .at = at, .read_only = true, .may_miss = true };
    return 1;
}

static size_t add_libraries(struct finding *f, const char *place, struct root_bind *out)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
        const char *file = find_library(f, libraries[i]), *version = NULL;
        if (i == 0 && !file)
            return 0;
        if (i == 0) {
            version = strstr(file, ".so.");
            f->version = version && strchr(version + 4, '.') ? version + 3 : NULL;
        }
        if (file)
            n += add(&out[n], file, arena_printf(f->arena, "%s/%s", place, libraries[i]));
        if (file && strcmp(libraries[i], "libcuda.so.1") == 0) /* what links against it */
            n += add(&out[n], file, arena_printf(f->arena, "%s/libcuda.so", place));
    }
    return n;
}

static size_t add_smi(struct arena *arena, struct root_bind *out)
{
    const char *path = getenv("PATH");
    for (path = path ? path : "/usr/bin:/bin"; *path; path += *path == ':') {
        size_t len = strcspn(path, ":");
        char *file = arena_printf(arena, "%.*s/nvidia-smi", (int)len, path);
        if (len > 0 && access(file, X_OK) == 0)
            return add(out, file, "/usr/bin/nvidia-smi");
        path += len;
    }
    return 0;
}

size_t driver_binds(struct arena *arena, const char *tree, struct root_bind *out)
{
    struct finding f = { .arena = arena };
    if (file_read(CACHE, CACHE_MOST, &f.cache, &f.cache_len, NULL) != 0)
        f.cache = NULL;
    size_t n = add_libraries(&f, place_in(tree), out);
    free(f.cache);
    if (n == 0)
        return 0;
    n += add_smi(arena, &out[n]);
    return n + add(&out[n], SOCKET, SOCKET);
}
