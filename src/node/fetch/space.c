/* half/DIGEST/needs is what a pull said it would take. It is what its manifest says of the packed
 * layers: what they unpack to is known only when they have come, and seldom less. Nothing is
 * removed for an image that would not fit then either. One lock for all of a store stands over
 * looking and taking. */
#include "node/fetch/space.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/fetch/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char *needs_path(const char *dir, const char *digest)
{
    return mem_printf("%s/half/%s/needs", dir, digest);
}

/* Below half/DIGEST, at most so many; what is not there has none. */
static uint64_t bytes_in(const char *dir, const char *digest, const char *name, uint64_t most)
{
    AUTO_FREE char *path = mem_printf("%s/half/%s/%s", dir, digest, name);
    unsigned long long bytes = 0;
    return file_tree_size(path, most, &bytes, NULL) == 0 ? bytes : 0;
}

/* Files of layers that were there are in its tree too, but among the records of layers
 * (node/fetch/layers.h) only those that it brings. */
static uint64_t bytes_there(const char *dir, const char *digest, uint64_t most)
{
    AUTO_FREE char *records = mem_printf("%s/half/%s/new", dir, digest);
    return bytes_in(dir, digest, "pulled", most) +
           bytes_in(dir, digest, file_is_dir(records) ? "new" : "root", most);
}

/* Of a pull under way, as far as it is not yet on the disk. */
static uint64_t still_needs(const char *dir, const char *digest)
{
    AUTO_FREE char *path = needs_path(dir, digest);
    AUTO_FREE char *text = NULL;
    AUTO_CLOSE int lock = -1;
    size_t len;
    uint64_t needs = 0;
    if (file_read(path, FMT_MAX, &text, &len, NULL) != 0 ||
        !scan_u64(text, 0, UINT64_MAX / 2, &needs) || store_try_lock(dir, digest, &lock, NULL) != 1)
        return 0;
    uint64_t there = bytes_there(dir, digest, needs);
    return there < needs ? needs - there : 0;
}

static uint64_t others_need(const char *dir, const char *digest)
{
    AUTO_FREE char *path = mem_printf("%s/half", dir);
    DIR *list = opendir(path);
    uint64_t sum = 0;
    for (const struct dirent *e; list && (e = readdir(list));)
        if (strlen(e->d_name) == IMAGE_DIGEST_LEN && strcmp(e->d_name, digest) != 0)
            sum += still_needs(dir, e->d_name);
    if (list)
        closedir(list);
    return sum;
}

static int free_bytes(const char *dir, uint64_t *bytes, struct err *err)
{
    struct statvfs fs;
    if (statvfs(dir, &fs) != 0)
        return err_sys(err, "%s", dir);
    *bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

static int refuse(uint64_t bytes, uint64_t there, uint64_t promised, struct err *err)
{
    char wants[FMT_MAX], has[FMT_MAX], others[FMT_MAX];
    AUTO_FREE char *of_others =
        promised ? mem_printf(", and %s of it are for images that are on their way",
                              fmt_bytes(others, promised))
                 : mem_strdup("");
    return err_set(err, ERR_FULL,
                   "the image does not fit on the disk of the node: it has at least %s, and there "
                   "is space for %s%s",
                   fmt_bytes(wants, bytes), fmt_bytes(has, there), of_others);
}

/* 1: it fits, 0: it does not. more: bytes that would be free besides. */
static int look(const char *dir, const char *digest, uint64_t bytes, uint64_t more, struct err *err)
{
    uint64_t there = 0;
    if (free_bytes(dir, &there, err) != 0)
        return -1;
    uint64_t promised = others_need(dir, digest);
    there += more;
    if (there >= promised && there - promised >= bytes)
        return 1;
    (void)refuse(bytes, there, promised, err);
    return 0;
}

static int make_room(const char *dir, const char *digest, uint64_t bytes, struct err *err)
{
    int rc = look(dir, digest, bytes, 0, err);
    if (rc == 0) {
        store_drop_remains(dir);
        rc = look(dir, digest, bytes, 0, err);
    }
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (look(dir, digest, bytes, store_unused(dir), err) <= 0)
        return -1;
    while ((rc = look(dir, digest, bytes, 0, err)) == 0)
        if (!store_drop_oldest(dir))
            return -1;
    return rc < 0 ? -1 : 0;
}

int space_reserve(const char *dir, const char *digest, uint64_t bytes, struct err *err)
{
    char text[FMT_MAX];
    AUTO_FREE char *path = needs_path(dir, digest);
    AUTO_FREE char *lock = mem_printf("%s/locks/space", dir);
    AUTO_CLOSE int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return err_sys(err, "%s", lock);
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    if (make_room(dir, digest, bytes, err) != 0)
        return -1;
    return file_replace_unsynced(path, text, (size_t)n, 0600, err);
}

void space_free(const char *dir, const char *digest)
{
    AUTO_FREE char *path = needs_path(dir, digest);
    (void)unlink(path);
}
