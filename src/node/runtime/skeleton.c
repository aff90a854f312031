/* Directories and files that exist for mounts alone. In the task's own layer each would be made and
 * removed on the disk, for every task; here they are entries of a small file system in memory,
 * which lies as a layer between the image and the task's own. What the image has is found by
 * openat2() with RESOLVE_IN_ROOT, so a link of the image leads where it leads in the image. A
 * directory that is in both layers takes its mode and owner from the upper one, so they are copied.
 *
 * Whatever cannot be made is left out: the caller makes it in the task's layer. */
#include "node/runtime/skeleton.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_PATH 32

static int open_in_tree(int tree, const char *path)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    return (int)syscall(SYS_openat2, tree, *path ? path : ".", &how, sizeof how);
}

static bool name_of(int fd, char out[SKELETON_PATH])
{
    char link[FD_PATH];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, SKELETON_PATH - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    return true;
}

/* Where an open directory of the tree lies below it, without links; false: not known. */
static bool path_below(int tree, int dir, char out[SKELETON_PATH])
{
    char top[SKELETON_PATH], path[SKELETON_PATH];
    struct stat st;
    if (fstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) || !name_of(tree, top) || !name_of(dir, path))
        return false;
    size_t n = strlen(top);
    if (strncmp(path, top, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return false;
    snprintf(out, SKELETON_PATH, "%s", path + n + (path[n] == '/'));
    return true;
}

/* The directories of that path as the tree has them. */
static bool copy_dirs(int tree, int skeleton, char *path)
{
    struct stat st;
    for (char *slash = path; *path && slash;) {
        slash = strchr(slash + (slash != path), '/');
        if (slash)
            *slash = '\0';
        bool good = fstatat(tree, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (good && mkdirat(skeleton, path, 0755) == 0)
            good = fchownat(skeleton, path, st.st_uid, st.st_gid, 0) == 0 &&
                   fchmodat(skeleton, path, st.st_mode & 07777, 0) == 0;
        if (slash)
            *slash = '/';
        if (!good)
            return false;
    }
    return true;
}

static void make_rest(int skeleton, const char *below, const char *rest, bool dir)
{
    char path[2 * SKELETON_PATH];
    snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", rest);
    char *slash = path + strlen(path) - strlen(rest);
    while ((slash = strchr(slash, '/'))) {
        *slash = '\0';
        (void)mkdirat(skeleton, path, 0755);
        *slash++ = '/';
    }
    if (dir)
        (void)mkdirat(skeleton, path, 0755);
    else
        (void)mknodat(skeleton, path, S_IFREG | 0644, 0);
}

/* Where in path the first part begins that the tree has not; its length: all is there. */
static size_t missing_from(int tree, char *path)
{
    for (size_t start = 0, end;; start = end + 1) {
        end = start + strcspn(path + start, "/");
        char next = path[end];
        path[end] = '\0';
        AUTO_CLOSE int there = open_in_tree(tree, path);
        path[end] = next;
        if (there < 0)
            return start;
        if (next == '\0')
            return end;
    }
}

void skeleton_add(int tree, int skeleton, const char *at, bool dir)
{
    char path[SKELETON_PATH], below[SKELETON_PATH];
    at += strspn(at, "/");
    size_t len = strlen(at);
    while (len > 0 && at[len - 1] == '/')
        len--;
    if (len == 0 || len >= sizeof path || file_climbs(at))
        return;
    snprintf(path, sizeof path, "%.*s", (int)len, at);
    size_t start = missing_from(tree, path);
    if (start == len)
        return;
    if (start > 0)
        path[start - 1] = '\0';
    AUTO_CLOSE int above = open_in_tree(tree, start > 0 ? path : "");
    if (above >= 0 && path_below(tree, above, below) && copy_dirs(tree, skeleton, below))
        make_rest(skeleton, below, path + start, dir);
}

void skeleton_init(int tree, int skeleton)
{
    struct stat st;
    if (fstat(tree, &st) != 0)
        return;
    (void)!fchownat(skeleton, ".", st.st_uid, st.st_gid, 0);
    (void)!fchmodat(skeleton, ".", st.st_mode & 07777, 0);
}
