/* One lock for all of a store stands over looking which layers are there and saying that they are
 * wanted, and over removing: what a list names is not removed, and what is not there when a list
 * was written is not relied on. A layer goes by the file that makes it whole, so one that was
 * removed in part is none. */
#include "node/fetch/layers.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/fetch/layer_record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX  (IMAGE_LAYERS_MAX * 96u)
#define ABOUT_MAX 512u

static int lock(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/locks/layers", dir);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 && flock(fd, LOCK_EX) == 0 ? mem_give_fd(&fd) : -1;
}

static char *describe_layer(const struct layers_ask *ask, size_t i)
{
    return mem_printf("%s %s", ask->diffs->at[i], ask->registry);
}

static bool is_that(const struct layers_ask *ask, size_t i, const char *record)
{
    AUTO_FREE char *path = mem_printf("%s/about", record), *says = describe_layer(ask, i);
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t bytes;
    return file_read(path, ABOUT_MAX, &text, &len, NULL) == 0 && strcmp(text, says) == 0 &&
           layer_record_bytes(record, &bytes);
}

char *layers_place(const struct layers_ask *ask, size_t layer)
{
    return mem_printf("%s/new/%s", ask->half, ask->manifest->layers[layer].digest);
}

/* ---- of an image ---- */

static int write_list(const struct layers_ask *ask, const struct buf *text, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/layers", ask->half);
    return file_replace_unsynced(path, buf_str(text), text->len, 0600, err);
}

int layers_claim(const struct layers_ask *ask, struct arena *arena, const char **kept,
                 struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    AUTO_FREE char *place = mem_printf("%s/new", ask->half);
    AUTO_CLOSE int held = lock(ask->dir);
    if (held < 0 || mkdir(place, 0700) != 0)
        return err_sys(err, "layers of the store");
    for (size_t i = 0; i < ask->manifest->n_layers; i++)
        buf_addf(&text, "%s 0\n", ask->manifest->layers[i].digest);
    if (write_list(ask, &text, err) != 0)
        return -1;
    for (size_t i = 0; i < ask->manifest->n_layers; i++) {
        const char *record =
            arena_printf(arena, "%s/layers/%s", ask->dir, ask->manifest->layers[i].digest);
        kept[i] = is_that(ask, i, record) ? record : NULL;
    }
    return 0;
}

/* The same layer may stand in an image more than once. */
static bool stands_before(const struct image_manifest *manifest, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(manifest->layers[k].digest, manifest->layers[i].digest) == 0)
            return true;
    return false;
}

/* Of one that has come. What cannot be said is not shared. */
static bool say_about(const struct layers_ask *ask, size_t i, const char *record)
{
    AUTO_FREE char *path = mem_printf("%s/about", record), *says = describe_layer(ask, i);
    return file_replace_unsynced(path, says, strlen(says), 0600, NULL) == 0;
}

int layers_note(const struct layers_ask *ask, const char *const *kept, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < ask->manifest->n_layers; i++) {
        AUTO_FREE char *place = layers_place(ask, i);
        const char *record = kept[i] ? kept[i] : place;
        uint64_t bytes;
        if (!stands_before(ask->manifest, i) && layer_record_bytes(record, &bytes) &&
            (kept[i] || say_about(ask, i, place)))
            buf_addf(&text, "%s %llu\n", ask->manifest->layers[i].digest,
                     (unsigned long long)bytes);
    }
    return write_list(ask, &text, err);
}

/* ---- of the store ---- */

static void remove_layer(const char *record)
{
    layer_record_spoil(record);
    (void)file_remove_tree(record, NULL);
}

void layers_publish(const char *dir, const char *tree)
{
    AUTO_FREE char *place = mem_printf("%s/new", tree);
    AUTO_CLOSE int held = lock(dir);
    DIR *list = held < 0 ? NULL : opendir(place);
    for (const struct dirent *e; list && (e = readdir(list));) {
        if (strlen(e->d_name) != IMAGE_DIGEST_LEN)
            continue;
        AUTO_FREE char *from = mem_printf("%s/%s", place, e->d_name);
        AUTO_FREE char *to = mem_printf("%s/layers/%s", dir, e->d_name);
        remove_layer(to); /* of another registry, or in part */
        (void)rename(from, to);
    }
    if (list)
        closedir(list);
    (void)file_remove_tree(place, NULL);
}

typedef void (*each_layer)(void *arg, const char *blob, uint64_t bytes);

static void read_list(const char *path, each_layer each, void *arg)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t bytes;
    if (file_read(path, LIST_MAX, &text, &len, NULL) != 0)
        return;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *blob = strsep(&line, " ");
        if (line && strlen(blob) == IMAGE_DIGEST_LEN && scan_u64(line, 0, UINT64_MAX / 2, &bytes))
            each(arg, blob, bytes);
    }
}

static void name_layer(void *arg, const char *blob, uint64_t bytes)
{
    (void)bytes;
    string_map_set(arg, blob, arg);
}

void layers_name(const char *tree, struct string_map *named)
{
    AUTO_FREE char *file = mem_printf("%s/layers", tree);
    read_list(file, name_layer, named);
}

static void name_all(const char *dir, const char *folder, struct string_map *named)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, folder);
    DIR *list = opendir(path);
    for (const struct dirent *e; list && (e = readdir(list));) {
        AUTO_FREE char *tree = mem_printf("%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            layers_name(tree, named);
    }
    if (list)
        closedir(list);
}

static void each_unnamed(const char *dir, const struct string_map *named,
                         void (*each)(void *arg, const char *record), void *arg)
{
    AUTO_FREE char *path = mem_printf("%s/layers", dir);
    DIR *list = opendir(path);
    for (const struct dirent *e; list && (e = readdir(list));) {
        AUTO_FREE char *record = mem_printf("%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && !string_map_get(named, e->d_name))
            each(arg, record);
    }
    if (list)
        closedir(list);
}

static void remove_each(void *arg, const char *record)
{
    (void)arg;
    remove_layer(record);
}

void layers_drop_unused(const char *dir)
{
    AUTO_CLOSE int held = lock(dir);
    if (held < 0)
        return;
    struct string_map *named = string_map_create();
    name_all(dir, "half", named); /* which may become a tree meanwhile */
    name_all(dir, "trees", named);
    each_unnamed(dir, named, remove_each, NULL);
    string_map_destroy(named);
}

static void add_disk(void *arg, const char *record)
{
    unsigned long long bytes = 0;
    if (file_tree_disk(record, UINT64_MAX, &bytes, NULL) == 0)
        *(uint64_t *)arg += bytes;
}

uint64_t layers_unnamed_disk(const char *dir, struct string_map *named)
{
    uint64_t sum = 0;
    name_all(dir, "half", named);
    each_unnamed(dir, named, add_disk, &sum);
    return sum;
}

struct counting {
    uint64_t bytes;
    struct string_map *seen;
};

static void count_layer(void *arg, const char *blob, uint64_t bytes)
{
    struct counting *c = arg;
    if (string_map_get(c->seen, blob))
        c->bytes -= bytes < c->bytes ? bytes : c->bytes;
    else
        string_map_set(c->seen, blob, c);
}

uint64_t layers_count(const char *tree, uint64_t bytes, struct string_map *seen)
{
    struct counting counting = { .bytes = bytes, .seen = seen };
    AUTO_FREE char *path = mem_printf("%s/layers", tree);
    read_list(path, count_layer, &counting);
    return counting.bytes;
}
