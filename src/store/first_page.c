/* The bytes of a first page by SQLite's file format: the head of the file, then a leaf of the table
 * of tables with one record. Numbers are big-endian. */
#include "store/first_page.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD         100u
#define LEAF_HEAD    8u
#define SQL_MOST     4096u
#define VARINT_PAIR  2u
#define VERSION      3040000u /* of SQLite, as the last that wrote it */
#define TYPE_OF_TEXT 13u

/* ---- the log ---- */

static bool read_at(void *arg, void *to, size_t n, uint64_t at)
{
    const int *fd = arg;
    return pread(*fd, to, n, (off_t)at) == (ssize_t)n;
}

static int take_frames(int from, int to, const struct wal_report *look)
{
    size_t size = WAL_FRAME_HEADER + look->page_size;
    AUTO_FREE unsigned char *frame = mem_resize(NULL, size);
    for (uint64_t i = 0; i < look->whole.frames; i++) {
        if (!read_at(&from, frame, size, WAL_HEADER + i * size))
            return -1;
        uint64_t page = (uint64_t)frame[0] << 24 | (uint64_t)frame[1] << 16 |
                        (uint64_t)frame[2] << 8 | frame[3];
        if (pwrite(to, frame + WAL_FRAME_HEADER, look->page_size,
                   (off_t)((page - 1) * look->page_size)) != (ssize_t)look->page_size)
            return -1;
    }
    return 0;
}

int first_page_take_wal(const char *path, uint32_t *page_size, struct err *err)
{
    struct wal_report look;
    AUTO_FREE char *wal = mem_printf("%s-wal", path);
    AUTO_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(err, "%s", path);
    AUTO_CLOSE int from = open(wal, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? 0 : err_sys(err, "%s", wal);
    wal_look((struct wal_bytes){ read_at, &from }, NULL, &look);
    if (look.there)
        *page_size = look.page_size;
    if (take_frames(from, to, &look) < 0)
        return err_sys(err, "%s", path);
    return unlink(wal) == 0 ? 0 : err_sys(err, "%s", wal);
}

/* ---- the page ---- */

static void put_number(unsigned char *at, uint32_t value, size_t bytes)
{
    for (size_t i = bytes; i-- > 0; value >>= 8)
        at[i] = (unsigned char)value;
}

/* Always two bytes, which may say any number below 2^14. */
static void put_varint(unsigned char *at, size_t value)
{
    at[0] = (unsigned char)(0x80 | value >> 7);
    at[1] = (unsigned char)(value & 0x7f);
}

/* Its length, its number, then the record: type, name, table, root, statement. */
static size_t put_cell(unsigned char *at, uint32_t root, const char *table, const char *sql)
{
    const char *const texts[] = { "table", table, table, NULL, sql };
    unsigned char *head = at + 2 * VARINT_PAIR, *body = head + VARINT_PAIR * (1 + ARRAY_LEN(texts));
    put_varint(head, (size_t)(body - head));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        unsigned char *type = head + VARINT_PAIR * (i + 1);
        if (texts[i]) {
            put_varint(type, TYPE_OF_TEXT + 2 * strlen(texts[i]));
            for (const char *c = texts[i]; *c; c++)
                *body++ = (unsigned char)*c;
        } else {
            put_varint(type, 4); /* a number of four bytes */
            put_number(body, root, 4);
            body += 4;
        }
    }
    put_varint(at, (size_t)(body - head));
    put_varint(at + VARINT_PAIR, 1);
    return (size_t)(body - at);
}

static void put_head(unsigned char *at, uint32_t page_size, uint32_t pages)
{
    memcpy(at, "SQLite format 3", 16);
    put_number(at + 16, page_size == 65536 ? 1 : page_size, 2);
    at[18] = at[19] = 1; /* no log */
    at[21] = 64;
    at[22] = at[23] = 32;
    put_number(at + 24, 1, 4); /* changes, the same as at 92 */
    put_number(at + 28, pages, 4);
    put_number(at + 40, 1, 4);
    put_number(at + 44, 4, 4);
    put_number(at + 56, 1, 4); /* UTF-8 */
    put_number(at + 92, 1, 4);
    put_number(at + 96, VERSION, 4);
}

int first_page_write(const char *path, uint32_t page_size, uint32_t root, const char *table,
                     const char *sql, struct err *err)
{
    struct stat st;
    unsigned char cell[SQL_MOST];
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", path);
    size_t room = page_size - HEAD - LEAF_HEAD - 2, most = page_size - 35;
    size_t len = 2 * strlen(table) + strlen(sql) + 64;
    if (len > sizeof cell || len > room || len > most)
        return err_set(err, ERR_TOO_LARGE, "%s: table %s does not fit a page", path, table);
    AUTO_FREE unsigned char *page = mem_resize(NULL, page_size);
    memset(page, 0, page_size);
    put_head(page, page_size, (uint32_t)((uint64_t)st.st_size / page_size));
    len = put_cell(cell, root, table, sql);
    memcpy(page + page_size - len, cell, len);
    page[HEAD] = 13; /* a leaf of a table */
    put_number(page + HEAD + 3, 1, 2);
    put_number(page + HEAD + 5, (uint32_t)(page_size - len), 2);
    put_number(page + HEAD + LEAF_HEAD, (uint32_t)(page_size - len), 2);
    if (pwrite(fd, page, page_size, 0) != (ssize_t)page_size)
        return err_sys(err, "%s", path);
    return 0;
}
