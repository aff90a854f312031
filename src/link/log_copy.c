/* A piece goes to its place in the file of its segment with one write, and the end moves only when
 * all of it is there: what a full disk or the end of the server cut off lies behind the end, where
 * the same bytes are written again. No descriptor is held between pieces: a server has many copies.
 * A hole is room between two segments; at the end of a log it is made by an empty segment. No
 * fsync, as at the node. */
#include "link/log_copy.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "wire/message.h"
#include "wire/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct segment {
    uint64_t start, end;
};

struct log_copy {
    char *dir;
    bool made;                /* the directory is there */
    bool has_segment;         /* now is one */
    struct segment now;       /* the last one; its end is that of the copy */
    VEC(struct segment) past; /* those before, oldest first, which the cap may remove */
};

/* ---- what lies there ---- */

static size_t whole_records(const unsigned char *bytes, size_t len)
{
    struct record record;
    size_t whole = 0;
    while (record_get(bytes + whole, len - whole, &record) == 1 &&
           len - whole >= RECORD_HEAD + record.len)
        whole += RECORD_HEAD + record.len;
    return whole;
}

static char *path_of(const struct log_copy *copy, uint64_t segment)
{
    char name[SEGMENT_NAME];
    return mem_printf("%s/%s", copy->dir, segment_name(name, segment));
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->start, y = ((const struct segment *)b)->start;
    return (x > y) - (x < y);
}

static int list_segments(struct log_copy *copy, struct err *err)
{
    DIR *dir = opendir(copy->dir);
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "%s", copy->dir);
    copy->made = true;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct segment found;
        struct stat st;
        if (segment_parse(entry->d_name, &found.start) != 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        found.end = found.start + (uint64_t)st.st_size;
        vec_push(&copy->past, found);
    }
    closedir(dir);
    if (copy->past.n > 0)
        qsort(copy->past.at, copy->past.n, sizeof copy->past.at[0], by_start);
    return 0;
}

/* The last segment may end with half a record, or with what a lost machine left of one. */
static int cut_last(struct log_copy *copy, struct err *err)
{
    if (copy->past.n == 0)
        return 0;
    AUTO_FREE char *path = path_of(copy, copy->past.at[copy->past.n - 1].start);
    AUTO_FREE char *bytes = NULL;
    size_t len;
    if (file_read(path, SEGMENT_MAX, &bytes, &len, err) != 0)
        return -1;
    size_t whole = whole_records((unsigned char *)bytes, len);
    if (whole < len && truncate(path, (off_t)whole) != 0)
        return err_sys(err, "%s", path);
    copy->now = copy->past.at[--copy->past.n];
    copy->now.end = copy->now.start + whole;
    copy->has_segment = true;
    return 0;
}

struct log_copy *log_copy_open(const char *dir, struct err *err)
{
    struct log_copy *copy = mem_new(sizeof *copy);
    copy->dir = mem_strdup(dir);
    if (list_segments(copy, err) == 0 && cut_last(copy, err) == 0)
        return copy;
    log_copy_destroy(copy);
    return NULL;
}

void log_copy_destroy(struct log_copy *copy)
{
    if (!copy)
        return;
    vec_fini(&copy->past);
    free(copy->dir);
    free(copy);
}

uint64_t log_copy_end(const struct log_copy *copy)
{
    return copy->now.end;
}

/* ---- writing ---- */

bool log_copy_accepts(const struct log_copy_piece *piece)
{
    return piece->len > 0 && piece->len <= LOG_PIECE_MAX && piece->from <= piece->offset &&
           piece->segment <= piece->offset && piece->offset - piece->segment <= SEGMENT_MAX &&
           piece->offset - piece->segment + piece->len <= SEGMENT_MAX &&
           piece->offset <= UINT64_MAX - piece->len &&
           whole_records(piece->at, piece->len) == piece->len;
}

static int make_dir(struct log_copy *copy, struct err *err)
{
    if (!copy->made && file_mkdirs(copy->dir, 0755, err) != 0)
        return -1;
    copy->made = true;
    return 0;
}

/* As the node's writer removes them (node/logfile.c). */
static void trim(struct log_copy *copy, const struct log_copy_piece *piece)
{
    size_t kept = 0;
    if (piece->head + piece->tail == 0)
        return;
    for (size_t i = 0; i < copy->past.n; i++) {
        struct segment past = copy->past.at[i];
        if (past.start < piece->head || copy->now.start - past.end < piece->tail) {
            copy->past.at[kept++] = past;
            continue;
        }
        AUTO_FREE char *path = path_of(copy, past.start);
        (void)unlink(path);
    }
    copy->past.n = kept;
}

static int write_at(const char *path, off_t place, const void *bytes, size_t len, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    ssize_t done;
    if (fd < 0)
        return err_sys(err, "%s", path);
    do
        done = pwrite(fd, bytes, len, place);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)len)
        return 0;
    errno = done < 0 ? errno : ENOSPC;
    (void)err_sys(err, "%s", path);
    if (done > 0 && ftruncate(fd, place) != 0)
        return -1; /* readers wait at half a record, which is written again */
    return -1;
}

enum log_copy_result log_copy_add(struct log_copy *copy, const struct log_copy_piece *piece,
                                  struct err *err)
{
    struct record record;
    uint64_t offset = piece->offset, end = piece->offset + piece->len;
    const unsigned char *at = piece->at;
    while (offset < copy->now.end && offset < end) { /* sent again */
        (void)record_get(at, RECORD_HEAD, &record);
        offset += RECORD_HEAD + record.len;
        at += RECORD_HEAD + record.len;
    }
    if (end <= copy->now.end)
        return LOG_COPY_HAS;
    bool follows = copy->has_segment && piece->segment == copy->now.start;
    if (piece->from > copy->now.end ||
        (follows ? offset != copy->now.end : offset != piece->segment))
        return LOG_COPY_LACKS;
    AUTO_FREE char *path = path_of(copy, piece->segment);
    if (make_dir(copy, err) != 0 ||
        write_at(path, (off_t)(offset - piece->segment), at, (size_t)(end - offset), err) != 0) {
        copy->made = false; /* somebody may have removed it */
        return LOG_COPY_FAILED;
    }
    if (!follows) {
        if (copy->has_segment && piece->head + piece->tail > 0)
            vec_push(&copy->past, copy->now);
        copy->now.start = piece->segment;
        copy->has_segment = true;
        trim(copy, piece);
    }
    copy->now.end = end;
    return LOG_COPY_HAS;
}

int log_copy_close(struct log_copy *copy, uint64_t end, struct err *err)
{
    if (end <= copy->now.end)
        return 0;
    AUTO_FREE char *path = path_of(copy, end);
    if (make_dir(copy, err) != 0 || write_at(path, 0, "", 0, err) != 0)
        return -1;
    copy->now = (struct segment){ .start = end, .end = end };
    copy->has_segment = true;
    return 0;
}
