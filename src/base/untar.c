/* Every name that was made is kept with its kind: an entry lies only below directories that this
 * archive made, so no path ever goes through a link. A link's target may climb with ".." in front
 * only, and not above the top; what follows goes down, through links that obey the same rule, so
 * that no chain of them leads out. */
#include "base/untar.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/tar_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HASH_LEN  64u /* digits of a SHA-256 */
#define NAME_MOST 255u
#define SETID     06000u

enum kind { NONE, FILE_KIND, DIR_KIND, LINK_KIND };

struct untar {
    int dir;
    const struct untar_limits *limits;
    struct err *err;
    struct tar_reader *from;
    struct string_map *made;
};

/* ---- names ---- */

static int refuse(struct untar *u, const char *name, const char *why)
{
    char text[TAR_SHOWN + 1];
    return err_set(u->err, ERR_INPUT, "in the archive \"%s\" %s", tar_shown(name, text), why);
}

/* Without "." and doubled slashes. */
static int tidy(struct untar *u, const char *name, char out[UNTAR_PATH + 1])
{
    size_t n = 0, depth = 0;
    if (*name == '/')
        return refuse(u, name, "is an absolute path");
    for (const char *at = name; *at;) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.')
            return refuse(u, name, "has .. in its path");
        if (len > NAME_MOST || n + len + 1 > UNTAR_PATH)
            return refuse(u, name, "has too long a name");
        if (len > 0 && !(len == 1 && at[0] == '.')) {
            if (++depth > UNTAR_DEPTH)
                return refuse(u, name, "lies too deep");
            if (n > 0)
                out[n++] = '/';
            memcpy(out + n, at, len);
            n += len;
        }
        at += len;
        at += strspn(at, "/");
    }
    out[n] = '\0';
    return 0;
}

/* ---- making ---- */

static enum kind kind_of(const struct untar *u, const char *path)
{
    return (enum kind)(uintptr_t)string_map_get(u->made, path);
}

static int note(struct untar *u, const char *path, enum kind kind)
{
    string_map_set(u->made, path, (void *)(uintptr_t)kind);
    if (string_map_count(u->made) <= u->limits->files)
        return 0;
    return err_set(u->err, ERR_TOO_LARGE, "the archive has more than %llu files",
                   (unsigned long long)u->limits->files);
}

/* The directory that path lies in, and where its last name begins; links are not followed. -1. */
static int open_parent(const struct untar *u, const char *path, const char **last)
{
    int fd = dup(u->dir);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        AUTO_FREE char *name = mem_strndup(path, (size_t)(slash - path));
        AUTO_CLOSE int above = fd;
        fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    *last = path;
    return fd;
}

static int make_dir(struct untar *u, const char *path, unsigned mode)
{
    const char *last;
    enum kind was = kind_of(u, path);
    if (was == DIR_KIND || !*path)
        return 0;
    if (was != NONE)
        return refuse(u, path, "is a directory and something else");
    if (u->dir >= 0) {
        AUTO_CLOSE int parent = open_parent(u, path, &last);
        if (parent < 0 || mkdirat(parent, last, (mode & 0777) | 0700) != 0)
            return err_sys(u->err, "unpacking");
    }
    return note(u, path, DIR_KIND);
}

static int make_parents(struct untar *u, char *path)
{
    for (char *slash = path; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        enum kind was = kind_of(u, path);
        bool good = was == NONE || was == DIR_KIND;
        int rc = good ? make_dir(u, path, 0755) : 0;
        *slash = '/';
        if (!good)
            return refuse(u, path, "lies below what is no directory");
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* Not above the top, and ".." only in front. */
static bool leads_out(const struct tar_entry *e)
{
    size_t depth = 0, up = 0;
    bool down = false;
    for (const char *at = e->path; (at = strchr(at, '/')); at++)
        depth++;
    if (e->link[0] == '/' || !e->link[0])
        return true;
    for (const char *at = e->link; *at;) {
        size_t len = strcspn(at, "/");
        bool climbs = len == 2 && at[0] == '.' && at[1] == '.';
        if (climbs && (down || ++up > depth))
            return true;
        down = down || !(climbs || len == 0 || (len == 1 && at[0] == '.'));
        at += len;
        at += strspn(at, "/");
    }
    return false;
}

static int make_hard_link(struct untar *u, const struct tar_entry *e, int parent, const char *last)
{
    char target[UNTAR_PATH + 1];
    const char *name;
    if (tidy(u, e->link, target) != 0 || kind_of(u, target) != FILE_KIND ||
        strcmp(target, e->path) == 0)
        return refuse(u, e->path, "is a link to no file of this archive");
    if (u->dir < 0)
        return 0;
    AUTO_CLOSE int from = open_parent(u, target, &name);
    return from >= 0 && linkat(from, name, parent, last, 0) == 0 ? 0 : err_sys(u->err, "unpacking");
}

static int make_file(struct untar *u, const struct tar_entry *e, int parent, const char *last)
{
    mode_t mode = (e->mode & 0777) | 0600;
    AUTO_CLOSE int fd = -1;
    if (u->dir >= 0) {
        fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || fchmod(fd, mode) != 0)
            return err_sys(u->err, "unpacking");
    }
    return tar_reader_take(u->from, fd, u->err);
}

/* A file or a link: the later of two of one name is it. */
static int make_leaf(struct untar *u, const struct tar_entry *e)
{
    const char *last = NULL;
    AUTO_CLOSE int parent = u->dir >= 0 ? open_parent(u, e->path, &last) : -1;
    enum kind was = kind_of(u, e->path);
    int rc = 0;
    if (u->dir >= 0 && parent < 0)
        return err_sys(u->err, "unpacking");
    if (was == DIR_KIND || !*e->path)
        return refuse(u, e->path, "is a directory and something else");
    if (e->type == '2' && leads_out(e))
        return refuse(u, e->path, "is a link that leads out of it");
    if (was != NONE && u->dir >= 0 && unlinkat(parent, last, 0) != 0)
        return err_sys(u->err, "unpacking");
    if (e->type == '1')
        rc = make_hard_link(u, e, parent, last);
    else if (e->type == '2' && u->dir >= 0)
        rc = symlinkat(e->link, parent, last) == 0 ? 0 : err_sys(u->err, "unpacking");
    else if (e->type == '0')
        rc = make_file(u, e, parent, last);
    return rc != 0 ? -1 : note(u, e->path, e->type == '2' ? LINK_KIND : FILE_KIND);
}

/* ---- entries ---- */

static const char *why_not(char type)
{
    switch (type) {
    case '3':
    case '4': return "is a device";
    case '6': return "is a pipe";
    case 'S': return "is a sparse file";
    default: return "is no file, directory or link";
    }
}

static int check_entry(struct untar *u, struct tar_entry *e)
{
    char path[UNTAR_PATH + 1];
    if (!strchr("0125", e->type) || !e->type)
        return refuse(u, e->path, why_not(e->type));
    if (e->type == '0' && (e->mode & SETID))
        return refuse(u, e->path, "would run as its owner or group (setuid, setgid)");
    if (tidy(u, e->path, path) != 0)
        return -1;
    memcpy(e->path, path, sizeof path);
    return 0;
}

/* 1: there may be more; 0: the end. */
static int next_entry(struct untar *u)
{
    struct tar_entry e;
    int rc = tar_reader_next(u->from, &e, u->err);
    if (rc <= 0)
        return rc;
    if (check_entry(u, &e) != 0 || make_parents(u, e.path) != 0)
        return -1;
    return (e.type == '5' ? make_dir(u, e.path, e.mode) : make_leaf(u, &e)) != 0 ? -1 : 1;
}

int untar(int in, int dir, const struct untar_limits *limits, struct untar_summary *found,
          struct err *err)
{
    const struct tar_source source = { .fd = in, .most = limits->bytes };
    struct untar u = { .dir = dir,
                       .limits = limits,
                       .err = err,
                       .from = tar_reader_create(&source),
                       .made = string_map_create() };
    int rc;
    do
        rc = next_entry(&u);
    while (rc > 0);
    *found = (struct untar_summary){ .bytes = tar_reader_bytes(u.from),
                                     .files = string_map_count(u.made) };
    tar_reader_destroy(u.from);
    string_map_destroy(u.made);
    return rc;
}

/* ---- packed ---- */

/* A program of the system between two descriptors. */
static pid_t start(const char *name, const char *option, int in, int out)
{
    char path[64];
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nothing, STDERR_FILENO);
    snprintf(path, sizeof path, "/usr/bin/%s", name);
    (void)execl(path, name, option, (char *)NULL);
    (void)execl(path + strlen("/usr"), name, option, (char *)NULL);
    (void)execlp(name, name, option, (char *)NULL);
    _exit(127);
}

/* 0: it ended well; 1: it did not; -1: err says that it is not there. */
static int await(pid_t pid, const char *name, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(err, ERR_SYSTEM, "there is no %s on this machine", name);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Of all that fd gives from where it is; "" when its program did not say. */
static int hash_of(int fd, char hex[HASH_LEN + 1], struct err *err)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = start("sha256sum", "-b", fd, pipes[1]);
    close(pipes[1]);
    size_t n = 0;
    for (ssize_t more = 1; pid > 0 && n < HASH_LEN && more > 0; n += more > 0 ? (size_t)more : 0)
        more = read(pipes[0], hex + n, HASH_LEN - n);
    hex[n] = '\0';
    close(pipes[0]);
    if (pid < 0)
        return err_sys(err, "sha256sum");
    return await(pid, "sha256sum", err) < 0 ? -1 : 0;
}

static int check_hash(int fd, const char *hash, struct err *err)
{
    char hex[HASH_LEN + 1];
    if (hash_of(fd, hex, err) != 0)
        return -1;
    if (strcmp(hex, hash) != 0)
        return err_set(err, ERR_CONFLICT, "the bytes that came are not those of this hash");
    return lseek(fd, 0, SEEK_SET) == 0 ? 0 : err_sys(err, "the archive");
}

static int read_gzipped(int fd, int dir, const struct untar_limits *limits,
                        struct untar_summary *found, struct err *err)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = start("gzip", "-dc", fd, pipes[1]);
    close(pipes[1]);
    int rc = pid < 0 ? err_sys(err, "gzip") : untar(pipes[0], dir, limits, found, err);
    close(pipes[0]);
    if (pid < 0)
        return -1;
    struct err missing;
    int ended = await(pid, "gzip", &missing);
    if (ended < 0) {
        *err = missing;
        return -1;
    }
    return rc == 0 && ended > 0 ? err_set(err, ERR_INPUT, "this is no gzipped tar") : rc;
}

int untar_gzipped(int fd, const char *hash, int dir, const struct untar_limits *limits,
                  struct untar_summary *found, struct err *err)
{
    return check_hash(fd, hash, err) < 0 ? -1 : read_gzipped(fd, dir, limits, found, err);
}

int untar_packed(int fd, int dir, const struct untar_limits *limits, struct untar_summary *found,
                 struct err *err)
{
    static const unsigned char gzip[] = { 0x1f, 0x8b };
    unsigned char first[sizeof gzip] = { 0 };
    bool zipped = pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
                  memcmp(first, gzip, sizeof gzip) == 0;
    return zipped ? read_gzipped(fd, dir, limits, found, err) : untar(fd, dir, limits, found, err);
}
