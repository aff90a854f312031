/* An overlay of the kernel, the node's /proc, /sys and /dev, and bind mounts. Every path in the
 * image is resolved by openat2() with RESOLVE_IN_ROOT, because an image may have a link where
 * something is to be mounted; mounts go by descriptors ("/proc/self/fd/N"), so that nothing is
 * resolved a second time and no path needs to be quoted for the overlay's options. Then the new
 * root takes the place of the old one, which is let go of: not even a program with all rights finds
 * the way back that chroot() alone leaves open.
 *
 * The kernel lets a new /proc be mounted only while all of another one can be seen, so that has to
 * be before the old root is gone. */
#include "node/runtime/root.h"

#include "base/mem.h"
#include "node/runtime/holder.h"
#include "node/runtime/pids.h"
#include "node/runtime/skeleton.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_MOST 4096u
#define FD_PATH   32

struct open_bind { /* a bind, its source open */
    const struct root_bind *bind;
    int source; /* -1: there is none, and need not be */
    bool dir;
};
struct making {
    const struct root *root;
    struct open_bind *shown;
    size_t n_shown;
    int top; /* of the new root */
    char *why;
};

enum { DEV, PROC }; /* in usual */
static const struct root_bind usual[] = {
    [DEV] = { .from = "/dev", .at = "/dev" },
    [PROC] = { .from = "/proc", .at = "/proc" },
    { .from = "/sys", .at = "/sys", .read_only = true, .may_miss = true },
    { .from = "/etc/resolv.conf", .at = "/etc/resolv.conf", .read_only = true, .may_miss = true },
};

__attribute__((format(printf, 2, 3))) static int fail(const struct making *m, const char *fmt, ...)
{
    int number = errno;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(m->why, ROOT_WHY, fmt, ap);
    va_end(ap);
    if (n >= 0 && n < ROOT_WHY)
        snprintf(m->why + n, ROOT_WHY - (size_t)n, ": %s", strerror(number));
    return -1;
}

static const char *fd_path(int fd, char out[FD_PATH])
{
    snprintf(out, FD_PATH, "/proc/self/fd/%d", fd);
    return out;
}

/* ---- paths of the image ---- */

static int open_inside(const struct making *m, const char *path, uint64_t flags)
{
    struct open_how how = { .flags = flags | O_CLOEXEC,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    path += strspn(path, "/");
    return (int)syscall(SYS_openat2, m->top, *path ? path : ".", &how, sizeof how);
}

/* The last part, in the directory that the parts before it name. */
static int make_one(const struct making *m, char *path, bool dir)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    AUTO_CLOSE int parent = open_inside(m, path, O_PATH | O_DIRECTORY);
    *slash = '/';
    if (parent < 0)
        return -1;
    if (dir)
        return mkdirat(parent, slash + 1, 0755);
    /* What is there without being found is a link to nothing, as /etc/resolv.conf of some images.
     */
    (void)unlinkat(parent, slash + 1, 0);
    AUTO_CLOSE int file = openat(parent, slash + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return file < 0 ? -1 : 0;
}

/* What is to be covered, made where it is missing. -1 and errno. */
static int open_point(const struct making *m, const char *at, bool dir)
{
    char path[PATH_MOST];
    size_t len = strlen(at);
    while (len > 1 && at[len - 1] == '/')
        len--;
    if (*at != '/' || len >= sizeof path) {
        errno = *at == '/' ? ENAMETOOLONG : EINVAL;
        return -1;
    }
    memcpy(path, at, len);
    path[len] = '\0';
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        AUTO_CLOSE int there = open_inside(m, path, O_PATH);
        bool good = there >= 0 || (errno == ENOENT && make_one(m, path, slash || dir) == 0);
        if (slash)
            *slash = '/';
        if (!good)
            return -1;
        if (!slash)
            return open_inside(m, path, O_PATH | (dir ? O_DIRECTORY : 0));
    }
}

/* ---- mounts ---- */

/* Remounting must repeat the flags that the file system has: a user namespace may not drop them. */
int root_make_read_only(const char *at)
{
    struct statvfs fs;
    if (statvfs(at, &fs) != 0)
        return -1;
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    flags |= fs.f_flag & ST_NOSUID ? MS_NOSUID : 0;
    flags |= fs.f_flag & ST_NODEV ? MS_NODEV : 0;
    flags |= fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
    flags |= fs.f_flag & ST_NOATIME ? MS_NOATIME : 0;
    flags |= fs.f_flag & ST_RELATIME ? MS_RELATIME : 0;
    return mount(NULL, at, NULL, flags, NULL);
}

/* What the root is made of has its own path in a container only below that. */
static const char *below_of(const struct root *root)
{
    return root->container ? CONTAINER_BELOW : "";
}

static int open_source(const char *below, const struct root_bind *bind)
{
    AUTO_FREE char *path = mem_printf("%s%s", below, bind->from);
    AS_FS_USER(bind->user);
    return open(path, O_PATH | O_CLOEXEC);
}

static int open_shown(const struct making *m, const char *below, struct open_bind *shown,
                      const struct root_bind *bind)
{
    struct stat st;
    *shown = (struct open_bind){ .bind = bind, .source = open_source(below, bind) };
    if (shown->source < 0 && errno == ENOENT && bind->may_miss)
        return 0;
    if (shown->source < 0 || fstat(shown->source, &st) != 0)
        return fail(m, "cannot show %.60s", bind->from);
    shown->dir = S_ISDIR(st.st_mode);
    return 0;
}

static int open_all(struct making *m)
{
    const struct root *root = m->root;
    for (size_t i = 0; i < ARRAY_LEN(usual) + root->n_binds; i++) {
        bool own = i < ARRAY_LEN(usual);
        const struct root_bind *bind = own ? &usual[i] : &root->binds[i - ARRAY_LEN(usual)];
        int rc = open_shown(m, own ? "" : below_of(root), &m->shown[m->n_shown], bind);
        m->n_shown += m->shown[m->n_shown].source >= 0;
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int show_own_pids(const struct making *m)
{
    char at[FD_PATH];
    AUTO_CLOSE int point = open_point(m, usual[PROC].at, true);
    if (point < 0 || pids_show(fd_path(point, at)) != 0)
        return fail(m, "cannot make a /proc of its own");
    return 0;
}

static int show(const struct making *m, const struct open_bind *shown)
{
    char from[FD_PATH], at[FD_PATH];
    const struct root_bind *bind = shown->bind;
    if (bind == &usual[PROC] && m->root->own_pids)
        return show_own_pids(m);
    AUTO_CLOSE int point = open_point(m, bind->at, shown->dir);
    if (point < 0 ||
        mount(fd_path(shown->source, from), fd_path(point, at), NULL, MS_BIND | MS_REC, NULL) != 0)
        return fail(m, "cannot show %.50s at %.50s", bind->from, bind->at);
    if (!bind->read_only)
        return 0;
    AUTO_CLOSE int covered = open_point(m, bind->at, shown->dir);
    if (covered < 0 || root_make_read_only(fd_path(covered, at)) != 0)
        return fail(m, "cannot show %.50s read-only", bind->from);
    return 0;
}

/* A new one: what tasks leave there is not seen by others. */
static int show_shm(const struct making *m)
{
    char at[FD_PATH], options[64] = "mode=1777";
    AUTO_CLOSE int point = open_point(m, "/dev/shm", true);
    if (m->root->shm)
        snprintf(options, sizeof options, "mode=1777,size=%" PRIu64, m->root->shm);
    if (point < 0 ||
        mount("tmpfs", fd_path(point, at), "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        return fail(m, "cannot make /dev/shm");
    return 0;
}

static int show_memory(const struct making *m)
{
    const struct memory_dirs *dirs = m->root->memory;
    char at[FD_PATH];
    for (size_t i = 0; dirs && i < dirs->n; i++) {
        AUTO_CLOSE int point = open_point(m, dirs->at[i], true);
        if (point < 0 || memory_mount(fd_path(point, at), dirs) != 0)
            return fail(m, "no secrets can lie in %.60s of the image", dirs->at[i]);
    }
    return 0;
}

static int show_all(const struct making *m)
{
    for (size_t i = 0; i < m->n_shown; i++)
        if (show(m, &m->shown[i]) != 0 || (m->shown[i].bind == &usual[DEV] && show_shm(m) != 0))
            return -1;
    if (show_memory(m) != 0)
        return -1;
    if (!m->root->work_dir)
        return 0;
    AUTO_CLOSE int work = open_point(m, m->root->work_dir, true);
    return work < 0 ? fail(m, "no working directory %.80s", m->root->work_dir) : 0;
}

/* ---- the overlay ---- */

static int open_dir(const struct root *root, const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s%s/%s", below_of(root), dir, name);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* In memory, for mounts that the image has no place for; -1: there is none, and each is made in the
 * task's own layer. */
static int make_skeleton(const struct making *m, int tree)
{
    char at[FD_PATH];
    const struct root *root = m->root;
    AUTO_CLOSE int point = open_dir(root, root->at, "");
    if (point < 0 ||
        mount("tmpfs", fd_path(point, at), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4m") != 0)
        return -1;
    int skeleton = open_dir(root, root->at, "");
    if (skeleton < 0)
        return -1;
    skeleton_init(tree, skeleton);
    for (size_t i = 0; i < m->n_shown; i++)
        skeleton_add(tree, skeleton, m->shown[i].bind->at, m->shown[i].dir);
    for (size_t i = 0; root->memory && i < root->memory->n; i++)
        skeleton_add(tree, skeleton, root->memory->at[i], true);
    if (root->work_dir)
        skeleton_add(tree, skeleton, root->work_dir, true);
    return skeleton;
}

/* "volatile": the layer goes with the task, so its end is not to wait until all that the disk has
 * to write is written. Older kernels than 5.10 do not know it. */
static int mount_with(const char *at, const char *lower, const char *more)
{
    char options[256];
    snprintf(options, sizeof options, "%s%s,volatile", lower, more);
    if (mount("overlay", at, "overlay", 0, options) == 0)
        return 0;
    snprintf(options, sizeof options, "%s%s", lower, more);
    return mount("overlay", at, "overlay", 0, options);
}

const char *root_unfit_disk(const char *dir)
{
    struct statfs fs;
    if (statfs(dir, &fs) != 0)
        return NULL;
    return fs.f_type == OVERLAYFS_SUPER_MAGIC ? "overlayfs"
           : fs.f_type == NFS_SUPER_MAGIC     ? "NFS"
                                              : NULL;
}

static int fail_overlay(const struct making *m, int upper)
{
    char at[FD_PATH];
    int number = errno;
    const char *type = root_unfit_disk(fd_path(upper, at));
    errno = number;
    if (!type)
        return fail(m, "no overlay can be mounted over the image");
    snprintf(m->why, ROOT_WHY, ROOT_UNFIT_DISK, type);
    return -1;
}

/* Without a user namespace the kernel's own attributes may be written, in one only a user's. */
static int mount_overlay(struct making *m, bool user_ns)
{
    char lower[160], at[FD_PATH], below[FD_PATH], between[FD_PATH], up[FD_PATH], work[FD_PATH];
    const struct root *root = m->root;
    AUTO_CLOSE int tree = open_dir(root, root->tree, "");
    AUTO_CLOSE int upper = open_dir(root, root->dir, "up");
    AUTO_CLOSE int working = open_dir(root, root->dir, "work");
    if (tree < 0)
        return fail(m, "the image's tree is gone");
    AUTO_CLOSE int skeleton = make_skeleton(m, tree);
    AUTO_CLOSE int point = open_dir(root, root->at, "");
    if (upper < 0 || working < 0 || point < 0)
        return fail(m, "%.60s", root->dir);
    snprintf(lower, sizeof lower, "lowerdir=%s%s%s,upperdir=%s,workdir=%s",
             skeleton < 0 ? "" : fd_path(skeleton, between), skeleton < 0 ? "" : ":",
             fd_path(tree, below), fd_path(upper, up), fd_path(working, work));
    if (mount_with(fd_path(point, at), lower, user_ns ? ",userxattr" : "") != 0)
        return fail_overlay(m, upper);
    m->top = open_dir(root, root->at, "");
    return m->top < 0 ? fail(m, "%.60s", root->at) : 0;
}

static bool is_above(const char *path, const struct stat *here)
{
    struct stat above;
    return stat(path, &above) != 0 || above.st_ino != here->st_ino || above.st_dev != here->st_dev;
}

/* Of a server in a chroot only the chroot would be let go of below: what is above it would stay
 * within reach of a task that may call chroot. So the root becomes that of the namespace first, by
 * the way out that such a task would take. */
static bool leave_chroot(const struct making *m)
{
    struct stat here;
    AUTO_CLOSE int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0 || fchdir(m->top) != 0 || chroot(".") != 0 || fchdir(top) != 0)
        return false;
    while (stat(".", &here) == 0 && is_above("..", &here))
        if (chdir("..") != 0)
            return false;
    return chroot(".") == 0;
}

/* The old root comes to lie over the new one, and is let go of (pivot_root(2), "pivot_root(".",
 * ".")"). */
static int become_root(const struct making *m)
{
    if (!leave_chroot(m) || fchdir(m->top) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
        umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        return fail(m, "the image cannot become the root");
    return 0;
}

int root_enter(const struct root *root, bool user_ns, char why[ROOT_WHY])
{
    struct making m = { .root = root, .top = -1, .why = why };
    m.shown = mem_new((ARRAY_LEN(usual) + root->n_binds) * sizeof *m.shown);
    int rc = open_all(&m);
    if (rc == 0)
        rc = mount_overlay(&m, user_ns);
    if (rc == 0)
        rc = show_all(&m);
    if (rc == 0)
        rc = become_root(&m);
    for (size_t i = 0; i < m.n_shown; i++)
        close(m.shown[i].source);
    free(m.shown);
    if (m.top >= 0)
        close(m.top);
    return rc;
}
