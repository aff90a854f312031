/* Nothing is checked here but that the registry knows the digest for these credentials: whoever
 * takes the file compares every part of it with its name. One that is there is used again after the
 * registry was asked. */
#include "node/image_pack.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/tar_tree.h"
#include "node/fetch/make.h"
#include "node/image_digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096u

struct packing {
    const char *dir;
    uint64_t most;
    const struct registry *registry;
    char *tree, *part, *path; /* what came; the file while it is written, and then */
};

static int write_tar(const struct packing *p, struct err *err)
{
    const struct tar_tree all = { .dir = p->tree, .limits = { .bytes = p->most } };
    struct tar_tree_summary found;
    AUTO_CLOSE int out = open(p->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0)
        return err_sys(err, "%s", p->part);
    if (tar_tree_write(out, &all, &found, err) != 0)
        return -1;
    return rename(p->part, p->path) == 0 ? 0 : err_sys(err, "%s", p->path);
}

/* The oldest of the others; false: there is none. */
static bool find_oldest(const struct packing *p, char name[IMAGE_DIGEST_LEN + 1], uint64_t *sum)
{
    DIR *list = opendir(p->dir);
    time_t oldest = 0;
    bool found = false;
    struct stat st;
    const struct dirent *e;
    *sum = 0;
    for (unsigned n = 0; list && n < FILES_MAX && (e = readdir(list)); n++) {
        if (strlen(e->d_name) != IMAGE_DIGEST_LEN ||
            fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        *sum += (uint64_t)st.st_size;
        if (strcmp(e->d_name, p->registry->ref->digest) == 0 || (found && st.st_mtime >= oldest))
            continue;
        found = true;
        oldest = st.st_mtime;
        memcpy(name, e->d_name, IMAGE_DIGEST_LEN + 1);
    }
    if (list)
        closedir(list);
    return found;
}

static void keep_limit(const struct packing *p)
{
    char name[IMAGE_DIGEST_LEN + 1];
    uint64_t sum;
    while (find_oldest(p, name, &sum) && sum > p->most) {
        AUTO_FREE char *path = mem_printf("%s/%s", p->dir, name);
        if (unlink(path) != 0)
            return;
    }
}

static int make(const struct packing *p, struct err *err)
{
    if (access(p->path, R_OK) == 0)
        return utimensat(AT_FDCWD, p->path, NULL, 0) == 0 ? 0 : err_sys(err, "%s", p->path);
    (void)file_remove_tree(p->tree, NULL);
    int rc = registry_copy(p->registry, p->registry->ref->digest, p->tree, NULL, NULL, err);
    if (rc == 0)
        rc = write_tar(p, err);
    (void)file_remove_tree(p->tree, NULL);
    (void)unlink(p->part);
    return rc;
}

static int pack(void *arg, const struct image_ask *asked, char digest[IMAGE_DIGEST_LEN + 1],
                struct err *err)
{
    struct packing *p = arg;
    const struct registry *registry = p->registry = asked->registry;
    if (!*registry->ref->digest)
        return err_set(err, ERR_INPUT, "the question has no digest");
    if (image_resolve(registry, digest, err) != 0 || file_mkdirs(p->dir, 0700, err) != 0)
        return -1;
    AUTO_FREE char *lock = mem_printf("%s/lock", p->dir);
    AUTO_CLOSE int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return err_sys(err, "%s", lock);
    p->tree = mem_printf("%s/half", p->dir);
    p->part = mem_printf("%s/part", p->dir);
    p->path = mem_printf("%s/%s", p->dir, digest);
    int rc = make(p, err);
    keep_limit(p);
    free(p->tree);
    free(p->part);
    free(p->path);
    return rc;
}

int image_pack_main(int argc, char **argv)
{
    struct packing p = { .dir = argc == 4 ? argv[2] : NULL };
    if (!p.dir || !scan_u64(argv[3], 0, UINT64_MAX / 2, &p.most))
        return 2;
    return image_answer(pack, &p);
}
