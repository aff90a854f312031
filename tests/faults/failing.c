/* A disk and a clock that fail as they are told, for one process: a library that is loaded before
 * libc (LD_PRELOAD). MUSTER_FAILING names a file of four lines' worth of numbers, mapped by the
 * process and by the test (tests/faults/failing.py):
 *
 *     kind      0 nothing, 1 EIO, 2 ENOSPC, 3 short writes that end in ENOSPC
 *     after     so many writes and syncs of records still go well
 *     times     then so many fail; both count down
 *     shift_s   what the wall clock is off by, in seconds
 *
 * Only files whose path holds MUSTER_FAILING_IN are touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WELL, IO, FULL, SHORT };

struct told {
    _Atomic int64_t kind, after, times, shift_s;
};

static struct told *told;
static const char *within = "";

__attribute__((constructor)) static void find(void)
{
    const char *path = getenv("MUSTER_FAILING");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    told = at == MAP_FAILED ? NULL : at;
    within = getenv("MUSTER_FAILING_IN") ? getenv("MUSTER_FAILING_IN") : "";
}

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

static int is_record(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    return strstr(path, within) != NULL;
}

/* What is to happen to this call. */
static int fate(int fd)
{
    int kind = told ? (int)told->kind : WELL;
    if (kind == WELL || !is_record(fd))
        return WELL;
    if (told->after > 0) {
        told->after--;
        return WELL;
    }
    if (told->times <= 0) {
        told->kind = WELL;
        return WELL;
    }
    told->times--;
    return kind;
}

static ssize_t fail_write(int how)
{
    errno = how == IO ? EIO : ENOSPC;
    return -1;
}

#define WRITES(NAME, OFFSET)                                                                       \
    ssize_t NAME(int fd, const void *data, size_t n, OFFSET at)                                    \
    {                                                                                              \
        ssize_t (*go)(int, const void *, size_t, OFFSET) =                                         \
            (ssize_t(*)(int, const void *, size_t, OFFSET))real(#NAME);                            \
        int how = fate(fd);                                                                        \
        if (how == WELL)                                                                           \
            return go(fd, data, n, at);                                                            \
        if (how == SHORT && n > 1)                                                                 \
            return go(fd, data, n / 2, at);                                                        \
        return fail_write(how);                                                                    \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t n)
{
    ssize_t (*go)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))real("write");
    int how = fate(fd);
    if (how == WELL)
        return go(fd, data, n);
    if (how == SHORT && n > 1)
        return go(fd, data, n / 2);
    return fail_write(how);
}

#define SYNCS(NAME)                                                                                \
    int NAME(int fd)                                                                               \
    {                                                                                              \
        int (*go)(int) = (int (*)(int))real(#NAME);                                                \
        int how = fate(fd);                                                                        \
        if (how == WELL || how == SHORT)                                                           \
            return go(fd);                                                                         \
        return (int)fail_write(how);                                                               \
    }
SYNCS(fsync)
SYNCS(fdatasync)

int clock_gettime(clockid_t which, struct timespec *now)
{
    int (*go)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))real("clock_gettime");
    int rc = go(which, now);
    if (told && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        now->tv_sec += told->shift_s;
    return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int (*go)(struct timeval *, void *) = (int (*)(struct timeval *, void *))real("gettimeofday");
    int rc = go(now, zone);
    if (told)
        now->tv_sec += told->shift_s;
    return rc;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
