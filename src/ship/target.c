/* A directory as the target. It is never made here: where it is below a mount point, and nothing is
 * mounted, there is no such directory, and nothing is written to the disk below it. */
#include "ship/target.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PART      ".part"
#define TEXT_MOST (4u << 20)

struct target {
    char *dir;
};

const char *chain_file(struct arena *a, uint64_t chain, uint64_t number)
{
    return number ? arena_printf(a, "%08" PRIu64 "/%08" PRIu64 ".tar", chain, number)
                  : arena_printf(a, "%08" PRIu64 "/base.tar", chain);
}

static bool is_chain(const char *name, uint64_t *chain)
{
    return strlen(name) == CHAIN_DIGITS && scan_u64(name, 1, UINT32_MAX, chain);
}

bool chain_of_path(const char *path, uint64_t *chain)
{
    char name[CHAIN_DIGITS + 1];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n < CHAIN_DIGITS || (n > CHAIN_DIGITS && path[n - CHAIN_DIGITS - 1] != '/'))
        return false;
    snprintf(name, sizeof name, "%.*s", CHAIN_DIGITS, path + n - CHAIN_DIGITS);
    return is_chain(name, chain);
}

struct target *target_open(const char *where, struct err *err)
{
    if (!file_is_dir(where)) {
        err_set(err, ERR_UNAVAILABLE, "%s is no directory, or not there", where);
        err_hint(err, "mount what it is on, or make it: mkdir -m 700 %s", where);
        return NULL;
    }
    struct target *t = mem_new(sizeof *t);
    t->dir = mem_strdup(where);
    return t;
}

void target_close(struct target *t)
{
    if (!t)
        return;
    free(t->dir);
    free(t);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int target_list(struct target *t, struct chains *chains, struct err *err)
{
    DIR *d = opendir(t->dir);
    const struct dirent *entry;
    uint64_t chain;
    if (!d)
        return err_sys(err, "%s", t->dir);
    while ((entry = readdir(d)))
        if (is_chain(entry->d_name, &chain))
            vec_push(&chains->all, chain);
    closedir(d);
    if (chains->all.n)
        qsort(chains->all.at, chains->all.n, sizeof *chains->all.at, ascending);
    return 0;
}

static char *chain_dir(const struct target *t, uint64_t chain)
{
    return mem_printf("%s/%08" PRIu64, t->dir, chain);
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

int target_begin(struct target *t, uint64_t chain, struct err *err)
{
    AUTO_FREE char *dir = chain_dir(t, chain);
    if (mkdir(dir, 0700) != 0)
        return err_sys(err, "%s", dir);
    return sync_dir(t->dir, err);
}

int target_create(struct target *t, const char *name, struct err *err)
{
    AUTO_FREE char *part = mem_printf("%s/%s" PART, t->dir, name);
    int fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? fd : err_sys(err, "%s", part);
}

void target_abandon(struct target *t, const char *name, int fd)
{
    AUTO_FREE char *part = mem_printf("%s/%s" PART, t->dir, name);
    close(fd);
    (void)unlink(part);
}

int target_publish(struct target *t, const char *name, int fd, struct err *err)
{
    AUTO_FREE char *part = mem_printf("%s/%s" PART, t->dir, name);
    AUTO_FREE char *path = file_join(t->dir, name);
    int rc = fsync(fd) == 0 && rename(part, path) == 0 ? sync_parent(path, err)
                                                       : err_sys(err, "%s", path);
    if (rc < 0)
        target_abandon(t, name, fd);
    else if (close(fd) != 0)
        rc = err_sys(err, "%s", path);
    return rc;
}

int target_write(struct target *t, const char *name, const char *text, size_t len, struct err *err)
{
    int fd = target_create(t, name, err);
    if (fd < 0)
        return -1;
    if (file_write_all(fd, text, len) == 0)
        return target_publish(t, name, fd, err);
    err_sys(err, "%s/%s", t->dir, name);
    target_abandon(t, name, fd);
    return -1;
}

const char *target_fetch(struct target *t, struct arena *a, const char *name, struct err *err)
{
    const char *path = arena_printf(a, "%s/%s", t->dir, name);
    if (access(path, R_OK) == 0)
        return path;
    if (errno == ENOENT)
        err_set(err, ERR_NOT_FOUND, "%s is not there", path);
    else
        err_sys(err, "%s", path);
    return NULL;
}

int target_read(struct target *t, const char *name, char **text, size_t *len, struct err *err)
{
    AUTO_FREE char *path = file_join(t->dir, name);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "%s is not there", path);
    return file_read(path, TEXT_MOST, text, len, err);
}

int target_remove(struct target *t, uint64_t chain, struct err *err)
{
    AUTO_FREE char *dir = chain_dir(t, chain);
    return file_remove_tree(dir, err);
}
