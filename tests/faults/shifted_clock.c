/* Preloaded: the machine's clock as if somebody had set it, for one process. MUSTER_TEST_CLOCK
 * names a file of two numbers (int64_t, microseconds) that are added to the wall clock and to the
 * time since the machine's start, as they are now; beside it, with .boot behind its name, may be
 * another boot_id, and with .host another name of the machine. Other clocks go on, as they do when
 * a clock is set. */
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
#include <sys/utsname.h>
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

/* As the file has it, without its end of line. false: there is no such file. */
static int another_host(char *out, size_t size)
{
    char path[4096];
    const char *file = getenv("MUSTER_TEST_CLOCK");
    snprintf(path, sizeof path, "%s.host", file ? file : "");
    int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return 1;
}

int uname(struct utsname *out)
{
    int rc = (int)syscall(SYS_uname, out);
    if (rc == 0)
        another_host(out->nodename, sizeof out->nodename);
    return rc;
}

int gethostname(char *out, size_t size)
{
    struct utsname name;
    if (uname(&name) != 0)
        return -1;
    snprintf(out, size, "%s", name.nodename);
    return 0;
}
