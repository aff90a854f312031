/* A tmpfs for few small files, which is found again by a path of the view that it is in. Where the
 * kernel lets it be kept out of swap it is. */
#include "node/runtime/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static int check_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    bool empty = true;
    for (const struct dirent *one; empty && (one = readdir(dir));)
        empty = strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0;
    closedir(dir);
    if (empty)
        return 0;
    errno = ENOTEMPTY;
    return -1;
}

int memory_mount(const char *path, const struct memory_dirs *dirs)
{
    char options[96];
    if (check_empty(path) != 0)
        return -1;
    int n = dirs->given ? snprintf(options, sizeof options, "mode=0700,size=16m,uid=%u,gid=%u",
                                   (unsigned)dirs->uid, (unsigned)dirs->gid)
                        : snprintf(options, sizeof options, "mode=0700,size=16m");
    snprintf(options + n, sizeof options - (size_t)n, ",noswap");
    if (mount("tmpfs", path, "tmpfs", FLAGS, options) == 0)
        return 0;
    options[n] = '\0'; /* before Linux 6.4, and in a user namespace */
    return mount("tmpfs", path, "tmpfs", FLAGS, options);
}

int memory_open(int root, const char *at)
{
    struct statfs fs;
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    int fd = (int)syscall(SYS_openat2, root, at, &how, sizeof how);
    if (fd < 0)
        return -1;
    if (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
        return fd;
    close(fd);
    errno = ENOTDIR;
    return -1;
}
