/* Preloaded: the machine's clock as if somebody had set it, for one process. MUSTER_TEST_CLOCK
 * names a file of two numbers (int64_t, microseconds) that are added to the wall clock and to the
 * time since the machine's start, as they are now; beside it, with .boot behind its name, may be
 * another boot_id. Other clocks go on, as they do when a clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shifts(void)
{
    static const volatile int64_t none[2];
    static const volatile int64_t *at;
    const char *path = getenv("MUSTER_TEST_CLOCK");
    if (at || !path)
        return at ? at : none;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    at = map == MAP_FAILED ? none : map;
    return at;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = (int)syscall(SYS_clock_gettime, id, out);
    int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (rc != 0 || (!wall && id != CLOCK_BOOTTIME))
        return rc;
    int64_t us = out->tv_sec * 1000000LL + out->tv_nsec / 1000 + shifts()[!wall];
    out->tv_sec = us / 1000000;
    out->tv_nsec = us % 1000000 * 1000;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

static int open_it(const char *path, int flags, mode_t mode)
{
    char other[4096];
    const char *file = getenv("MUSTER_TEST_CLOCK");
    snprintf(other, sizeof other, "%s.boot", file ? file : "");
    if (file && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 && access(other, R_OK) == 0)
        path = other;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_it(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_it(path, flags, mode);
}
