/* A lock is an flock on a file that nobody removes, so a process that dies lets go of it. A tree is
 * removed by renaming it into half/ first: who looks for it finds all of it or nothing. */
#include "node/fetch/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/fetch/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define TREES_MAX 4096u

void store_tree_init(struct store_tree *t, const char *dir, const char *digest)
{
    t->tree = mem_printf("%s/trees/%s", dir, digest);
    t->root = mem_printf("%s/root", t->tree);
    t->config = mem_printf("%s/config.json", t->tree);
    t->half = mem_printf("%s/half/%s", dir, digest);
}

void store_tree_fini(struct store_tree *t)
{
    free(t->tree);
    free(t->root);
    free(t->config);
    free(t->half);
}

int store_prepare(const char *dir, struct err *err)
{
    static const char *const below[] = { "trees", "half", "locks", "grants", "layers" };
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, below[i]);
        if (file_mkdirs(path, 0700, err) != 0)
            return err_in(err, "the store of images");
    }
    return 0;
}

bool store_has(const struct store_tree *t)
{
    return file_is_dir(t->root) && access(t->config, F_OK) == 0;
}

/* ---- locks ---- */

static int open_lock(const char *dir, const char *digest, const char *what, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/locks/%s.%s", dir, digest, what);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? err_sys(err, "%s", path) : fd;
}

int store_try_lock(const char *dir, const char *digest, int *out, struct err *err)
{
    AUTO_CLOSE int fd = open_lock(dir, digest, "make", err);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? 1 : err_sys(err, "locking an image");
    *out = mem_give_fd(&fd);
    return 0;
}

int store_lock(const char *dir, const char *digest, int *out, struct err *err)
{
    AUTO_CLOSE int fd = open_lock(dir, digest, "make", err);
    if (fd < 0)
        return -1;
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_sys(err, "locking an image");
    *out = mem_give_fd(&fd);
    return 0;
}

/* Whoever looks whether it is in use has its lock for a moment; who removes it for as long as that
 * takes, of which the tree's new name is the beginning. */
static bool take_shared(int fd, const struct store_tree *tree)
{
    int rc = flock(fd, LOCK_SH | LOCK_NB);
    while (rc != 0 && (errno == EWOULDBLOCK || errno == EINTR) && store_has(tree))
        rc = flock(fd, LOCK_SH);
    return rc == 0;
}

int store_use(const char *dir, const char *digest, struct err *err)
{
    struct store_tree tree;
    AUTO_CLOSE int fd = open_lock(dir, digest, "use", err);
    if (fd < 0)
        return -1;
    store_tree_init(&tree, dir, digest);
    bool there = take_shared(fd, &tree) && store_has(&tree);
    if (there)
        (void)utimensat(AT_FDCWD, tree.tree, NULL, AT_SYMLINK_NOFOLLOW);
    store_tree_fini(&tree);
    if (!there)
        return err_set(err, ERR_UNAVAILABLE, "the image was removed from this node meanwhile");
    return mem_give_fd(&fd);
}

/* ---- making ---- */

void store_drop_half(const struct store_tree *t)
{
    (void)file_remove_tree(t->half, NULL);
}

int store_finish(const struct store_tree *t, uint64_t bytes, struct err *err)
{
    char text[32];
    AUTO_FREE char *size = mem_printf("%s/bytes", t->half);
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    if (file_replace(size, text, (size_t)n, 0600, err) != 0)
        return -1;
    AUTO_CLOSE int fd = open(t->half, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) != 0)
        return err_sys(err, "writing the image to the disk");
    if (rename(t->half, t->tree) != 0)
        return err_sys(err, "%s", t->tree);
    return file_sync_parent(t->tree, err);
}

/* ---- the limit ---- */

struct tree_entry {
    char name[IMAGE_DIGEST_LEN + 1];
    uint64_t bytes;
    struct timespec used;
};

static uint64_t bytes_of(const char *dir, const char *digest)
{
    AUTO_FREE char *path = mem_printf("%s/trees/%s/bytes", dir, digest);
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t bytes = 0;
    if (file_read(path, 32, &text, &len, NULL) == 0)
        (void)scan_u64(text, 0, UINT64_MAX / 2, &bytes);
    return bytes;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct tree_entry *)a)->used;
    const struct timespec *y = &((const struct tree_entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Of all but those without a name; what several share counts once. */
static uint64_t sum_of(const char *dir, const struct tree_entry *all, size_t n)
{
    struct string_map *seen = string_map_create();
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *tree = mem_printf("%s/trees/%s", dir, all[i].name);
        sum += *all[i].name ? layers_count(tree, all[i].bytes, seen) : 0;
    }
    string_map_destroy(seen);
    return sum;
}

/* The first used longest ago. */
static size_t list_trees(const char *dir, struct tree_entry *out)
{
    AUTO_FREE char *path = mem_printf("%s/trees", dir);
    DIR *list = opendir(path);
    struct stat st;
    size_t n = 0;
    for (const struct dirent *e; list && n < TREES_MAX && (e = readdir(list));) {
        if (strlen(e->d_name) != IMAGE_DIGEST_LEN ||
            fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        struct tree_entry *one = &out[n++];
        memcpy(one->name, e->d_name, sizeof one->name);
        one->bytes = bytes_of(dir, one->name);
        one->used = st.st_mtim;
    }
    if (list)
        closedir(list);
    qsort(out, n, sizeof *out, by_use);
    return n;
}

/* Both locks of one that is neither in use nor being made. */
static bool take_unused(const char *dir, const char *digest, int *used, int *made)
{
    *used = open_lock(dir, digest, "use", NULL);
    return *used >= 0 && flock(*used, LOCK_EX | LOCK_NB) == 0 &&
           store_try_lock(dir, digest, made, NULL) == 0;
}

/* false: it is in use, or being made. */
static bool remove_tree(const char *dir, const char *digest)
{
    struct store_tree tree;
    AUTO_CLOSE int made = -1, used = -1;
    if (!take_unused(dir, digest, &used, &made))
        return false;
    store_tree_init(&tree, dir, digest);
    store_drop_half(&tree);
    bool gone = rename(tree.tree, tree.half) == 0;
    store_drop_half(&tree);
    store_tree_fini(&tree);
    if (gone)
        layers_drop_unused(dir);
    return gone;
}

void store_drop_remains(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/half", dir);
    DIR *list = opendir(path);
    for (const struct dirent *e; list && (e = readdir(list));) {
        AUTO_CLOSE int lock = -1;
        if (strlen(e->d_name) != IMAGE_DIGEST_LEN ||
            store_try_lock(dir, e->d_name, &lock, NULL) != 0)
            continue;
        AUTO_FREE char *half = mem_printf("%s/%s", path, e->d_name);
        (void)file_remove_tree(half, NULL);
    }
    if (list)
        closedir(list);
}

bool store_add_up(const char *dir, struct store_sum *out)
{
    struct statvfs fs;
    AUTO_FREE char *trees = mem_printf("%s/trees", dir);
    if (!file_is_dir(trees) || statvfs(trees, &fs) != 0)
        return false;
    struct tree_entry *all = mem_new(TREES_MAX * sizeof *all);
    out->images = list_trees(dir, all);
    out->bytes = sum_of(dir, all, out->images);
    out->free = (uint64_t)fs.f_bavail * fs.f_frsize;
    free(all);
    return true;
}

/* Who wants to use it meanwhile is not to wait until it has been looked through. */
static bool is_unused(const char *dir, const char *digest)
{
    AUTO_CLOSE int made = -1, used = -1;
    return take_unused(dir, digest, &used, &made);
}

uint64_t store_used(const char *dir)
{
    struct tree_entry *all = mem_new(TREES_MAX * sizeof *all);
    size_t n = list_trees(dir, all);
    for (size_t i = 0; i < n; i++)
        if (is_unused(dir, all[i].name))
            all[i].name[0] = '\0';
    uint64_t sum = sum_of(dir, all, n);
    free(all);
    return sum;
}

/* A file that layers and trees have counts for each of its names, so for all of it when all go. */
uint64_t store_unused(const char *dir)
{
    uint64_t unused = 0;
    struct string_map *named = string_map_create();
    struct tree_entry *all = mem_new(TREES_MAX * sizeof *all);
    size_t n = list_trees(dir, all);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *tree = mem_printf("%s/trees/%s", dir, all[i].name);
        unsigned long long one = 0;
        if (!is_unused(dir, all[i].name))
            layers_name(tree, named);
        else if (file_tree_disk(tree, UINT64_MAX, &one, NULL) == 0)
            unused += one;
    }
    unused += layers_unnamed_disk(dir, named);
    string_map_destroy(named);
    free(all);
    return unused;
}

bool store_drop_oldest(const char *dir)
{
    bool gone = false;
    struct tree_entry *all = mem_new(TREES_MAX * sizeof *all);
    size_t n = list_trees(dir, all);
    for (size_t i = 0; i < n && !gone; i++)
        gone = remove_tree(dir, all[i].name);
    free(all);
    return gone;
}

void store_keep_limit(const char *dir, uint64_t limit)
{
    struct tree_entry *all = mem_new(TREES_MAX * sizeof *all);
    size_t n = list_trees(dir, all);
    for (size_t i = 0; i < n && sum_of(dir, all, n) > limit; i++)
        if (remove_tree(dir, all[i].name))
            all[i].name[0] = '\0';
    free(all);
    store_drop_remains(dir);
    layers_drop_unused(dir);
}
