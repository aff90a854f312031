/* The list is text: numbers, path and link of an entry, each ended by a zero. What fails while it
 * is written makes the record useless, and nothing else: the layer is unpacked all the same. It
 * counts once `bytes` is there, which is written last. */
#include "node/fetch/layer_record.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS 5u

struct layer_record {
    char *path;
    int dir;
    FILE *list;
    uint64_t files; /* that were kept, or linked */
    bool broken;
    char *text; /* of getdelim */
    size_t room;
};

static const char *file_name(char out[24], uint64_t number)
{
    snprintf(out, 24, "%llu", (unsigned long long)number);
    return out;
}

static struct layer_record *open_record(const char *path, int flags, const char *mode)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_CLOSE int fd = dir < 0 ? -1 : openat(dir, "list", flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *list = fd < 0 ? NULL : fdopen(fd, mode);
    if (!list)
        return NULL;
    mem_give_fd(&fd);
    struct layer_record *record = mem_new(sizeof *record);
    *record =
        (struct layer_record){ .path = mem_strdup(path), .dir = mem_give_fd(&dir), .list = list };
    return record;
}

void layer_record_close(struct layer_record *record)
{
    if (!record)
        return;
    if (record->list)
        (void)fclose(record->list);
    close(record->dir);
    free(record->path);
    free(record->text);
    free(record);
}

/* ---- writing ---- */

struct layer_record *layer_record_create(const char *dir)
{
    return mkdir(dir, 0700) == 0 ? open_record(dir, O_WRONLY | O_CREAT | O_EXCL, "w") : NULL;
}

void layer_record_keep(struct layer_record *record, int parent, const char *name)
{
    char own[24];
    record->broken = record->broken ||
                     linkat(parent, name, record->dir, file_name(own, ++record->files), 0) != 0;
}

static void put(struct layer_record *record, const char *text)
{
    size_t n = strlen(text) + 1;
    record->broken = record->broken || fwrite(text, 1, n, record->list) != n;
}

void layer_record_add(struct layer_record *record, const struct tar_entry *e)
{
    char numbers[96];
    snprintf(numbers, sizeof numbers, "%u %u %u %u %llu", (unsigned char)e->type, e->mode, e->uid,
             e->gid, (unsigned long long)e->mtime_s);
    put(record, numbers);
    put(record, e->path);
    put(record, e->link);
}

void layer_record_finish(struct layer_record *record, uint64_t bytes)
{
    char text[24];
    AUTO_FREE char *size = file_join(record->path, "bytes");
    FILE *list = TAKE(record->list);
    bool good = fclose(list) == 0 && !record->broken && bytes > 0;
    file_name(text, bytes);
    if (!good || file_replace_unsynced(size, text, strlen(text), 0600, NULL) != 0)
        (void)file_remove_tree(record->path, NULL);
    layer_record_close(record);
}

/* ---- reading ---- */

bool layer_record_bytes(const char *dir, uint64_t *bytes)
{
    AUTO_FREE char *size = file_join(dir, "bytes");
    AUTO_FREE char *text = NULL;
    size_t len;
    return file_read(size, 32, &text, &len, NULL) == 0 && scan_u64(text, 1, UINT64_MAX / 2, bytes);
}

void layer_record_spoil(const char *dir)
{
    AUTO_FREE char *size = file_join(dir, "bytes");
    (void)unlink(size);
}

struct layer_record *layer_record_open(const char *dir, uint64_t *bytes)
{
    return layer_record_bytes(dir, bytes) ? open_record(dir, O_RDONLY, "r") : NULL;
}

/* 1, 0: there is none more, -1. */
static int next_text(struct layer_record *record)
{
    ssize_t n = getdelim(&record->text, &record->room, '\0', record->list);
    if (n < 0)
        return feof(record->list) ? 0 : -1;
    return n > 0 && record->text[n - 1] == '\0' && n <= (ssize_t)TAR_PATH + 1 ? 1 : -1;
}

static bool take_numbers(char *text, struct tar_entry *e)
{
    uint64_t at[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++) {
        const char *word = strsep(&text, " ");
        if (!word || !scan_u64(word, 0, UINT64_MAX, &at[i]))
            return false;
    }
    *e = (struct tar_entry){ .type = (char)at[0],
                             .mode = (unsigned)at[1] & 07777,
                             .uid = (uint32_t)at[2],
                             .gid = (uint32_t)at[3],
                             .mtime_s = (int64_t)at[4] };
    return !text;
}

static bool take_text(struct layer_record *record, char out[TAR_PATH + 1])
{
    if (next_text(record) != 1)
        return false;
    memcpy(out, record->text, strlen(record->text) + 1);
    return true;
}

int layer_record_next(struct layer_record *record, struct tar_entry *e, struct err *err)
{
    int rc = next_text(record);
    if (rc == 0)
        return 0;
    if (rc > 0 && take_numbers(record->text, e) && take_text(record, e->path) &&
        take_text(record, e->link))
        return 1;
    return err_set(err, ERR_UNAVAILABLE, "a layer that was kept is damaged");
}

int layer_record_link(struct layer_record *record, int parent, const char *name)
{
    char own[24];
    return linkat(record->dir, file_name(own, ++record->files), parent, name, 0);
}
