/* A directory as the target. It is never made here: where it is below a mount point, and nothing is
 * mounted, there is no such directory, and nothing is written to the disk below it. */
#include "ship/target_ops.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PART ".part"

struct dir_file {
    struct target_file base;
    int fd;
};

static int list_chains(struct target *t, struct chains *chains, struct err *err)
{
    DIR *d = opendir(t->where);
    const struct dirent *entry;
    uint64_t chain;
    if (!d)
        return err_sys(err, "%s", t->where);
    while ((entry = readdir(d)))
        if (chain_of_name(entry->d_name, &chain))
            vec_push(&chains->all, chain);
    closedir(d);
    return 0;
}

static char *chain_dir(const struct target *t, uint64_t chain)
{
    return mem_printf("%s/%08" PRIu64, t->where, chain);
}

static int sync_dir(const char *path, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : err_sys(err, "%s", path);
}

static int sync_parent(const char *path, struct err *err)
{
    AUTO_FREE char *dir = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    return sync_dir(dir, err);
}

static int begin_chain(struct target *t, uint64_t chain, struct err *err)
{
    AUTO_FREE char *dir = chain_dir(t, chain);
    if (mkdir(dir, 0700) != 0)
        return err_sys(err, "%s", dir);
    return sync_dir(t->where, err);
}

/* It is fast: the time does not matter. */
static int remove_chain(struct target *t, uint64_t chain, uint64_t until_ms, struct err *err)
{
    AUTO_FREE char *dir = chain_dir(t, chain);
    (void)until_ms;
    return file_remove_tree(dir, err);
}

/* ---- files ---- */

static struct target_file *make_file(struct target *t, const char *name, int fd)
{
    struct dir_file *f = mem_new(sizeof *f);
    *f = (struct dir_file){ .base = { .target = t, .name = mem_strdup(name) }, .fd = fd };
    return &f->base;
}

static void free_file(struct target_file *base)
{
    struct dir_file *f = (struct dir_file *)base;
    free(base->name);
    free(f);
}

static char *part_path(const struct target *t, const char *name)
{
    return mem_printf("%s/%s" PART, t->where, name);
}

static struct target_file *create_file(struct target *t, const char *name, struct err *err)
{
    AUTO_FREE char *part = part_path(t, name);
    int fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        return make_file(t, name, fd);
    err_sys(err, "%s", part);
    return NULL;
}

static int put(struct target_file *base, const void *data, size_t n, struct err *err)
{
    const struct dir_file *f = (struct dir_file *)base;
    return file_write_all(f->fd, data, n) == 0
               ? 0
               : err_sys(err, "%s/%s", base->target->where, base->name);
}

static void abandon(struct target_file *base)
{
    const struct dir_file *f = (struct dir_file *)base;
    AUTO_FREE char *part = part_path(base->target, base->name);
    close(f->fd);
    (void)unlink(part);
    free_file(base);
}

static int publish(struct target_file *base, struct err *err)
{
    const struct dir_file *f = (struct dir_file *)base;
    AUTO_FREE char *part = part_path(base->target, base->name);
    AUTO_FREE char *path = file_join(base->target->where, base->name);
    int rc = fsync(f->fd) == 0 && rename(part, path) == 0 ? sync_parent(path, err)
                                                          : err_sys(err, "%s", path);
    if (rc < 0) {
        abandon(base);
        return -1;
    }
    rc = close(f->fd) == 0 ? 0 : err_sys(err, "%s", path);
    free_file(base);
    return rc;
}

static struct target_file *get_file(struct target *t, const char *name, struct err *err)
{
    AUTO_FREE char *path = file_join(t->where, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return make_file(t, name, fd);
    if (errno == ENOENT)
        err_set(err, ERR_NOT_FOUND, "%s is not there", path);
    else
        err_sys(err, "%s", path);
    return NULL;
}

static ssize_t read_file(struct target_file *base, void *to, size_t n, struct err *err)
{
    const struct dir_file *f = (struct dir_file *)base;
    ssize_t got;
    do
        got = read(f->fd, to, n);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : err_sys(err, "%s/%s", base->target->where, base->name);
}

static void end_file(struct target_file *base)
{
    close(((struct dir_file *)base)->fd);
    free_file(base);
}

static void destroy(struct target *t)
{
    free(t->where);
    free(t);
}

static const struct target_ops ops = { .list = list_chains,
                                       .begin = begin_chain,
                                       .remove = remove_chain,
                                       .destroy = destroy,
                                       .create = create_file,
                                       .put = put,
                                       .publish = publish,
                                       .abandon = abandon,
                                       .get = get_file,
                                       .read = read_file,
                                       .end = end_file };

struct target *target_open_dir(const char *where, struct err *err)
{
    if (!file_is_dir(where)) {
        err_set(err, ERR_UNAVAILABLE, "%s is no directory, or not there", where);
        err_hint(err, "mount what it is on, or make it: mkdir -m 700 %s", where);
        return NULL;
    }
    size_t n = strlen(where);
    while (n > 1 && where[n - 1] == '/')
        n--;
    struct target *t = mem_new(sizeof *t);
    *t = (struct target){ .ops = &ops, .where = mem_strndup(where, n) };
    return t;
}
