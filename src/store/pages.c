/* After each commit its frames are read from the write-ahead log (end_mark.c calls), which the
 * kernel has in memory: a checkpoint may come at once after it, and the log be begun anew. The
 * pages lie in a file in memory, so that another process can read them without a copy.
 *
 * The form of the file: the pages; the number of each (4 bytes); then the trailer: page size,
 * pages, pages of the database after the last commit (4 bytes each), and a magic word. All numbers
 * have the lowest byte first. */
#include "store/pages.h"

#include "base/clock.h"
#include "base/little_endian.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/db.h"
#include "store/end_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC        0x5047534du /* "MSGP" */
#define TRAILER      16
#define PAGE_SIZE_AT 16 /* in the header of a database */

struct store_pages {
    struct store *store;
    int fd;
    struct map *slots; /* number of a page -> its place in the file, and one */
    VEC(uint32_t) numbers;
    uint32_t db_pages;
    uint64_t since_ms;
    bool lost;
    unsigned char *frame;
};

static uint32_t big(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int open_file(struct err *err)
{
    int fd = memfd_create("muster-pages", MFD_CLOEXEC);
    return fd >= 0 ? fd : err_sys(err, "memory for pages of the records");
}

static void drop_file(struct store_pages *p)
{
    if (p->fd >= 0)
        close(mem_give_fd(&p->fd));
    vec_clear(&p->numbers);
}

static void forget(struct store_pages *p)
{
    map_destroy(p->slots);
    p->slots = map_create();
    vec_clear(&p->numbers);
    p->since_ms = 0;
    p->lost = false;
}

struct store_pages *store_pages_begin(struct store *st, struct err *err)
{
    if (st->memory || !st->ballast || !st->page_size) {
        err_set(err, ERR_CANNOT, "records in memory have no pages");
        return NULL;
    }
    int fd = open_file(err);
    if (fd < 0)
        return NULL;
    struct store_pages *p = mem_new(sizeof *p);
    *p = (struct store_pages){ .store = st, .fd = fd };
    p->frame = mem_new(WAL_FRAME_HEADER + st->page_size);
    forget(p);
    st->pages = p;
    return p;
}

void store_pages_end(struct store_pages *p)
{
    if (!p)
        return;
    p->store->pages = NULL;
    drop_file(p);
    map_destroy(p->slots);
    vec_fini(&p->numbers);
    free(p->frame);
    free(p);
}

struct store_pages_state store_pages_state(const struct store_pages *p)
{
    return (struct store_pages_state){ .bytes = p->numbers.n * p->store->page_size,
                                       .since_ms = p->since_ms,
                                       .lost = p->lost };
}

void store_pages_reset(struct store_pages *p)
{
    struct err err;
    forget(p);
    drop_file(p);
    p->fd = open_file(&err);
    p->lost = p->fd < 0;
}

/* ---- following commits ---- */

static bool keep_page(struct store_pages *p, uint32_t number, const unsigned char *page)
{
    const size_t size = p->store->page_size;
    uint64_t slot = (uintptr_t)map_get(p->slots, number);
    if (!slot && (p->numbers.n + 1) * size > STORE_PAGES_MAX)
        return false;
    if (!slot) {
        vec_push(&p->numbers, number);
        slot = p->numbers.n;
        map_set(p->slots, number, (void *)(uintptr_t)slot); // NOLINT: a number
    }
    return pwrite(p->fd, page, size, (off_t)((slot - 1) * size)) == (ssize_t)size;
}

static bool keep_frame(struct store_pages *p, uint32_t frame)
{
    struct store *st = p->store;
    size_t size = WAL_FRAME_HEADER + st->page_size;
    if (!end_read_file(st, SQLITE_FCNTL_JOURNAL_POINTER, p->frame, (int)size,
                       (sqlite3_int64)(WAL_HEADER + frame * size)))
        return false;
    uint32_t after = big(p->frame + 4); /* not 0: it is the last of its commit */
    p->db_pages = after ? after : p->db_pages;
    return keep_page(p, big(p->frame), p->frame + WAL_FRAME_HEADER);
}

void pages_note(struct store_pages *p, const struct wal_place *before, const struct wal_place *now)
{
    bool goes_on = memcmp(before->salt, now->salt, WAL_SALT) == 0;
    if (!p->since_ms)
        p->since_ms = clock_mono_ms();
    for (uint32_t frame = goes_on ? before->frames : 0; !p->lost && frame < now->frames; frame++)
        p->lost = !keep_frame(p, frame);
    if (p->lost)
        drop_file(p);
}

void pages_lose(struct store_pages *p)
{
    p->lost = true;
}

/* ---- closing ---- */

static bool write_index(const struct store_pages *p)
{
    const size_t n = p->numbers.n, size = 4 * n + TRAILER;
    AUTO_FREE unsigned char *index = mem_new(size);
    for (size_t i = 0; i < n; i++)
        little_endian_put(index + 4 * i, p->numbers.at[i], 4);
    const uint64_t last[] = { p->store->page_size, n, p->db_pages, MAGIC };
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        little_endian_put(index + 4 * (n + i), last[i], 4);
    return pwrite(p->fd, index, size, (off_t)(n * p->store->page_size)) == (ssize_t)size;
}

int store_pages_take(struct store_pages *p, struct err *err)
{
    if (p->lost || !p->numbers.n)
        return err_set(err, ERR_CANNOT, "there are no pages of the records");
    int fresh = open_file(err);
    if (fresh < 0)
        return -1;
    if (!write_index(p)) {
        close(fresh);
        p->lost = true;
        return err_set(err, ERR_SYSTEM, "memory for pages of the records");
    }
    int taken = p->fd;
    p->fd = fresh;
    forget(p);
    return taken;
}

/* ---- writing them over a copy ---- */

struct page_writer {
    int pages, db;
    const char *name;
    uint32_t page_size, n, db_pages;
    unsigned char *index;
};

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static int refuse(const struct page_writer *a, const char *why, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s is damaged: %s", a->name, why);
}

/* SQLite's file format: two bytes, the highest first; 1 stands for 65536. */
static uint32_t page_size_of(const unsigned char at[2])
{
    uint32_t size = (uint32_t)at[0] << 8 | at[1];
    return size == 1 ? 65536 : size;
}

static int read_index(struct page_writer *a, struct err *err)
{
    struct stat st;
    unsigned char last[TRAILER], size[2];
    uint64_t len = fstat(a->pages, &st) == 0 ? (uint64_t)st.st_size : 0;
    if (len < TRAILER || !read_at(a->pages, last, sizeof last, len - TRAILER) ||
        little_endian_get(last + 12, 4) != MAGIC)
        return refuse(a, "it does not end as pages do", err);
    a->page_size = (uint32_t)little_endian_get(last, 4);
    a->n = (uint32_t)little_endian_get(last + 4, 4);
    a->db_pages = (uint32_t)little_endian_get(last + 8, 4);
    if (len != (uint64_t)a->n * (a->page_size + 4) + TRAILER || !a->db_pages)
        return refuse(a, "its size is not that of its pages", err);
    if (!read_at(a->db, size, sizeof size, PAGE_SIZE_AT) || page_size_of(size) != a->page_size)
        return refuse(a, "its pages are of another size than the database's", err);
    a->index = mem_new(4 * (size_t)a->n + 1);
    return read_at(a->pages, a->index, 4 * (size_t)a->n, (uint64_t)a->n * a->page_size)
               ? 0
               : refuse(a, "its index cannot be read", err);
}

static int write_pages(const struct page_writer *a, const char *database, struct err *err)
{
    AUTO_FREE unsigned char *page = mem_new(a->page_size);
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t number = little_endian_get(a->index + 4 * (size_t)i, 4);
        if (!number || !read_at(a->pages, page, a->page_size, (uint64_t)i * a->page_size))
            return refuse(a, "a page cannot be read", err);
        if (pwrite(a->db, page, a->page_size, (off_t)((number - 1) * a->page_size)) !=
            (ssize_t)a->page_size)
            return err_sys(err, "%s", database);
    }
    return ftruncate(a->db, (off_t)a->db_pages * a->page_size) == 0 ? 0
                                                                    : err_sys(err, "%s", database);
}

int store_pages_apply(const char *pages, const char *database, struct err *err)
{
    AUTO_CLOSE int from = open(pages, O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int to = open(database, O_RDWR | O_CLOEXEC);
    if (from < 0 || to < 0)
        return err_sys(err, "%s", from < 0 ? pages : database);
    struct page_writer a = { .pages = from, .db = to, .name = pages };
    int rc = read_index(&a, err);
    rc = rc == 0 ? write_pages(&a, database, err) : rc;
    free(a.index);
    return rc;
}
