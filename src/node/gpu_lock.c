/* Locks are those of open files (F_OFD_SETLK), which can be asked about without being taken. The
 * file says whose server's tasks hold it: it is written by the first holder, who is alone then. Who
 * takes the device holds its second byte meanwhile, so that nobody reads a text of before. */
#include "node/gpu_lock.h"

#include "base/mem.h"
#include "node/locks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIND "gpus"

/* Of a whole device the number of its file; behind it the ids of an instance. */
static int open_lock(uint32_t minor, const struct gpu_part *part, int make)
{
    char name[40];
    AUTO_CLOSE int locks = locks_open(KIND);
    if (part && part->is)
        snprintf(name, sizeof name, "%u.%u.%u", minor, part->gi, part->ci);
    else
        snprintf(name, sizeof name, "%u", minor);
    return locks < 0 ? -1 : openat(locks, name, O_RDWR | make | O_CLOEXEC | O_NOFOLLOW, 0600);
}

enum part { DEVICE, TAKING };

static struct flock part_of(enum part part, short type)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = part, .l_len = 1 };
}

static bool set_lock(int fd, enum part part, short type)
{
    struct flock lock = part_of(part, type);
    return fcntl(fd, part == TAKING ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0;
}

static bool is_held(int fd, enum part part)
{
    struct flock lock = part_of(part, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool is_of(int fd, const char *server)
{
    char owner[GPU_SERVER_MAX];
    ssize_t n = pread(fd, owner, sizeof owner - 1, 0);
    owner[n > 0 ? n : 0] = '\0';
    return strcmp(owner, server) == 0;
}

static bool write_owner(int fd, const char *server)
{
    size_t n = strnlen(server, GPU_SERVER_MAX - 1);
    return ftruncate(fd, 0) == 0 && pwrite(fd, server, n, 0) == (ssize_t)n;
}

/* Who is alone says so before others may join. */
static bool hold_device(int fd, const struct gpu_ask *ask)
{
    if (set_lock(fd, DEVICE, F_WRLCK))
        return write_owner(fd, ask->server) && (!ask->share || set_lock(fd, DEVICE, F_RDLCK));
    return ask->share && set_lock(fd, DEVICE, F_RDLCK) && is_of(fd, ask->server);
}

static bool hold(int fd, const struct gpu_ask *ask)
{
    bool held = set_lock(fd, TAKING, F_WRLCK) && hold_device(fd, ask);
    (void)set_lock(fd, TAKING, F_UNLCK);
    return held;
}

bool gpu_locks_take(struct gpu_locks *locks, const struct gpu_ask *ask, uint32_t *which)
{
    *locks = (struct gpu_locks){ .held = NULL };
    if (ask->n == 0)
        return true;
    locks->held = mem_new(ask->n * sizeof *locks->held);
    for (size_t i = 0; i < ask->n; i++) {
        AUTO_CLOSE int fd = open_lock(ask->minors[i], ask->parts ? &ask->parts[i] : NULL, O_CREAT);
        if (fd < 0)
            continue;
        if (!hold(fd, ask)) {
            *which = ask->minors[i];
            gpu_locks_give(locks);
            return false;
        }
        locks->held[locks->n++] = mem_give_fd(&fd);
    }
    return true;
}

void gpu_locks_give(struct gpu_locks *locks)
{
    for (size_t i = 0; i < locks->n; i++)
        close(locks->held[i]);
    free(TAKE(locks->held));
    locks->n = 0;
}

bool gpu_lock_is_foreign(uint32_t minor, const struct gpu_part *part, const char *server)
{
    AUTO_CLOSE int fd = open_lock(minor, part, 0);
    if (fd < 0 || is_held(fd, TAKING) || !is_held(fd, DEVICE))
        return false;
    return !is_of(fd, server) && !is_held(fd, TAKING);
}
