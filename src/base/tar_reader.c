/* Reads headers and what extends them. Two bounds hold whatever the stream says: of its bytes (the
 * caller's) and of what is kept of one entry. Members that are not needed to make the tree again
 * (extended attributes among them) are passed over. */
#include "base/tar_reader.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK     512u
#define BUFFER    (64u << 10)
#define EXTRA_MAX (64u << 10) /* a pax header or a long name */

struct header_override { /* of the next entry, by what stands before it */
    char *path, *link;   /* NULL: its own */
    bool has_size, has_mtime, has_uid, has_gid;
    uint64_t size, mtime, uid, gid;
};
struct tar_reader {
    struct tar_source from;
    struct err *err;               /* of the call */
    uint64_t bytes, left, padding; /* left: of the entry's content */
    unsigned char buffer[BUFFER];
    size_t at, len;
    bool ended;
    struct header_override said;
};

/* ---- the stream ---- */

/* 1: there is more; 0: the end. */
static int fill(struct tar_reader *r)
{
    ssize_t n;
    do
        n = read(r->from.fd, r->buffer, sizeof r->buffer);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(r->err, "the archive");
    r->at = 0;
    r->ended = n == 0;
    r->len = (size_t)n;
    r->bytes += (uint64_t)n;
    if (r->from.saw && n > 0)
        r->from.saw(r->from.arg, r->buffer, (size_t)n);
    if (r->bytes > r->from.most)
        return err_set(r->err, ERR_TOO_LARGE, "unpacked the archive has more than %llu bytes",
                       (unsigned long long)r->from.most);
    return n > 0;
}

static int ends_early(struct tar_reader *r)
{
    return err_set(r->err, ERR_INPUT, "this is no gzipped tar, or only a part of one");
}

/* n bytes, written to fd and put at `to` where these are given. */
static int take(struct tar_reader *r, uint64_t n, int fd, char *to)
{
    while (n > 0) {
        if (r->at == r->len) {
            int more = fill(r);
            if (more <= 0)
                return more < 0 ? -1 : ends_early(r);
        }
        size_t here = r->len - r->at;
        here = n < here ? (size_t)n : here;
        const unsigned char *from = r->buffer + r->at;
        if (fd >= 0 && file_write_all(fd, from, here) != 0)
            return err_sys(r->err, "unpacking");
        if (to) {
            memcpy(to, from, here);
            to += here;
        }
        r->at += here;
        n -= here;
    }
    return 0;
}

static uint64_t padding(uint64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* ---- numbers and names ---- */

/* Octal with spaces around, or GNU's base 256. */
static bool number(const char *field, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    if ((unsigned char)field[0] == 0x80) {
        for (size_t i = 1; i < n; i++) {
            if (value >> 48)
                return false;
            value = value << 8 | (unsigned char)field[i];
        }
        *out = value;
        return true;
    }
    size_t i = 0;
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *out = value;
    return i == n || field[i] == ' ' || field[i] == '\0';
}

static bool sum_is_right(const char *header)
{
    uint64_t said;
    uint64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    return number(header + 148, 8, &said) && said == sum;
}

static bool is_zero(const char *header)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (header[i])
            return false;
    return true;
}

const char *tar_shown(const char *name, char out[TAR_SHOWN + 1])
{
    size_t n = 0;
    for (; name[n] && n < TAR_SHOWN; n++)
        out[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
    out[n] = '\0';
    return out;
}

static int refuse(struct tar_reader *r, const char *name, const char *why)
{
    char text[TAR_SHOWN + 1];
    return err_set(r->err, ERR_INPUT, "in the archive \"%s\" %s", tar_shown(name, text), why);
}

/* ---- pax ---- */

static bool is_key(const char *key, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(key, word, n) == 0;
}

/* Digits, and of a time what stands behind its point. */
static bool pax_number(const char *value, bool time, uint64_t *out)
{
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 18 || (value[digits] && !(time && value[digits] == '.')))
        return false;
    *out = strtoull(value, NULL, 10);
    return true;
}

static int pax_value(struct tar_reader *r, const char *key, size_t n, const char *value)
{
    struct header_override *said = &r->said;
    uint64_t found = 0;
    if (is_key(key, n, "size")) {
        said->has_size = pax_number(value, false, &said->size);
        return said->has_size ? 0 : ends_early(r);
    }
    /* What is no plain number (a time before 1970) is left as the header has it. */
    if (is_key(key, n, "mtime") && pax_number(value, true, &found)) {
        said->has_mtime = true;
        said->mtime = found;
    } else if (is_key(key, n, "uid") && pax_number(value, false, &found)) {
        said->has_uid = true;
        said->uid = found;
    } else if (is_key(key, n, "gid") && pax_number(value, false, &found)) {
        said->has_gid = true;
        said->gid = found;
    }
    return 0;
}

static int pax_record(struct tar_reader *r, const char *key, const char *end)
{
    const char *equals = memchr(key, '=', (size_t)(end - key));
    if (!equals)
        return ends_early(r);
    size_t n = (size_t)(equals - key);
    bool path = is_key(key, n, "path"), link = is_key(key, n, "linkpath");
    AUTO_FREE char *value = mem_strndup(equals + 1, (size_t)(end - equals - 1));
    if (n > 10 && memcmp(key, "GNU.sparse", 10) == 0)
        return err_set(r->err, ERR_INPUT, "the archive has sparse files");
    if (!path && !link)
        return pax_value(r, key, n, value);
    char **to = path ? &r->said.path : &r->said.link;
    free(*to);
    *to = TAKE(value);
    return 0;
}

/* "LENGTH KEY=VALUE\n", the length of it all. */
static int pax_records(struct tar_reader *r, const char *text, size_t n)
{
    while (n > 0) {
        size_t len = 0, i = 0;
        for (; i < n && i < 6 && text[i] >= '0' && text[i] <= '9'; i++)
            len = 10 * len + (size_t)(text[i] - '0');
        if (i == 0 || i == n || text[i] != ' ' || len <= i + 1 || len > n || text[len - 1] != '\n')
            return ends_early(r);
        if (pax_record(r, text + i + 1, text + len - 1) != 0)
            return -1;
        text += len;
        n -= len;
    }
    return 0;
}

/* What says more of the next entry. */
static int extra(struct tar_reader *r, char type, uint64_t size)
{
    if (size > EXTRA_MAX)
        return err_set(r->err, ERR_INPUT, "a header of the archive is too long");
    AUTO_FREE char *text = mem_new((size_t)size + 1);
    if (take(r, size, -1, text) != 0 || take(r, padding(size), -1, NULL) != 0)
        return -1;
    if (type == 'x')
        return pax_records(r, text, (size_t)size);
    if (type == 'g')
        return 0;
    char **to = type == 'L' ? &r->said.path : &r->said.link;
    free(*to);
    *to = TAKE(text);
    return 0;
}

static void forget_extra(struct tar_reader *r)
{
    free(r->said.path);
    free(r->said.link);
    r->said = (struct header_override){ .path = NULL };
}

/* ---- entries ---- */

static uint32_t id_of(const char *field, bool has, uint64_t said)
{
    uint64_t value = 0;
    char text[8];
    memcpy(text, field, sizeof text);
    if (has)
        value = said;
    else if (!number(text, sizeof text, &value))
        value = 0;
    return value < UINT32_MAX ? (uint32_t)value : 0;
}

static int take_names(struct tar_reader *r, const char *header, struct tar_entry *e)
{
    char name[256 + 1], link[100 + 1];
    bool posix = memcmp(header + 257, "ustar\0", 6) == 0;
    snprintf(link, sizeof link, "%.100s", header + 157);
    if (posix && header[345])
        snprintf(name, sizeof name, "%.155s/%.100s", header + 345, header);
    else
        snprintf(name, sizeof name, "%.100s", header);
    const char *path = r->said.path ? r->said.path : name;
    const char *target = r->said.link ? r->said.link : link;
    if (strlen(path) > TAR_PATH)
        return refuse(r, path, "has too long a name");
    if (strlen(target) > TAR_PATH)
        return refuse(r, path, "is a link to too long a name");
    memcpy(e->path, path, strlen(path) + 1);
    memcpy(e->link, target, strlen(target) + 1);
    return 0;
}

static int read_header(struct tar_reader *r, const char *header, struct tar_entry *e)
{
    char mode_text[8], time_text[12];
    uint64_t mode, size, mtime = 0;
    memcpy(mode_text, header + 100, sizeof mode_text);
    memcpy(time_text, header + 136, sizeof time_text);
    if (take_names(r, header, e) != 0)
        return -1;
    if (!number(mode_text, sizeof mode_text, &mode) || !number(header + 124, 12, &size))
        return ends_early(r);
    (void)number(time_text, sizeof time_text, &mtime);
    size_t n = strlen(e->path);
    e->type = header[156] == '\0' || header[156] == '7' ? '0' : header[156];
    if (e->type == '0' && n > 0 && e->path[n - 1] == '/')
        e->type = '5';
    e->mode = (unsigned)mode & 07777;
    e->uid = id_of(header + 108, r->said.has_uid, r->said.uid);
    e->gid = id_of(header + 116, r->said.has_gid, r->said.gid);
    mtime = r->said.has_mtime ? r->said.mtime : mtime;
    e->mtime_s = mtime < (uint64_t)1 << 40 ? (int64_t)mtime : 0;
    e->size = e->type != '0' ? 0 : r->said.has_size ? r->said.size : size;
    return 0;
}

/* 1: *e is one; 0: there is none; 2: the next header says more. */
static int next_header(struct tar_reader *r, struct tar_entry *e)
{
    char header[BLOCK] = "";
    uint64_t size = 0;
    if (take(r, BLOCK, -1, header) != 0)
        return -1;
    if (is_zero(header))
        return 0;
    if (!sum_is_right(header) || !number(header + 124, 12, &size))
        return ends_early(r);
    if (strchr("xgLK", header[156]) && header[156])
        return extra(r, header[156], size) != 0 ? -1 : 2;
    int rc = read_header(r, header, e);
    forget_extra(r);
    return rc != 0 ? -1 : 1;
}

static int skip_rest(struct tar_reader *r)
{
    uint64_t n = r->left + r->padding;
    r->left = r->padding = 0;
    return take(r, n, -1, NULL);
}

int tar_reader_next(struct tar_reader *r, struct tar_entry *entry, struct err *err)
{
    struct tar_entry e = { .type = '0' };
    int rc;
    r->err = err;
    if (skip_rest(r) != 0)
        return -1;
    do
        rc = next_header(r, &e);
    while (rc == 2);
    if (rc == 1) {
        r->left = e.size;
        r->padding = padding(e.size);
        *entry = e;
        return 1;
    }
    while (rc == 0 && (rc = fill(r)) > 0) /* what follows the end is read, for the packer's sum */
        rc = 0;
    return rc;
}

int tar_reader_take(struct tar_reader *r, int fd, struct err *err)
{
    uint64_t n = r->left;
    r->err = err;
    r->left = 0;
    return take(r, n, fd, NULL);
}

uint64_t tar_reader_bytes(const struct tar_reader *r)
{
    return r->bytes;
}

bool tar_reader_ended(const struct tar_reader *r)
{
    return r->ended;
}

struct tar_reader *tar_reader_create(const struct tar_source *from)
{
    struct tar_reader *r = mem_new(sizeof *r);
    r->from = *from;
    return r;
}

void tar_reader_destroy(struct tar_reader *r)
{
    if (!r)
        return;
    forget_extra(r);
    free(r);
}
