/* Directories for locks that all servers of a user on this machine share. A directory that somebody
 * else made first, or may write to, is not used. */
#include "node/locks.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_dir(const char *path)
{
    struct stat st;
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

int locks_open(const char *kind)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    AUTO_FREE char *top = geteuid() == 0         ? mem_strdup("/run/muster")
                          : run && run[0] == '/' ? mem_printf("%s/muster", run)
                                                 : mem_printf("/tmp/muster-%u", geteuid());
    AUTO_FREE char *dir = mem_printf("%s/%s", top, kind);
    if (!own_dir(top) || !own_dir(dir))
        return -1;
    return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Whoever may write to it makes files of his own there, and removes nobody else's. */
static bool is_common(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 &&
           (st.st_mode & 01007) == 01007;
}

static bool is_lock(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

/* The kernel lets nobody open a file of another user with O_CREAT in such a directory
 * (fs.protected_regular). */
static int open_or_make(int dir, const char *name, bool make)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    for (int tries = 0; tries < 3; tries++) {
        int fd = openat(dir, name, flags);
        if (fd >= 0 || errno != ENOENT || !make)
            return fd;
        fd = openat(dir, name, flags | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 && fchmod(fd, 0666) == 0)
            return fd;
        if (fd >= 0 || errno != EEXIST) {
            mem_close_at(&fd);
            return -1;
        }
    }
    return -1;
}

int locks_open_common(const char *name, bool make, bool *denied)
{
    const char *path = is_common("/run/lock") ? "/run/lock" : is_common("/tmp") ? "/tmp" : NULL;
    AUTO_CLOSE int dir = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
    *denied = false;
    if (dir < 0)
        return -1;
    AUTO_CLOSE int fd = open_or_make(dir, name, make);
    *denied = fd < 0 ? errno != ENOENT && errno != ENOSPC && errno != EROFS : !is_lock(fd);
    return fd < 0 || *denied ? -1 : mem_give_fd(&fd);
}
