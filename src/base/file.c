/* Whole files and directories, with bounds. Trees are walked by directory descriptors and never
 * through links, so that what runs beside us cannot lead the walk elsewhere. */
#include "base/file.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deepest directory below the top that is walked by recursion (each level holds a descriptor). */
#define WALK_DEPTH 64

static void close_dir_at(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}
#define AUTO_DIR __attribute__((cleanup(close_dir_at)))

static int too_large(const char *path, size_t max, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes, the most that is read", path,
                   max);
}

/* Room for the file and one byte more, which tells that it is over the bound. */
static int first_room(int fd, const char *path, size_t max, size_t *room, struct err *err)
{
    struct stat st;
    *room = 4096;
    if (fstat(fd, &st) != 0)
        return err_sys(err, "%s", path);
    if (S_ISDIR(st.st_mode)) {
        err_set(err, ERR_INPUT, "%s is a directory", path);
        return err_hint(err, "name a file");
    }
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        if ((unsigned long long)st.st_size > max)
            return too_large(path, max, err);
        *room = (size_t)st.st_size + 1;
    }
    return 0;
}

int file_read(const char *path, size_t max, char **data, size_t *len, struct err *err)
{
    bool in = strcmp(path, "-") == 0;
    const char *name = in ? "stdin" : path;
    AUTO_CLOSE int opened = in ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int fd = in ? STDIN_FILENO : opened;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? err_set(err, ERR_INPUT, "%s: %s", path, strerror(errno))
                   : err_sys(err, "%s", path);
    size_t room, n = 0;
    if (first_room(fd, name, max, &room, err) != 0)
        return -1;
    AUTO_FREE char *text = mem_new(room + 1);
    for (;;) {
        ssize_t got = read(fd, text + n, room - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "%s", name);
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > max)
            return too_large(name, max, err);
        if (n == room) {
            room *= 2;
            text = mem_resize(text, room + 1);
        }
    }
    text[n] = '\0';
    *data = TAKE(text);
    *len = n;
    return 0;
}

int file_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int file_sync_parent(const char *path, struct err *err)
{
    AUTO_FREE char *dir = mem_strdup(path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    AUTO_CLOSE int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a directory; that is theirs to know. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        return err_sys(err, "%s", dir);
    return 0;
}

static int write_new(const char *path, const void *data, size_t len, mode_t mode, bool sync)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 || fchmod(fd, mode) != 0 || file_write_all(fd, data, len) != 0)
        return -1;
    return sync ? fsync(fd) : 0;
}

static int replace(const char *path, const void *data, size_t len, mode_t mode, bool sync,
                   struct err *err)
{
    AUTO_FREE char *fresh = mem_printf("%s.new", path);
    if (write_new(fresh, data, len, mode, sync) != 0) {
        err_sys(err, "%s", fresh);
        unlink(fresh);
        return -1;
    }
    if (rename(fresh, path) != 0) {
        err_sys(err, "%s", path);
        unlink(fresh);
        return -1;
    }
    return sync ? file_sync_parent(path, err) : 0;
}

int file_replace(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
    return replace(path, data, len, mode, true, err);
}

int file_replace_unsynced(const char *path, const void *data, size_t len, mode_t mode,
                          struct err *err)
{
    return replace(path, data, len, mode, false, err);
}

/* mkdir() that is content with a directory that is there. */
static int make_dir(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0)
        return 0;
    int number = errno;
    if (file_is_dir(path))
        return 0;
    errno = number == EEXIST ? ENOTDIR : number;
    return -1;
}

/* Most often it is there, or its last parts alone are not: up to what is there, and down again. Cut
 * to the part that could not be made when it fails. */
static int make_path(char *path, mode_t mode)
{
    if (make_dir(path, mode) == 0)
        return 0;
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return -1;
    *slash = '\0';
    if (make_path(path, mode) != 0)
        return -1;
    *slash = '/';
    return make_dir(path, mode);
}

int file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    AUTO_FREE char *part = mem_strdup(path);
    return make_path(part, mode) == 0 ? 0 : err_sys(err, "%s", part);
}

static DIR *open_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    return dir;
}

/* The next entry that is not "." or ".."; NULL with errno 0 at the end. */
static const struct dirent *read_entry(DIR *dir)
{
    const struct dirent *e;
    do {
        errno = 0;
        e = readdir(dir);
    } while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
    return e;
}

/* Directories below WALK_DEPTH are moved to the top under a new name and removed from there: the
 * depth of a tree, which a task chooses, bounds neither our stack nor our descriptors. */
struct removal {
    int top;
    unsigned long moved;
};

static int remove_dir(struct removal *r, int parent, const char *name, int depth);

static int remove_entry(struct removal *r, int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    if (depth < WALK_DEPTH)
        return remove_dir(r, dir, name, depth + 1);
    char moved[64];
    do
        snprintf(moved, sizeof moved, ".removing-%lu", r->moved++);
    while (renameat2(dir, name, r->top, moved, RENAME_NOREPLACE) != 0 && errno == EEXIST);
    return faccessat(r->top, moved, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int remove_inside(struct removal *r, DIR *dir, int depth)
{
    const struct dirent *e;
    while ((e = read_entry(dir)))
        if (remove_entry(r, dirfd(dir), e->d_name, depth) != 0)
            return -1;
    return errno == 0 ? 0 : -1;
}

static int remove_dir(struct removal *r, int parent, const char *name, int depth)
{
    AUTO_DIR DIR *dir = open_dir(parent, name);
    if (!dir)
        return errno == ENOENT ? 0 : -1;
    if (faccessat(parent, name, W_OK | X_OK, 0) != 0)
        fchmod(dirfd(dir), 0700); /* if that is refused, the entries say why */
    if (remove_inside(r, dir, depth) != 0)
        return -1;
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    return errno == ENOENT ? 0 : -1;
}

int file_remove_tree(const char *path, struct err *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return err_sys(err, "removing %s", path);
    AUTO_DIR DIR *top = open_dir(AT_FDCWD, path);
    if (!top)
        return err_sys(err, "removing %s", path);
    struct removal r = { .top = dirfd(top) };
    fchmod(r.top, 0700); /* if that is refused, the entries say why */
    /* What is moved up while a directory is read may be missed by that reading. */
    unsigned long moved;
    do {
        moved = r.moved;
        rewinddir(top);
        if (remove_inside(&r, top, 0) != 0)
            return err_sys(err, "removing what is in %s", path);
    } while (r.moved != moved);
    if (rmdir(path) != 0 && errno != ENOENT)
        return err_sys(err, "removing %s", path);
    return 0;
}

struct sizing {
    unsigned long long limit, bytes;
    bool on_disk; /* what it takes there, not how long it is */
    int depth;
};

static unsigned long long size_of(const struct sizing *z, const struct stat *st)
{
    if (!z->on_disk)
        return S_ISREG(st->st_mode) ? (unsigned long long)st->st_size : 0;
    unsigned long long names = S_ISDIR(st->st_mode) ? 1 : (unsigned long long)st->st_nlink;
    return (unsigned long long)st->st_blocks * 512 / (names ? names : 1);
}

/* Counts below one directory; errors leave errno. */
static int add_sizes(struct sizing *z, int parent, const char *name)
{
    AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1; /* went away meanwhile */
    if (z->depth++ >= WALK_DEPTH) {
        errno = ELOOP;
        return -1;
    }
    AUTO_DIR DIR *dir = fdopendir(dup(fd));
    if (!dir)
        return -1;
    const struct dirent *e;
    while (z->bytes <= z->limit && (e = read_entry(dir))) {
        struct stat st;
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno == ENOENT)
                continue;
            return -1;
        }
        z->bytes += size_of(z, &st);
        if (S_ISDIR(st.st_mode) && add_sizes(z, fd, e->d_name) != 0)
            return -1;
    }
    z->depth--;
    return 0;
}

static int add_tree(struct sizing *z, const char *path, struct err *err)
{
    /* The top may be named through a link; what is below it may not. */
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "%s", path);
    if (add_sizes(z, fd, ".") == 0)
        return 0;
    return errno == ELOOP ? err_set(err, ERR_TOO_LARGE, "%s has directories more than %d deep",
                                    path, WALK_DEPTH)
                          : err_sys(err, "counting what is in %s", path);
}

int file_tree_size(const char *path, unsigned long long limit, unsigned long long *bytes,
                   struct err *err)
{
    struct sizing z = { .limit = limit };
    struct stat st;
    if (stat(path, &st) != 0)
        return err_sys(err, "%s", path);
    if (!S_ISDIR(st.st_mode))
        z.bytes = (unsigned long long)st.st_size;
    else if (add_tree(&z, path, err) != 0)
        return -1;
    *bytes = z.bytes;
    return 0;
}

int file_tree_disk(const char *path, unsigned long long limit, unsigned long long *bytes,
                   struct err *err)
{
    struct sizing z = { .limit = limit, .on_disk = true };
    if (add_tree(&z, path, err) != 0)
        return -1;
    *bytes = z.bytes;
    return 0;
}

bool file_can_read(const char *path)
{
    struct stat st;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return false;
    return !S_ISDIR(st.st_mode) || fstatat(fd, ".", &st, 0) == 0;
}

bool file_climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

bool file_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_join(const char *a, const char *b)
{
    size_t n = strlen(a);
    if (b[0] == '/' || n == 0)
        return mem_strdup(b);
    while (n > 1 && a[n - 1] == '/')
        n--;
    return mem_printf("%.*s%s%s", (int)n, a, a[n - 1] == '/' ? "" : "/", b);
}
