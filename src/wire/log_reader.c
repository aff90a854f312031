/* Segment after segment: the one that holds the offset is found by the names in the directory; a
 * hole between two segments is a gap. Only whole records are handed out, a half-written one is
 * waited for. */
#include "wire/log_reader.h"

#include "base/buf.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>

#define READ_AHEAD ((size_t)256 << 10)

struct log_reader {
    char *dir;
    uint64_t offset;  /* logical, of the next record */
    uint64_t segment; /* start of the open one */
    int fd;           /* -1: none */
    struct buf ahead; /* bytes read; those from `pos` on are at logical `offset` */
    size_t pos;
};

struct log_reader *log_reader_create(const char *dir, uint64_t offset)
{
    struct log_reader *r = mem_new(sizeof *r);
    r->dir = mem_strdup(dir);
    r->offset = offset;
    r->fd = -1;
    buf_init(&r->ahead, 2 * READ_AHEAD);
    return r;
}

static void close_segment(struct log_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    buf_fini(&r->ahead);
    buf_init(&r->ahead, 2 * READ_AHEAD);
    r->pos = 0;
}

void log_reader_destroy(struct log_reader *r)
{
    if (!r)
        return;
    close_segment(r);
    free(r->dir);
    free(r);
}

void log_reader_seek(struct log_reader *r, uint64_t offset)
{
    close_segment(r);
    r->offset = offset;
}

void segments_find(const char *dir, uint64_t offset, uint64_t *at, uint64_t *next)
{
    *at = *next = UINT64_MAX;
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        uint64_t start;
        if (segment_parse(e->d_name, &start) < 0)
            continue;
        if (start <= offset && (*at == UINT64_MAX || start > *at))
            *at = start;
        if (start > offset && start < *next)
            *next = start;
    }
    closedir(d);
}

static void open_segment(struct log_reader *r, uint64_t start)
{
    char name[SEGMENT_NAME];
    AUTO_FREE char *path = mem_printf("%s/%s", r->dir, segment_name(name, start));
    close_segment(r);
    r->segment = start;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads on behind what is there; what was handed out goes first. */
static void fill(struct log_reader *r)
{
    char piece[64 << 10];
    buf_drop(&r->ahead, r->pos);
    r->pos = 0;
    while (r->fd >= 0 && r->ahead.len < READ_AHEAD) {
        off_t at = (off_t)(r->offset - r->segment + r->ahead.len);
        ssize_t n = pread(r->fd, piece, sizeof piece, at);
        if (n <= 0)
            return;
        buf_add(&r->ahead, piece, (size_t)n);
    }
}

/* 1: a whole record is in front; 0: not (yet); -1: no record there. */
static int front(struct log_reader *r, struct record *record)
{
    size_t len = r->ahead.len - r->pos;
    if (len == 0)
        return 0;
    int got = record_get((const unsigned char *)r->ahead.data + r->pos, len, record);
    return got == 1 && len < RECORD_HEAD + record->len ? 0 : got;
}

/* The open segment has no whole record more: 1 when a later one (or a first one) was opened, *gap >
 * 0 over a hole. torn: what follows in this segment is no record (a crash of the machine); the next
 * segment is whole again. */
static int advance(struct log_reader *r, bool torn, uint64_t *gap)
{
    uint64_t at, next;
    segments_find(r->dir, r->offset, &at, &next);
    *gap = 0;
    if (!torn && at != UINT64_MAX && (r->fd < 0 || at != r->segment)) {
        open_segment(r, at);
        return r->fd >= 0;
    }
    if (next == UINT64_MAX)
        return 0;
    *gap = next - r->offset;
    r->offset = next;
    open_segment(r, next);
    return r->fd >= 0;
}

int log_reader_next(struct log_reader *r, struct log_item *item)
{
    uint64_t gap = 0;
    int got;
    *item = (struct log_item){ 0 };
    for (bool fresh = false; (got = front(r, &item->record)) <= 0;) {
        if (got == 0 && !fresh) {
            size_t had = r->ahead.len - r->pos;
            fill(r);
            fresh = r->ahead.len == had;
            continue;
        }
        if (!advance(r, got < 0, &gap))
            return 0;
        fresh = false;
        if (gap) {
            *item = (struct log_item){ .gap = gap, .end = r->offset };
            return 1;
        }
    }
    item->data = (const unsigned char *)r->ahead.data + r->pos + RECORD_HEAD;
    r->pos += RECORD_HEAD + item->record.len;
    r->offset += RECORD_HEAD + item->record.len;
    item->end = r->offset;
    return 1;
}
