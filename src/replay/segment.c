/* Frames and folders of a recording. What is read is taken as from a stranger: lengths are bounded,
 * checksums looked at before a byte is used. */
#include "replay/segment.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NUMBER_DIGITS 6
#define FILE_MOST     ((size_t)4 << 30)
#define BODY_HEAD     9u /* kind, number */

/* ---- writing ---- */

void segment_begin(struct buf *out)
{
    char format[4];
    little_endian_put(format, SEGMENT_FORMAT, sizeof format);
    buf_add(out, SEGMENT_MAGIC, sizeof SEGMENT_MAGIC - 1);
    buf_add(out, format, sizeof format);
}

size_t frame_begin(struct buf *out, enum frame_kind kind, uint64_t number)
{
    unsigned char head[FRAME_HEAD + BODY_HEAD] = { 0 };
    size_t mark = out->len;
    head[FRAME_HEAD] = (unsigned char)kind;
    little_endian_put(head + FRAME_HEAD + 1, number, 8);
    buf_add(out, head, sizeof head);
    return mark;
}

void frame_done(struct buf *out, size_t mark)
{
    if (out->overflow)
        return;
    char *at = out->data + mark;
    size_t len = out->len - mark - FRAME_HEAD;
    little_endian_put(at, len, 4);
    little_endian_put(at + 4, hash_crc32(at + FRAME_HEAD, len), 4);
}

/* ---- reading ---- */

int segment_open(struct segment_reader *r, const char *path, struct err *err)
{
    *r = (struct segment_reader){ .at = SEGMENT_HEAD };
    if (file_read(path, FILE_MOST, &r->data, &r->len, err))
        return -1;
    r->path = mem_strdup(path);
    bool ours =
        r->len >= SEGMENT_HEAD && memcmp(r->data, SEGMENT_MAGIC, sizeof SEGMENT_MAGIC - 1) == 0;
    uint32_t format = ours ? (uint32_t)little_endian_get(r->data + 8, 4) : 0;
    if (!ours && r->len < SEGMENT_HEAD)
        err_set(err, ERR_INPUT,
                "%s: cut at byte %zu: a recording begins with %u bytes; no input is complete", path,
                r->len, SEGMENT_HEAD);
    else if (!ours)
        err_set(err, ERR_INPUT, "%s: byte 0: this is no recording", path);
    else if (format != SEGMENT_FORMAT && format != SEGMENT_CLEAR)
        err_set(err, ERR_CANNOT, "%s: byte 8: recorded in format %u, this program reads format %u",
                path, format, SEGMENT_FORMAT);
    if (ours && (format == SEGMENT_FORMAT || format == SEGMENT_CLEAR))
        return 0;
    if (ours)
        err_hint(err, "use the muster that recorded it");
    segment_close(r);
    return -1;
}

void segment_close(struct segment_reader *r)
{
    free(r->path);
    free(r->data);
    *r = (struct segment_reader){ .len = 0 };
}

static int broken(const struct segment_reader *r, struct err *err, const char *what)
{
    if (r->last)
        return err_set(err, ERR_INPUT, "%s: byte %zu: %s; the last complete input is %llu", r->path,
                       r->at, what, (unsigned long long)r->last);
    return err_set(err, ERR_INPUT, "%s: byte %zu: %s; no input is complete", r->path, r->at, what);
}

int segment_next(struct segment_reader *r, struct frame *frame, struct err *err)
{
    char what[120];
    size_t left = r->len - r->at;
    if (left == 0)
        return 0;
    if (left < FRAME_HEAD)
        return broken(r, err, "it is cut");
    const unsigned char *at = (const unsigned char *)r->data + r->at;
    size_t len = (size_t)little_endian_get(at, 4);
    if (len < BODY_HEAD || len > FRAME_MOST) {
        snprintf(what, sizeof what, "it is damaged (an entry of %zu bytes)", len);
        return broken(r, err, what);
    }
    if (left - FRAME_HEAD < len) {
        snprintf(what, sizeof what, "it is cut (%zu of %zu bytes of an entry)", left - FRAME_HEAD,
                 len);
        return broken(r, err, what);
    }
    if (hash_crc32(at + FRAME_HEAD, len) != little_endian_get(at + 4, 4))
        return broken(r, err, "it is damaged (wrong checksum)");
    *frame = (struct frame){ .kind = (enum frame_kind)at[FRAME_HEAD],
                             .number = little_endian_get(at + FRAME_HEAD + 1, 8),
                             .body = at + FRAME_HEAD + BODY_HEAD,
                             .len = len - BODY_HEAD,
                             .at = r->at };
    r->at += FRAME_HEAD + len;
    return 1;
}

/* ---- folders ---- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int segments_list(const char *dir, uint64_t **numbers, size_t *n, struct err *err)
{
    VEC(uint64_t) all = { 0 };
    uint64_t number;
    struct dirent *entry;
    DIR *folder = opendir(dir);
    if (!folder)
        return err_sys(err, "%s", dir);
    while ((entry = readdir(folder)))
        if (strlen(entry->d_name) >= NUMBER_DIGITS &&
            scan_u64(entry->d_name, 1, UINT64_MAX, &number))
            vec_push(&all, number);
    closedir(folder);
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_number);
    *numbers = all.at;
    *n = all.n;
    return 0;
}

bool segment_is_one(const char *path, uint64_t *number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strlen(name) >= NUMBER_DIGITS && scan_u64(name, 1, UINT64_MAX, number);
}

char *segment_dir(const char *dir, uint64_t number)
{
    return mem_printf("%s/%0*llu", dir, NUMBER_DIGITS, (unsigned long long)number);
}

char *segment_inputs(const char *dir, uint64_t number)
{
    return mem_printf("%s/%0*llu/inputs", dir, NUMBER_DIGITS, (unsigned long long)number);
}

char *segment_records(const char *dir, uint64_t number)
{
    return mem_printf("%s/%0*llu/records.db", dir, NUMBER_DIGITS, (unsigned long long)number);
}

uint64_t segment_bytes(const char *dir, uint64_t number)
{
    struct stat st;
    uint64_t sum = 0;
    AUTO_FREE char *inputs = segment_inputs(dir, number);
    AUTO_FREE char *records = segment_records(dir, number);
    if (stat(inputs, &st) == 0)
        sum += (uint64_t)st.st_size;
    if (stat(records, &st) == 0)
        sum += (uint64_t)st.st_size;
    return sum;
}
