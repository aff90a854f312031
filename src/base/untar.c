/* Every name that was made is kept with its kind: an entry lies only below directories that this
 * archive made, so no path ever goes through a link. A link's target may climb with ".." in front
 * only, and not above the top; what follows goes down, through links that obey the same rule, so
 * that no chain of them leads out. */
#include "base/untar.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK     512u
#define HASH_LEN  64u /* digits of a SHA-256 */
#define BUFFER    (64u << 10)
#define EXTRA_MAX (64u << 10) /* a pax header or a long name */
#define NAME_MOST 255u
#define SHOWN     80
#define SETID     06000u

enum kind { NONE, FILE_KIND, DIR_KIND, LINK_KIND };

struct entry {
    char type;
    unsigned mode;
    uint64_t size;
    char path[UNTAR_PATH + 1], link[UNTAR_PATH + 1];
};
struct untar {
    int in, dir;
    const struct untar_limits *limits;
    struct err *err;
    struct smap *made;
    uint64_t bytes;
    unsigned char buffer[BUFFER];
    size_t at, len;
    char *long_path, *long_link; /* of the next entry; NULL: its own */
    bool has_size;
    uint64_t size; /* pax */
};

/* ---- the stream ---- */

/* 1: there is more; 0: the end. */
static int fill(struct untar *u)
{
    ssize_t n;
    do
        n = read(u->in, u->buffer, sizeof u->buffer);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(u->err, "the archive");
    u->at = 0;
    u->len = (size_t)n;
    u->bytes += (uint64_t)n;
    if (u->bytes > u->limits->bytes)
        return err_set(u->err, ERR_TOO_LARGE, "unpacked the archive has more than %llu bytes",
                       (unsigned long long)u->limits->bytes);
    return n > 0;
}

static int ends_early(struct untar *u)
{
    return err_set(u->err, ERR_INPUT, "this is no gzipped tar, or only a part of one");
}

/* n bytes, written to fd and put at `to` where these are given. */
static int take(struct untar *u, uint64_t n, int fd, char *to)
{
    while (n > 0) {
        if (u->at == u->len) {
            int more = fill(u);
            if (more <= 0)
                return more < 0 ? -1 : ends_early(u);
        }
        size_t here = u->len - u->at;
        here = n < here ? (size_t)n : here;
        const unsigned char *from = u->buffer + u->at;
        for (size_t done = 0; fd >= 0 && done < here;) {
            ssize_t wrote = write(fd, from + done, here - done);
            if (wrote < 0 && errno != EINTR)
                return err_sys(u->err, "unpacking");
            done += wrote > 0 ? (size_t)wrote : 0;
        }
        if (to) {
            memcpy(to, from, here);
            to += here;
        }
        u->at += here;
        n -= here;
    }
    return 0;
}

static uint64_t padding(uint64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* ---- headers ---- */

/* Octal with spaces around, or GNU's base 256. */
static bool number(const char *field, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    if ((unsigned char)field[0] == 0x80) {
        for (size_t i = 1; i < n; i++) {
            if (value >> 48)
                return false;
            value = value << 8 | (unsigned char)field[i];
        }
        *out = value;
        return true;
    }
    size_t i = 0;
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *out = value;
    return i == n || field[i] == ' ' || field[i] == '\0';
}

static bool sum_is_right(const char *header)
{
    uint64_t said;
    uint64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    return number(header + 148, 8, &said) && said == sum;
}

static bool is_zero(const char *header)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (header[i])
            return false;
    return true;
}

/* A name as a message has it: what is no plain character shows as one. */
static const char *shown(const char *name, char out[SHOWN + 1])
{
    size_t n = 0;
    for (; name[n] && n < SHOWN; n++)
        out[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
    out[n] = '\0';
    return out;
}

static int refuse(struct untar *u, const char *name, const char *why)
{
    char text[SHOWN + 1];
    return err_set(u->err, ERR_INPUT, "in the archive \"%s\" %s", shown(name, text), why);
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

/* ---- pax ---- */

static bool is_key(const char *key, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(key, word, n) == 0;
}

static int pax_record(struct untar *u, const char *key, const char *end)
{
    const char *equals = memchr(key, '=', (size_t)(end - key));
    if (!equals)
        return ends_early(u);
    size_t n = (size_t)(equals - key);
    bool path = is_key(key, n, "path"), link = is_key(key, n, "linkpath");
    AUTO_FREE char *value = mem_strndup(equals + 1, (size_t)(end - equals - 1));
    if (n > 10 && memcmp(key, "GNU.sparse", 10) == 0)
        return err_set(u->err, ERR_INPUT, "the archive has sparse files");
    if (path || link) {
        char **to = path ? &u->long_path : &u->long_link;
        free(*to);
        *to = TAKE(value);
        return 0;
    }
    if (!is_key(key, n, "size"))
        return 0;
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 18 || value[digits])
        return ends_early(u);
    u->has_size = true;
    u->size = strtoull(value, NULL, 10);
    return 0;
}

/* "LENGTH KEY=VALUE\n", the length of it all. */
static int pax_records(struct untar *u, const char *text, size_t n)
{
    while (n > 0) {
        size_t len = 0, i = 0;
        for (; i < n && i < 6 && text[i] >= '0' && text[i] <= '9'; i++)
            len = 10 * len + (size_t)(text[i] - '0');
        if (i == 0 || i == n || text[i] != ' ' || len <= i + 1 || len > n || text[len - 1] != '\n')
            return ends_early(u);
        if (pax_record(u, text + i + 1, text + len - 1) != 0)
            return -1;
        text += len;
        n -= len;
    }
    return 0;
}

/* What says more of the next entry. */
static int extra(struct untar *u, char type, uint64_t size)
{
    if (size > EXTRA_MAX)
        return err_set(u->err, ERR_INPUT, "a header of the archive is too long");
    AUTO_FREE char *text = mem_new((size_t)size + 1);
    if (take(u, size, -1, text) != 0 || take(u, padding(size), -1, NULL) != 0)
        return -1;
    if (type == 'x')
        return pax_records(u, text, (size_t)size);
    if (type == 'g')
        return 0;
    char **to = type == 'L' ? &u->long_path : &u->long_link;
    free(*to);
    *to = TAKE(text);
    return 0;
}

static void forget_extra(struct untar *u)
{
    free(TAKE(u->long_path));
    free(TAKE(u->long_link));
    u->has_size = false;
}

/* ---- making ---- */

static enum kind kind_of(const struct untar *u, const char *path)
{
    return (enum kind)(uintptr_t)smap_get(u->made, path);
}

static int note(struct untar *u, const char *path, enum kind kind)
{
    smap_set(u->made, path, (void *)(uintptr_t)kind);
    if (smap_count(u->made) <= u->limits->files)
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
static bool leads_out(const struct entry *e)
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

static int make_hard_link(struct untar *u, const struct entry *e, int parent, const char *last)
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

static int make_file(struct untar *u, const struct entry *e, int parent, const char *last)
{
    mode_t mode = (e->mode & 0777) | 0600;
    AUTO_CLOSE int fd = -1;
    if (u->dir >= 0) {
        fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || fchmod(fd, mode) != 0)
            return err_sys(u->err, "unpacking");
    }
    return take(u, e->size, fd, NULL);
}

/* A file or a link: the later of two of one name is it. */
static int make_leaf(struct untar *u, const struct entry *e)
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

static int read_header(struct untar *u, const char *header, struct entry *e)
{
    char name[256 + 1], link[100 + 1], mode_text[8];
    uint64_t mode;
    bool posix = memcmp(header + 257, "ustar\0", 6) == 0;
    snprintf(link, sizeof link, "%.100s", header + 157);
    if (posix && header[345])
        snprintf(name, sizeof name, "%.155s/%.100s", header + 345, header);
    else
        snprintf(name, sizeof name, "%.100s", header);
    const char *path = u->long_path ? u->long_path : name;
    const char *target = u->long_link ? u->long_link : link;
    memcpy(mode_text, header + 100, sizeof mode_text);
    e->type = header[156] == '\0' || header[156] == '7' ? '0' : header[156];
    size_t n = strlen(path);
    if (e->type == '0' && n > 0 && path[n - 1] == '/')
        e->type = '5';
    if (!number(mode_text, sizeof mode_text, &mode) || !number(header + 124, 12, &e->size))
        return ends_early(u);
    e->mode = (unsigned)mode & 07777;
    e->size = u->has_size ? u->size : e->size;
    if (!strchr("0125", e->type))
        return refuse(u, path, why_not(e->type));
    if (e->type != '0')
        e->size = 0;
    if (e->type == '0' && (e->mode & SETID))
        return refuse(u, path, "would run as its owner or group (setuid, setgid)");
    if (strlen(target) > UNTAR_PATH)
        return refuse(u, path, "is a link to too long a name");
    memcpy(e->link, target, strlen(target) + 1);
    return tidy(u, path, e->path);
}

/* 1: there may be more; 0: the end. */
static int next_entry(struct untar *u)
{
    char header[BLOCK] = "";
    struct entry e = { .type = '0' };
    uint64_t size = 0;
    if (take(u, BLOCK, -1, header) != 0)
        return -1;
    if (is_zero(header))
        return 0;
    if (!sum_is_right(header) || !number(header + 124, 12, &size))
        return ends_early(u);
    if (strchr("xgLK", header[156]) && header[156])
        return extra(u, header[156], size) != 0 ? -1 : 1;
    if (read_header(u, header, &e) != 0 || make_parents(u, e.path) != 0)
        return -1;
    int rc = e.type == '5' ? make_dir(u, e.path, e.mode) : make_leaf(u, &e);
    if (rc != 0 || take(u, padding(e.size), -1, NULL) != 0)
        return -1;
    forget_extra(u);
    return 1;
}

int untar(int in, int dir, const struct untar_limits *limits, struct untar_found *found,
          struct err *err)
{
    struct untar u = { .in = in, .dir = dir, .limits = limits, .err = err, .made = smap_create() };
    int rc;
    do
        rc = next_entry(&u);
    while (rc > 0);
    while (rc == 0 && (rc = fill(&u)) > 0) /* what follows the end is read, for the packer's sum */
        rc = 0;
    *found = (struct untar_found){ .bytes = u.bytes, .files = smap_count(u.made) };
    forget_extra(&u);
    smap_destroy(u.made);
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

int untar_gzipped(int fd, const char *hash, int dir, const struct untar_limits *limits,
                  struct untar_found *found, struct err *err)
{
    char hex[HASH_LEN + 1];
    int pipes[2];
    if (hash_of(fd, hex, err) != 0)
        return -1;
    if (strcmp(hex, hash) != 0)
        return err_set(err, ERR_CONFLICT, "the bytes that came are not those of this hash");
    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_sys(err, "the archive");
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
