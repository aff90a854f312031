/* A plain recursive copy by directory descriptors. The copy is made under a temporary name and
 * renamed, so that a half copy is never taken for a whole one. Depth is bounded; the caller has
 * bounded the size. */
#include "node/copy.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 100
#define NO_WRITE  07555u

static int copy_entry(int from_dir, const char *from, int to_dir, const char *to, int depth);

static int copy_file(int from_dir, const char *from, int to_dir, const char *to,
                     const struct stat *st)
{
    AUTO_CLOSE int in = openat(from_dir, from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return -1;
    AUTO_CLOSE int out = openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return -1;
    for (ssize_t n; (n = sendfile(out, in, NULL, 1u << 20)) != 0;)
        if (n < 0 && errno != EINTR)
            return -1;
    return fchmod(out, st->st_mode & NO_WRITE);
}

static int copy_link(int from_dir, const char *from, int to_dir, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_dir, from, target, sizeof target - 1);
    if (n < 0)
        return -1;
    target[n] = '\0';
    return symlinkat(target, to_dir, to);
}

static int copy_dir(int from_dir, const char *from, int to_dir, const char *to, int depth)
{
    int in = openat(from_dir, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return -1;
    DIR *dir = fdopendir(in);
    if (!dir) {
        close(in);
        return -1;
    }
    int rc = mkdirat(to_dir, to, 0700);
    AUTO_CLOSE int out = rc != 0 ? -1 : openat(to_dir, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = out < 0 ? -1 : 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = copy_entry(dirfd(dir), entry->d_name, out, entry->d_name, depth + 1);
    closedir(dir);
    return rc;
}

static int copy_entry(int from_dir, const char *from, int to_dir, const char *to, int depth)
{
    struct stat st;
    if (fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (depth > DEPTH_MAX) {
        errno = ELOOP;
        return -1;
    }
    if (S_ISREG(st.st_mode))
        return copy_file(from_dir, from, to_dir, to, &st);
    if (S_ISLNK(st.st_mode))
        return copy_link(from_dir, from, to_dir, to);
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (copy_dir(from_dir, from, to_dir, to, depth) != 0)
        return -1;
    /* The top stays writable for its owner until it has its name. */
    return depth == 0 ? 0 : fchmodat(to_dir, to, st.st_mode & NO_WRITE, 0);
}

int copy_read_only(const char *from, const char *to, struct err *err)
{
    if (access(to, F_OK) == 0)
        return 0;
    AUTO_FREE char *half = mem_printf("%s.half", to);
    if (file_remove_tree(half, err) != 0)
        return -1;
    if (copy_entry(AT_FDCWD, from, AT_FDCWD, half, 0) != 0 || rename(half, to) != 0) {
        err_sys(err, "copying %s to %s", from, to);
        (void)file_remove_tree(half, NULL);
        return -1;
    }
    (void)chmod(to, 0555);
    return 0;
}
