/* Locks are those of open files (F_OFD_SETLK), which can be asked about without being taken. A
 * device has two: one among the servers of a user, whose file says whose server's tasks hold it (it
 * is written by the first holder, who is alone then), and one among all users, in whose file
 * nothing is read, because anyone may write it. Whoever takes the device holds the second byte of
 * each meanwhile. Another user can hold a lock for nothing, and lets nobody in to what is held. */
#include "node/gpu_lock.h"

#include "base/mem.h"
#include "node/locks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIND "gpus"

struct lock_name {
    char text[64];
};

/* Of a whole device the number of its file; behind it the ids of an instance. */
static struct lock_name name_of(const char *front, uint32_t minor, const struct gpu_part *part)
{
    struct lock_name name;
    if (part && part->is)
        snprintf(name.text, sizeof name.text, "%s%u.%u.%u", front, minor, part->gi, part->ci);
    else
        snprintf(name.text, sizeof name.text, "%s%u", front, minor);
    return name;
}

static int open_lock(uint32_t minor, const struct gpu_part *part, int make)
{
    AUTO_CLOSE int locks = locks_open(KIND);
    const struct lock_name name = name_of("", minor, part);
    return locks < 0 ? -1 : openat(locks, name.text, O_RDWR | make | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int open_common(uint32_t minor, const struct gpu_part *part, bool make, bool *denied)
{
    return locks_open_common(name_of("muster-gpu-", minor, part).text, make, denied);
}

enum part { DEVICE, TAKING };

static struct flock part_of(enum part part, short type)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = part, .l_len = 1 };
}

static bool set_lock(int fd, enum part part, short type)
{
    struct flock lock = part_of(part, type);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool wait_lock(int fd, enum part part, short type)
{
    struct flock lock = part_of(part, type);
    return fcntl(fd, F_OFD_SETLKW, &lock) == 0;
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

/* Among all users. A share joins those of its own server: one that still holds `own` holds this one
 * too, because it gives up `own` first. Nobody is waited for: a stranger may hold it for ever. */
static bool hold_common(int fd, int own, const struct gpu_ask *ask)
{
    if (!set_lock(fd, TAKING, F_WRLCK))
        return false;
    bool held = set_lock(fd, DEVICE, F_WRLCK)
                    ? !ask->share || set_lock(fd, DEVICE, F_RDLCK)
                    : ask->share && set_lock(fd, DEVICE, F_RDLCK) && is_held(own, DEVICE);
    (void)set_lock(fd, TAKING, F_UNLCK);
    return held;
}

/* *common has a higher number than own: a process that ends closes them in this order. */
static bool take_common(int own, const struct gpu_ask *ask, size_t i, int *common)
{
    bool denied;
    AUTO_CLOSE int fd =
        open_common(ask->minors[i], ask->parts ? &ask->parts[i] : NULL, true, &denied);
    if (fd < 0)
        return !denied;
    *common = fcntl(fd, F_DUPFD_CLOEXEC, own + 1);
    return *common >= 0 && hold_common(*common, own, ask);
}

static bool hold(int own, const struct gpu_ask *ask, size_t i, int *common)
{
    bool held = wait_lock(own, TAKING, F_WRLCK) && hold_device(own, ask) &&
                take_common(own, ask, i, common);
    if (!held) /* before anybody may take it for the lock of one that has both */
        (void)set_lock(own, DEVICE, F_UNLCK);
    (void)set_lock(own, TAKING, F_UNLCK);
    return held;
}

bool gpu_locks_take(struct gpu_locks *locks, const struct gpu_ask *ask, uint32_t *which)
{
    *locks = (struct gpu_locks){ .held = NULL };
    if (ask->n == 0)
        return true;
    locks->held = mem_new(2 * ask->n * sizeof *locks->held);
    for (size_t i = 0; i < ask->n; i++) {
        AUTO_CLOSE int fd = open_lock(ask->minors[i], ask->parts ? &ask->parts[i] : NULL, O_CREAT);
        if (fd < 0)
            continue;
        AUTO_CLOSE int common = -1;
        if (!hold(fd, ask, i, &common)) {
            *which = ask->minors[i];
            gpu_locks_give(locks);
            return false;
        }
        locks->held[locks->n++] = mem_give_fd(&fd);
        if (common >= 0)
            locks->held[locks->n++] = mem_give_fd(&common);
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

enum holder { NOBODY, OWN_SERVER, ANOTHER };

static enum holder holder_of(int fd, const char *server)
{
    if (fd < 0 || is_held(fd, TAKING) || !is_held(fd, DEVICE))
        return NOBODY;
    return is_of(fd, server) || is_held(fd, TAKING) ? OWN_SERVER : ANOTHER;
}

bool gpu_lock_is_foreign(uint32_t minor, const struct gpu_part *part, const char *server)
{
    bool denied;
    AUTO_CLOSE int own = open_lock(minor, part, 0);
    AUTO_CLOSE int common = open_common(minor, part, false, &denied);
    enum holder holder = holder_of(own, server);
    if (holder != NOBODY)
        return holder == ANOTHER;
    bool held = common >= 0 && is_held(common, DEVICE) && !is_held(common, TAKING);
    /* Not by a task of ours that has taken it meanwhile. */
    return denied || (held && !(own >= 0 && (is_held(own, TAKING) || is_held(own, DEVICE))));
}
