/* Names are sorted, owners and times left out, so that equal trees give equal bytes. What untar
 * refuses is left out here and told, so that an archive that was written can always be read. A
 * file that shrinks while it is read is padded, one that grows is cut: the header was written. */
#include "base/tar_tree.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/untar.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK      512u
#define BUFFER     (256u << 10)
#define NAME_SHORT 100u /* what a header has room for */

struct writer {
    int out; /* -1: nowhere */
    const struct tar_tree_limits *limits;
    struct tar_tree_summary *found;
    struct err *err;
    const char *top; /* of the tree, for messages */
    size_t under;    /* bytes of a path that are above it in the archive */
    unsigned char buffer[BUFFER];
};

/* ---- bytes ---- */

static int put(const struct writer *t, const void *bytes, size_t len)
{
    if (t->out < 0 || file_write_all(t->out, bytes, len) == 0)
        return 0;
    return err_sys(t->err, "writing the archive");
}

static int put_padding(const struct writer *t, uint64_t size)
{
    static const char zeros[BLOCK];
    return put(t, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

struct header {
    const char *path, *link; /* link "": none */
    char type;
    unsigned mode;
    uint64_t size;
};

static int put_header(const struct writer *t, const struct header *h)
{
    char block[BLOCK] = "";
    unsigned sum = 0;
    memcpy(block, h->path, strnlen(h->path, NAME_SHORT));
    memcpy(block + 157, h->link, strnlen(h->link, NAME_SHORT));
    snprintf(block + 100, 8, "%07o", h->mode & 0777);
    memcpy(block + 108, "0000000", 8);
    memcpy(block + 116, "0000000", 8);
    snprintf(block + 124, 12, "%011llo", (unsigned long long)(h->size & 077777777777ull));
    memcpy(block + 136, "00000000000", 12);
    memset(block + 148, ' ', 8);
    block[156] = h->type;
    memcpy(block + 257, "ustar  ", 8); /* GNU's */
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    return put(t, block, sizeof block);
}

/* GNU's way: an entry with the name of the next one. */
static int put_long(const struct writer *t, char type, const char *name)
{
    const struct header h = {
        .path = "././@LongLink", .link = "", .type = type, .size = strlen(name) + 1
    };
    if (strlen(name) <= NAME_SHORT)
        return 0;
    return put_header(t, &h) != 0 || put(t, name, h.size) != 0 ? -1 : put_padding(t, h.size);
}

static int put_entry(const struct writer *t, const struct header *h)
{
    return put_long(t, 'K', h->link) != 0 || put_long(t, 'L', h->path) != 0 ? -1 : put_header(t, h);
}

/* ---- what is in it ---- */

static int count(const struct writer *t, uint64_t bytes)
{
    const struct tar_tree_limits *most = t->limits;
    struct tar_tree_summary *found = t->found;
    found->files++;
    found->bytes += bytes;
    if (most->files && found->files > most->files)
        return err_set(t->err, ERR_TOO_LARGE, "%s holds more than %llu files", t->top,
                       (unsigned long long)most->files);
    if (most->bytes && found->bytes > most->bytes)
        return err_set(t->err, ERR_TOO_LARGE, "%s holds more than %llu MiB", t->top,
                       (unsigned long long)(most->bytes >> 20));
    return 0;
}

static void leave_out(const struct writer *t, const char *path)
{
    if (t->found->n_left++ == 0)
        snprintf(t->found->left, sizeof t->found->left, "%s", path);
}

/* As untar has it: ".." only in front, and not above the top. */
static bool leads_out(const char *path, const char *link)
{
    size_t depth = 0, up = 0;
    bool down = false;
    for (const char *at = path; (at = strchr(at, '/')); at++)
        depth++;
    if (link[0] == '/' || !link[0])
        return true;
    for (const char *at = link; *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        bool climbs = len == 2 && at[0] == '.' && at[1] == '.';
        if (climbs && (down || ++up > depth))
            return true;
        down = down || !(climbs || (len == 1 && at[0] == '.'));
        at += len;
    }
    return false;
}

static bool is_no_code(const char *name)
{
    static const char *const names[] = { ".git",
                                         ".hg",
                                         ".svn",
                                         "__pycache__",
                                         ".venv",
                                         "venv",
                                         "node_modules",
                                         ".mypy_cache",
                                         ".pytest_cache",
                                         ".ruff_cache",
                                         ".ipynb_checkpoints" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, TAR_TREE_MARKER, strlen(TAR_TREE_MARKER)) == 0;
}

static bool is_compiled(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && (strcmp(name + n - 4, ".pyc") == 0 || strcmp(name + n - 4, ".pyo") == 0);
}

static int put_link(const struct writer *t, int dir, const char *name, const char *path)
{
    char link[UNTAR_PATH + 1];
    ssize_t n = readlinkat(dir, name, link, sizeof link);
    if (n <= 0 || (size_t)n == sizeof link) {
        leave_out(t, path);
        return 0;
    }
    link[n] = '\0';
    if (leads_out(path + t->under, link)) {
        leave_out(t, path);
        return 0;
    }
    const struct header h = { .path = path, .link = link, .type = '2', .mode = 0777 };
    return count(t, 0) != 0 ? -1 : put_entry(t, &h);
}

static int put_bytes(struct writer *t, int fd, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        size_t most = size - done < BUFFER ? (size_t)(size - done) : BUFFER;
        ssize_t n = read(fd, t->buffer, most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            memset(t->buffer, 0, most);
            n = (ssize_t)most;
        }
        if (put(t, t->buffer, (size_t)n) != 0)
            return -1;
        done += (uint64_t)n;
    }
    return put_padding(t, size);
}

static int put_file(struct writer *t, int dir, const char *name, const char *path)
{
    struct stat st;
    AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return errno == ENOENT ? 0 : err_sys(t->err, "%s/%s", t->top, path);
    if (!S_ISREG(st.st_mode)) {
        leave_out(t, path);
        return 0;
    }
    const struct header h = { .path = path,
                              .link = "",
                              .type = '0',
                              .mode = st.st_mode & 0111 ? 0755 : 0644,
                              .size = (uint64_t)st.st_size };
    if (count(t, h.size) != 0 || put_entry(t, &h) != 0)
        return -1;
    return t->out < 0 ? 0 : put_bytes(t, fd, h.size);
}

/* ---- the tree ---- */

typedef VEC(char *) names;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_names(DIR *dir, names *out)
{
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            vec_push(out, mem_strdup(entry->d_name));
    if (out->n > 0)
        qsort(out->at, out->n, sizeof out->at[0], by_name);
}

static int put_tree(struct writer *t, int dir, const char *path, unsigned depth);

static int put_dir(struct writer *t, int above, const char *name, const char *path, unsigned depth)
{
    AUTO_FREE char *shown = mem_printf("%s/", path);
    const struct header h = { .path = shown, .link = "", .type = '5', .mode = 0755 };
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(t->err, "%s/%s", t->top, path);
    if (count(t, 0) != 0 || put_entry(t, &h) != 0) {
        close(fd);
        return -1;
    }
    return put_tree(t, fd, path, depth + 1);
}

static int put_one(struct writer *t, int dir, const char *name, const char *path, unsigned depth)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : err_sys(t->err, "%s/%s", t->top, path);
    bool fits = strlen(path) < UNTAR_PATH && depth < UNTAR_DEPTH;
    if (S_ISDIR(st.st_mode) && fits)
        return is_no_code(name) ? 0 : put_dir(t, dir, name, path, depth);
    if (S_ISLNK(st.st_mode) && fits)
        return put_link(t, dir, name, path);
    if (S_ISREG(st.st_mode) && fits && !(st.st_mode & (S_ISUID | S_ISGID)))
        return is_compiled(name) || is_no_code(name) ? 0 : put_file(t, dir, name, path);
    leave_out(t, path);
    return 0;
}

/* Closes dir. */
static int put_tree(struct writer *t, int dir, const char *path, unsigned depth)
{
    names all = { .n = 0 };
    int rc = 0;
    DIR *stream = fdopendir(dir);
    if (!stream) {
        close(dir);
        return err_sys(t->err, "%s/%s", t->top, path);
    }
    list_names(stream, &all);
    for (size_t i = 0; i < all.n; i++) {
        AUTO_FREE char *below =
            *path ? mem_printf("%s/%s", path, all.at[i]) : mem_strdup(all.at[i]);
        if (rc == 0)
            rc = put_one(t, dirfd(stream), all.at[i], below, depth);
        free(all.at[i]);
    }
    vec_fini(&all);
    closedir(stream);
    return rc;
}

int tar_tree_write(int out, const struct tar_tree *tree, struct tar_tree_summary *found,
                   struct err *err)
{
    static const char end[2 * BLOCK];
    struct writer *t = mem_new(sizeof *t);
    *found = (struct tar_tree_summary){ .bytes = 0 };
    t->out = out;
    t->limits = &tree->limits;
    t->found = found;
    t->err = err;
    t->top = tree->dir;
    t->under = tree->under ? strlen(tree->under) + 1 : 0;
    int fd = open(tree->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc =
        fd < 0 ? err_sys(err, "%s", tree->dir) : put_tree(t, fd, tree->under ? tree->under : "", 0);
    if (rc == 0)
        rc = put(t, end, sizeof end);
    free(t);
    return rc;
}

int tar_tree_measure(const struct tar_tree *tree, struct tar_tree_summary *found, struct err *err)
{
    return tar_tree_write(-1, tree, found, err);
}
