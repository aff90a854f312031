/* Makes a layer's entries one by one. Their directories are found by openat2() with
 * RESOLVE_IN_ROOT: images have links such as /bin to usr/bin that later layers write through, and
 * the kernel keeps such a path inside. Entries of directories often stand together, so the last
 * directory stays open.
 *
 * A record of a layer is the list of its entries and, under their numbers in it, further names of
 * the files that were made. Applied from it, entries go the same way, and files are linked.
 *
 * Whiteouts (OCI image specification, "Representing Changes"): ".wh.NAME" removes NAME of the
 * layers below, ".wh..wh..opq" all that is in its directory of them. What this layer made itself
 * stays, in whatever order the two stand: names that it made are kept for that. */
#include "node/fetch/layer.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/tar_reader.h"
#include "node/fetch/layer_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define WHITEOUT  ".wh."
#define OPAQUE    ".wh..wh..opq"
#define OF_AUFS   ".wh..wh." /* its own notes */
#define NAME_MOST 255u
#define SETID     06000u
#define DEPTH     256u /* of a tree that is removed */
#define BUFFER    (64u << 10)

struct maker {
    bool owners;
    struct tar_reader *from;     /* NULL: of a record */
    struct layer_record *record; /* that is written, or of which this is; NULL: there is none */
    int root;
    struct layer_limits *limits;
    struct string_map *made; /* names of this layer */
    int parent;              /* the directory of the last entry; -1: none */
    char parent_path[TAR_PATH + 1];
    struct err *err;
};

static int refuse(const struct maker *m, const char *name, const char *why)
{
    char text[TAR_SHOWN + 1];
    err_set(m->err, ERR_INPUT, "in a layer \"%s\" %s", tar_shown(name, text), why);
    return -1;
}

static int failed(const struct maker *m, const char *name)
{
    char text[TAR_SHOWN + 1];
    return err_sys(m->err, "unpacking \"%s\"", tar_shown(name, text));
}

/* ---- names ---- */

/* Without "/" in front, "." and doubled slashes; "" is the top. */
static int tidy(const struct maker *m, const char *name, char out[TAR_PATH + 1])
{
    size_t n = 0;
    for (const char *at = name + strspn(name, "/"); *at;) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.')
            return refuse(m, name, "has .. in its path");
        if (len > NAME_MOST)
            return refuse(m, name, "has too long a name");
        if (!(len == 1 && at[0] == '.')) {
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

static int open_inside(const struct maker *m, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    return (int)syscall(SYS_openat2, m->root, *path ? path : ".", &how, sizeof how);
}

/* mkdir -p, through links that lie inside. */
static int make_parents(struct maker *m, const char *path)
{
    AUTO_FREE char *part = mem_strdup(path);
    AUTO_CLOSE int above = open_inside(m, "");
    for (char *name = part; above >= 0 && name;) {
        char *slash = strchr(name, '/');
        if (slash)
            *slash = '\0';
        int fd = open_inside(m, part);
        if (fd < 0 && errno == ENOENT && mkdirat(above, name, 0755) == 0) {
            string_map_set(m->made, part, m);
            fd = open_inside(m, part);
        }
        close(above);
        above = fd;
        if (slash)
            *slash = '/';
        name = slash ? slash + 1 : NULL;
    }
    return above < 0 ? -1 : mem_give_fd(&above);
}

/* The directory that path lies in, kept open until the next one; *last is its last name. -1. */
static int parent_of(struct maker *m, const char *path, const char **last)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    *last = slash ? slash + 1 : path;
    if (m->parent >= 0 && strlen(m->parent_path) == n && memcmp(m->parent_path, path, n) == 0)
        return m->parent;
    if (m->parent >= 0)
        close(m->parent);
    memcpy(m->parent_path, path, n);
    m->parent_path[n] = '\0';
    m->parent = open_inside(m, m->parent_path);
    if (m->parent < 0 && errno == ENOENT)
        m->parent = make_parents(m, m->parent_path);
    return m->parent;
}

/* Links to it or below it lead elsewhere now. */
static void forget_parent(struct maker *m)
{
    if (m->parent >= 0)
        close(m->parent);
    m->parent = -1;
}

/* ---- removing ---- */

static int empty_dir(int dir, unsigned depth);

static int remove_at(int parent, const char *name, unsigned depth)
{
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(st.st_mode))
        return unlinkat(parent, name, 0);
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || empty_dir(dir, depth + 1) != 0)
        return -1;
    return unlinkat(parent, name, AT_REMOVEDIR);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Closes dir. */
static int empty_dir(int dir, unsigned depth)
{
    DIR *list = fdopendir(dir);
    int rc = 0;
    if (!list) {
        close(dir);
        return -1;
    }
    if (depth > DEPTH) {
        errno = ELOOP;
        rc = -1;
    }
    for (const struct dirent *e; rc == 0 && (e = readdir(list));)
        rc = is_dots(e->d_name) ? 0 : remove_at(dirfd(list), e->d_name, depth);
    closedir(list);
    return rc;
}

/* All in the directory at path but what this layer made; closes dir. */
static int hide_below(const struct maker *m, int dir, const char *path, unsigned depth)
{
    DIR *list = fdopendir(dir);
    int rc = depth > DEPTH ? -1 : 0;
    if (!list) {
        close(dir);
        return -1;
    }
    for (const struct dirent *e; rc == 0 && (e = readdir(list));) {
        if (is_dots(e->d_name))
            continue;
        AUTO_FREE char *own = mem_printf("%s%s%s", path, *path ? "/" : "", e->d_name);
        if (!string_map_get(m->made, own)) {
            rc = remove_at(dirfd(list), e->d_name, depth);
            continue;
        }
        int inner = openat(dirfd(list), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        rc = inner >= 0 ? hide_below(m, inner, own, depth + 1) : 0;
    }
    closedir(list);
    return rc;
}

/* last: the name with its prefix, in the directory of path. */
static int apply_whiteout(struct maker *m, const char *path, const char *last, int parent)
{
    size_t above = (size_t)(last - path);
    if (strcmp(last, OPAQUE) == 0) {
        AUTO_FREE char *dir = mem_strndup(path, above ? above - 1 : 0);
        int fd = open_inside(m, dir);
        forget_parent(m);
        return fd >= 0 && hide_below(m, fd, dir, 0) == 0 ? 0 : failed(m, path);
    }
    if (strncmp(last, OF_AUFS, strlen(OF_AUFS)) == 0)
        return 0;
    const char *name = last + strlen(WHITEOUT);
    if (!*name || is_dots(name))
        return refuse(m, path, "hides nothing that can be named");
    AUTO_FREE char *hidden = mem_printf("%.*s%s", (int)above, path, name);
    if (string_map_get(m->made, hidden))
        return 0;
    int rc = remove_at(parent, name, 0);
    forget_parent(m);
    return rc == 0 ? 0 : failed(m, path);
}

/* ---- making ---- */

static bool is_there(int parent, const char *name, mode_t kind)
{
    struct stat st;
    return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* Owner, then mode: a change of owner takes setuid bits away. */
static int give(const struct maker *m, const struct tar_entry *e, int parent, const char *last)
{
    bool link = e->type == '2';
    mode_t mode = (mode_t)e->mode & (m->owners ? 07777 : 01777);
    if (m->owners && fchownat(parent, last, e->uid, e->gid, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (link)
        return 0;
    if (!m->owners) /* it is to be read and removed again */
        mode |= e->type == '5' ? 0700 : 0600;
    return fchmodat(parent, last, mode, 0);
}

static int make_file(struct maker *m, const struct tar_entry *e, int parent, const char *last)
{
    if (!m->from)
        return layer_record_link(m->record, parent, last) == 0 ? 0 : failed(m, e->path);
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = e->mtime_s } };
    AUTO_CLOSE int fd =
        openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(m, e->path);
    if (tar_reader_take(m->from, fd, m->err) != 0)
        return -1;
    if (give(m, e, parent, last) != 0)
        return failed(m, e->path);
    (void)futimens(fd, times); /* Python compares them with those of its compiled files */
    if (m->record)
        layer_record_keep(m->record, parent, last);
    return 0;
}

static int make_dir(struct maker *m, const struct tar_entry *e, int parent, const char *last)
{
    if (!is_there(parent, last, S_IFDIR) && mkdirat(parent, last, 0700) != 0)
        return failed(m, e->path);
    return give(m, e, parent, last) == 0 ? 0 : failed(m, e->path);
}

static int make_hard_link(struct maker *m, const struct tar_entry *e, int parent, const char *last)
{
    char target[TAR_PATH + 1];
    if (tidy(m, e->link, target) != 0)
        return -1;
    char *slash = strrchr(target, '/');
    if (slash)
        *slash = '\0';
    AUTO_CLOSE int from = open_inside(m, slash ? target : "");
    const char *name = slash ? slash + 1 : target;
    if (from < 0 || !*name || linkat(from, name, parent, last, 0) != 0)
        return errno == ENOENT ? refuse(m, e->path, "is a link to no file") : failed(m, e->path);
    return 0;
}

static int make_leaf(struct maker *m, const struct tar_entry *e, int parent, const char *last)
{
    if (remove_at(parent, last, 0) != 0)
        return failed(m, e->path);
    switch (e->type) {
    case '0': return make_file(m, e, parent, last);
    case '1': return make_hard_link(m, e, parent, last);
    case '2':
        if (symlinkat(e->link, parent, last) != 0)
            return failed(m, e->path);
        break;
    case '6':
        if (mkfifoat(parent, last, 0600) != 0)
            return failed(m, e->path);
        break;
    default: return refuse(m, e->path, "is of an unknown kind");
    }
    return give(m, e, parent, last) == 0 ? 0 : failed(m, e->path);
}

static int make_entry(struct maker *m, struct tar_entry *e)
{
    char path[TAR_PATH + 1];
    const char *last;
    if (tidy(m, e->path, path) != 0)
        return -1;
    if (e->type == '3' || e->type == '4' || !*path)
        return 0; /* a device; the top, which is there */
    int parent = parent_of(m, path, &last);
    if (parent < 0)
        return errno == ENOTDIR || errno == EEXIST
                   ? refuse(m, path, "lies below what is no directory")
                   : failed(m, path);
    if (strncmp(last, WHITEOUT, strlen(WHITEOUT)) == 0)
        return apply_whiteout(m, path, last, parent);
    string_map_set(m->made, path, m);
    if (e->type == '5' && is_there(parent, last, S_IFDIR))
        return make_dir(m, e, parent, last);
    /* What stood there is gone: what was open may have been below it. */
    int rc = 0;
    bool was_dir = is_there(parent, last, S_IFDIR) || is_there(parent, last, S_IFLNK);
    if (e->type == '5')
        rc = remove_at(parent, last, 0) != 0 ? failed(m, path) : make_dir(m, e, parent, last);
    else
        rc = make_leaf(m, e, parent, last);
    if (was_dir)
        forget_parent(m);
    return rc;
}

static int next_entry(const struct maker *m, struct tar_entry *e)
{
    return m->from ? tar_reader_next(m->from, e, m->err) : layer_record_next(m->record, e, m->err);
}

static int make_all(struct maker *m)
{
    struct tar_entry e;
    int rc;
    while ((rc = next_entry(m, &e)) > 0) {
        if (m->limits->entries == 0)
            return err_set(m->err, ERR_TOO_LARGE, "the image has too many files");
        m->limits->entries--;
        if (make_entry(m, &e) != 0)
            return -1;
        if (m->from && m->record)
            layer_record_add(m->record, &e);
    }
    return rc;
}

/* ---- hashes ---- */

static void saw(void *arg, const void *bytes, size_t n)
{
    sha256_update(arg, n, bytes);
}

static void print_hash(struct sha256_ctx *sum, char hex[IMAGE_DIGEST_LEN + 1])
{
    unsigned char raw[IMAGE_DIGEST_LEN / 2];
    sha256_digest(sum, sizeof raw, raw);
    for (size_t i = 0; i < sizeof raw; i++)
        snprintf(hex + 2 * i, 3, "%02x", raw[i]);
}

int layer_hash(int fd, char hex[IMAGE_DIGEST_LEN + 1], struct err *err)
{
    struct sha256_ctx sum;
    AUTO_FREE unsigned char *buffer = mem_new(BUFFER);
    ssize_t n;
    sha256_init(&sum);
    while ((n = read(fd, buffer, BUFFER)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            saw(&sum, buffer, (size_t)n);
    if (n < 0)
        return err_sys(err, "reading what is hashed");
    print_hash(&sum, hex);
    return 0;
}

/* ---- the stream ---- */

/* A program of the system that unpacks from fd; *out is where its output is read. */
static pid_t start_unpacker(const char *name, int fd, int *out, struct err *err)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(fd, STDIN_FILENO) < 0 || dup2(pipes[1], STDOUT_FILENO) < 0)
            _exit(127);
        (void)dup2(nothing, STDERR_FILENO);
        (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        (void)execlp(name, name, "-dc", (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    *out = pipes[0];
    if (pid > 0)
        return pid;
    close(pipes[0]);
    return err_sys(err, "starting %s", name);
}

static int await_unpacker(pid_t pid, const char *name, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(err, ERR_CANNOT, "a layer is packed by %s, which this node does not have",
                       name);
    return err_set(err, ERR_INPUT, "a layer is damaged: %s cannot unpack it", name);
}

static void end_maker(struct maker *m)
{
    forget_parent(m);
    string_map_destroy(m->made);
}

/* *ended: the stream was read to its end. */
static int apply_stream(const struct layer *layer, int in, int root, struct layer_limits *limits,
                        bool *ended, struct err *err)
{
    struct sha256_ctx sum;
    sha256_init(&sum);
    const struct tar_source source = { .fd = in, .most = limits->bytes, .saw = saw, .arg = &sum };
    struct maker m = { .owners = layer->owners,
                       .from = tar_reader_create(&source),
                       .record = layer->record ? layer_record_create(layer->record) : NULL,
                       .root = root,
                       .limits = limits,
                       .made = string_map_create(),
                       .parent = -1,
                       .err = err };
    char hex[IMAGE_DIGEST_LEN + 1];
    int rc = make_all(&m);
    uint64_t read = tar_reader_bytes(m.from);
    limits->bytes -= read < limits->bytes ? read : limits->bytes;
    print_hash(&sum, hex);
    *ended = tar_reader_ended(m.from);
    if (rc == 0 && strcmp(hex, layer->diff) != 0)
        rc = err_set(err, ERR_INPUT, "a layer is not the one that the image names (SHA-256)");
    end_maker(&m);
    if (m.record)
        layer_record_finish(m.record, rc == 0 ? read : 0);
    tar_reader_destroy(m.from);
    return rc;
}

static int apply_record(const struct layer *layer, int root, struct layer_limits *limits,
                        struct err *err)
{
    uint64_t bytes;
    struct layer_record *record = layer_record_open(layer->kept, &bytes);
    if (!record)
        return err_set(err, ERR_UNAVAILABLE, "a layer that was kept cannot be read");
    struct maker m = { .owners = layer->owners,
                       .record = record,
                       .root = root,
                       .limits = limits,
                       .made = string_map_create(),
                       .parent = -1,
                       .err = err };
    int rc = bytes <= limits->bytes
                 ? make_all(&m)
                 : err_set(err, ERR_TOO_LARGE, "unpacked a layer has more than %llu bytes",
                           (unsigned long long)limits->bytes);
    limits->bytes -= rc == 0 ? bytes : 0;
    end_maker(&m);
    layer_record_close(record);
    return rc;
}

int layer_apply(const struct layer *layer, int root, struct layer_limits *limits, struct err *err)
{
    static const char *const programs[] = { [IMAGE_GZIP] = "gzip", [IMAGE_ZSTD] = "zstd" };
    if (layer->kept)
        return apply_record(layer, root, limits, err);
    int in = layer->fd;
    const char *name = layer->packing == IMAGE_PLAIN ? NULL : programs[layer->packing];
    pid_t pid = name ? start_unpacker(name, layer->fd, &in, err) : 0;
    if (pid < 0)
        return -1;
    bool ended = false;
    int rc = apply_stream(layer, in, root, limits, &ended, err);
    if (!name)
        return rc;
    close(in); /* one that was left in the middle ends by SIGPIPE */
    struct err other;
    /* What came out of a damaged file says less than what its unpacker says. */
    if (await_unpacker(pid, name, &other) != 0 && ended) {
        if (err)
            *err = other;
        return -1;
    }
    return rc;
}
