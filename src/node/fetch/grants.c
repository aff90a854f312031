/* A mark is the SHA-256 of the store's key and the credentials: the same credentials find it, and
 * rotated ones are asked for anew. */
#include "node/fetch/grants.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/layer.h"
#include "node/fetch/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_BYTES 32u
#define LIST_MAX  65536u

static int make_key(const char *path, unsigned char key[KEY_BYTES])
{
    if (getrandom(key, KEY_BYTES, 0) != (ssize_t)KEY_BYTES)
        return -1;
    return file_replace(path, (const char *)key, KEY_BYTES, 0600, NULL);
}

/* Two that make it at once: a mark of the one that is lost is never found, and made again. */
static int take_key(const char *dir, unsigned char key[KEY_BYTES])
{
    AUTO_FREE char *path = mem_printf("%s/grants/key", dir);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (file_read(path, KEY_BYTES, &text, &len, NULL) != 0 || len != KEY_BYTES)
        return make_key(path, key);
    memcpy(key, text, KEY_BYTES);
    return 0;
}

/* Malloc'ed; NULL: it cannot be made. */
static char *path_of(const char *dir, const char *digest, const char *auth)
{
    unsigned char key[KEY_BYTES];
    char mark[IMAGE_DIGEST_LEN + 1];
    AUTO_CLOSE int fd = memfd_create("mark", MFD_CLOEXEC);
    if (fd < 0 || take_key(dir, key) != 0 || file_write_all(fd, (const char *)key, KEY_BYTES) != 0)
        return NULL;
    if (auth && file_write_all(fd, auth, strlen(auth)) != 0)
        return NULL;
    if (lseek(fd, 0, SEEK_SET) != 0 || layer_hash(fd, mark, NULL) != 0)
        return NULL;
    return mem_printf("%s/grants/%s.%s", dir, digest, mark);
}

static bool read_tree(const char *path, char tree[IMAGE_DIGEST_LEN + 1])
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (file_read(path, IMAGE_DIGEST_LEN + 1, &text, &len, NULL) != 0 || len != IMAGE_DIGEST_LEN ||
        strspn(text, "0123456789abcdef") != len)
        return false;
    memcpy(tree, text, IMAGE_DIGEST_LEN + 1);
    return true;
}

static bool has_tree(const char *dir, const char *digest)
{
    struct store_tree tree;
    store_tree_init(&tree, dir, digest);
    bool there = store_has(&tree);
    store_tree_fini(&tree);
    return there;
}

bool grant_find(const char *dir, const char *digest, const char *auth,
                char tree[IMAGE_DIGEST_LEN + 1])
{
    AUTO_FREE char *path = path_of(dir, digest, auth);
    char found[IMAGE_DIGEST_LEN + 1];
    if (!path || !read_tree(path, found) || !has_tree(dir, found))
        return false;
    memcpy(tree, found, sizeof found);
    return true;
}

bool grant_find_any(const char *dir, const char *digest, char tree[IMAGE_DIGEST_LEN + 1])
{
    AUTO_FREE char *folder = mem_printf("%s/grants", dir);
    DIR *list = opendir(folder);
    const struct dirent *e;
    bool found = false;
    for (unsigned n = 0; list && !found && n < LIST_MAX && (e = readdir(list)); n++) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, e->d_name);
        found = strncmp(e->d_name, digest, IMAGE_DIGEST_LEN) == 0 &&
                e->d_name[IMAGE_DIGEST_LEN] == '.' && read_tree(path, tree) && has_tree(dir, tree);
    }
    if (list)
        closedir(list);
    return found;
}

void grant_keep(const char *dir, const char *digest, const char *auth, const char *tree)
{
    AUTO_FREE char *path = path_of(dir, digest, auth);
    if (path)
        (void)file_replace(path, tree, IMAGE_DIGEST_LEN, 0600, NULL);
}

void grants_drop_old(const char *dir)
{
    AUTO_FREE char *folder = mem_printf("%s/grants", dir);
    DIR *list = opendir(folder);
    const struct dirent *e;
    for (unsigned n = 0; list && n < LIST_MAX && (e = readdir(list)); n++) {
        char tree[IMAGE_DIGEST_LEN + 1];
        AUTO_FREE char *path = mem_printf("%s/%s", folder, e->d_name);
        if (strlen(e->d_name) == 2 * IMAGE_DIGEST_LEN + 1 &&
            (!read_tree(path, tree) || !has_tree(dir, tree)))
            (void)unlink(path);
    }
    if (list)
        closedir(list);
}
