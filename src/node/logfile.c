/* Segments are appended to with one writev per record and closed at SEGMENT_MAX; then whole
 * segments that lie neither in the first `head` nor in the last `tail` bytes are removed, which
 * readers see as a hole between logical offsets. A record that was written half (disk full) is cut
 * off again, so that a segment always ends at a record's end. No fsync: the log survives every
 * process, not a power cut. */
#include "node/logfile.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct segment {
    uint64_t start, end;
};

struct logfile {
    int dir, fd; /* fd -1: no segment is open */
    uint64_t head, tail;
    struct segment now;         /* the open one */
    VEC(struct segment) middle; /* closed ones that may be removed some day, oldest first */
    uint64_t lost;
    int lost_errno;
};

struct logfile *logfile_create(const char *dir, uint64_t head, uint64_t tail, struct err *err)
{
    if (file_mkdirs(dir, 0755, err) != 0)
        return NULL;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err_sys(err, "%s", dir);
        return NULL;
    }
    struct logfile *log = mem_new(sizeof *log);
    *log = (struct logfile){ .dir = fd, .fd = -1, .head = head, .tail = tail };
    return log;
}

void logfile_destroy(struct logfile *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        close(log->fd);
    close(log->dir);
    vec_fini(&log->middle);
    free(log);
}

static bool open_segment(struct logfile *log)
{
    char name[SEGMENT_NAME];
    segment_name(name, log->now.end);
    log->now.start = log->now.end;
    log->fd = openat(log->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    return log->fd >= 0;
}

/* Middle segments that the tail no longer reaches go. */
static void trim(struct logfile *log)
{
    size_t gone = 0;
    while (gone < log->middle.n && log->now.end - log->middle.at[gone].end >= log->tail) {
        char name[SEGMENT_NAME];
        (void)unlinkat(log->dir, segment_name(name, log->middle.at[gone].start), 0);
        gone++;
    }
    while (gone-- > 0)
        vec_remove(&log->middle, 0);
}

static void close_segment(struct logfile *log)
{
    close(log->fd);
    log->fd = -1;
    if (log->head + log->tail == 0)
        return;
    if (log->now.start >= log->head)
        vec_push(&log->middle, log->now);
    trim(log);
}

static void lose(struct logfile *log, size_t len)
{
    log->lost_errno = errno;
    log->lost += len;
}

struct piece {
    struct record record;
    const void *bytes;
    size_t len;
};
#define PIECES_MAX 2

/* All pieces or none. */
static bool append(struct logfile *log, const struct piece *pieces, size_t n)
{
    unsigned char heads[PIECES_MAX][RECORD_HEAD];
    struct iovec parts[2 * PIECES_MAX];
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        struct record whole = pieces[i].record;
        whole.len = (uint32_t)pieces[i].len;
        record_put(heads[i], &whole);
        parts[2 * i] = (struct iovec){ .iov_base = heads[i], .iov_len = RECORD_HEAD };
        parts[2 * i + 1] = (struct iovec){ .iov_base = (void *)(uintptr_t)pieces[i].bytes,
                                           .iov_len = pieces[i].len };
        total += RECORD_HEAD + pieces[i].len;
    }
    if (log->fd >= 0 && log->now.end - log->now.start + total > SEGMENT_MAX)
        close_segment(log);
    if (log->fd < 0 && !open_segment(log))
        return false;
    ssize_t done;
    do
        done = writev(log->fd, parts, (int)(2 * n));
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)total) {
        log->now.end += total;
        return true;
    }
    int why = done < 0 ? errno : ENOSPC;
    off_t good = (off_t)(log->now.end - log->now.start);
    if (done > 0 && (ftruncate(log->fd, good) != 0 || lseek(log->fd, good, SEEK_SET) != good))
        close_segment(log); /* a torn record at the end: readers stop there, go on with the next */
    errno = why;
    return false;
}

static struct piece piece_by_muster(const char *text, size_t len)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t time_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
    return (struct piece){ .record = { .stream = RECORD_MUSTER, .time_us = time_us },
                           .bytes = text,
                           .len = len };
}

#define LOSS_MAX 200

static struct piece describe_loss(const struct logfile *log, char text[LOSS_MAX])
{
    int n = snprintf(text, LOSS_MAX, "%" PRIu64 " bytes of output are lost: %s\n", log->lost,
                     strerror(log->lost_errno));
    return piece_by_muster(text, (size_t)n);
}

/* What was lost is said together with the next record that fits: on a disk that is nearly full the
 * confessions alone would fit, and take the last room. */
static void add(struct logfile *log, const struct piece *piece)
{
    struct piece pieces[PIECES_MAX] = { { .len = 0 }, *piece };
    char text[LOSS_MAX];
    if (log->lost == 0) {
        if (!append(log, piece, 1))
            lose(log, piece->len);
        return;
    }
    pieces[0] = describe_loss(log, text);
    if (append(log, pieces, PIECES_MAX))
        log->lost = 0;
    else
        lose(log, piece->len);
}

void logfile_add(struct logfile *log, const struct record *record, const void *bytes, size_t len)
{
    if (len > RECORD_MAX)
        BUG("a log record of %zu bytes", len);
    add(log, &(struct piece){ .record = *record, .bytes = bytes, .len = len });
}

void logfile_say(struct logfile *log, const char *text)
{
    char line[1024];
    int n = snprintf(line, sizeof line - 1, "%s", text);
    size_t len = n < (int)sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[len++] = '\n';
    struct piece piece = piece_by_muster(line, len);
    add(log, &piece);
}

/* Where not even a line fits, a hole of that size: an empty segment behind it needs no room. */
void logfile_finish(struct logfile *log)
{
    char text[LOSS_MAX];
    if (log->lost == 0)
        return;
    const struct piece said = describe_loss(log, text);
    if (!append(log, &said, 1)) {
        if (log->fd >= 0)
            close_segment(log);
        log->now.end += log->lost;
        (void)open_segment(log);
    }
    log->lost = 0;
}

uint64_t logfile_end(const struct logfile *log)
{
    return log->now.end;
}

uint64_t logfile_lost(const struct logfile *log)
{
    return log->lost;
}
