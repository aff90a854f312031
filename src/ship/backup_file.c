/* One pass over the file. Only names that a backup has are taken, so nothing of it is written
 * anywhere else, and nothing counts before its hash was compared. */
#include "ship/backup_file.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/tar.h"
#include "base/vec.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>

#define PIECE     ((size_t)256 << 10)
#define HASH_TEXT (2 * crypto_hash_sha256_BYTES + 1)

struct backup_entry {
    struct tar_member m;
    char hash[HASH_TEXT];
};
struct reading {
    const char *path, *dir;
    enum backup_kind kind;
    struct byte_source from;
    struct arena *arena;
    VEC(struct backup_entry) all;
    struct buf manifest;
    struct err *err;
};

static const struct {
    const char *key, *data, *word;
} kinds[] = {
    [BACKUP_WHOLE] = { .key = "muster_backup", .data = BACKUP_RECORDS, .word = "backup" },
    [BACKUP_SEGMENT] = { .key = "muster_segment", .data = BACKUP_PAGES, .word = "segment" },
};

const char *backup_kind_key(enum backup_kind kind)
{
    return kinds[kind].key;
}

const char *backup_kind_data(enum backup_kind kind)
{
    return kinds[kind].data;
}

static int take(struct reading *r, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = r->from.read(r->from.arg, (char *)to + done, n - done, r->err);
        if (got < 0)
            return -1;
        if (got == 0) {
            err_set(r->err, ERR_INPUT, "%s ends early: it is only a part of a %s", r->path,
                    kinds[r->kind].word);
            return err_hint(r->err, "take another one; nothing was changed");
        }
        done += (size_t)got;
    }
    return 0;
}

static bool is_archive(const char *name)
{
    size_t n = sizeof BACKUP_ARCHIVES - 1;
    return strncmp(name, BACKUP_ARCHIVES, n) == 0 &&
           strspn(name + n, "0123456789abcdef") == HASH_TEXT - 1 &&
           strlen(name + n) == HASH_TEXT - 1;
}

static int open_member(const struct reading *r, const char *name)
{
    AUTO_FREE char *path = file_join(r->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? fd : err_sys(r->err, "%s", path);
}

/* To fd (-1: nowhere) or into the manifest. */
static int read_data(struct reading *r, struct backup_entry *f, int fd, struct buf *text)
{
    AUTO_FREE unsigned char *piece = mem_resize(NULL, PIECE);
    unsigned char hash[crypto_hash_sha256_BYTES], padding[TAR_BLOCK];
    crypto_hash_sha256_state sum;
    crypto_hash_sha256_init(&sum);
    for (uint64_t left = f->m.size; left > 0;) {
        size_t n = left < PIECE ? (size_t)left : PIECE;
        if (take(r, piece, n) < 0)
            return -1;
        crypto_hash_sha256_update(&sum, piece, n);
        if (fd >= 0 && file_write_all(fd, piece, n) != 0)
            return err_sys(r->err, "%s/%s", r->dir, f->m.name);
        if (text)
            buf_add(text, piece, n);
        left -= n;
    }
    crypto_hash_sha256_final(&sum, hash);
    sodium_bin2hex(f->hash, sizeof f->hash, hash, sizeof hash);
    if (fd >= 0 && fsync(fd) != 0)
        return err_sys(r->err, "%s/%s", r->dir, f->m.name);
    return take(r, padding, tar_padding(f->m.size));
}

/* 1: there is more; 0: that was the end. */
static int read_member(struct reading *r)
{
    unsigned char block[TAR_BLOCK];
    struct backup_entry f = { .hash = "" };
    if (take(r, block, sizeof block) < 0)
        return -1;
    int rc = tar_read_header(block, &f.m, r->err);
    if (rc <= 0)
        return rc < 0 ? err_in(r->err, "%s is no %s", r->path, kinds[r->kind].word) : 0;
    const char *word = kinds[r->kind].word;
    bool manifest = strcmp(f.m.name, BACKUP_MANIFEST) == 0;
    if (!manifest && strcmp(f.m.name, kinds[r->kind].data) != 0 && !is_archive(f.m.name)) {
        err_set(r->err, ERR_INPUT, "%s is no %s: it holds \"%.80s\"", r->path, word, f.m.name);
        return strcmp(f.m.name, BACKUP_PAGES) == 0
                   ? err_hint(r->err, "it is a part of a continuous backup: name its directory")
                   : -1;
    }
    if (manifest && f.m.size > TEXT_MAX_BYTES)
        return err_set(r->err, ERR_INPUT, "%s is no %s: its manifest is too long", r->path, word);
    AUTO_CLOSE int fd = -1;
    if (!manifest && r->dir && (fd = open_member(r, f.m.name)) < 0)
        return -1;
    if (read_data(r, &f, fd, manifest ? &r->manifest : NULL) < 0)
        return -1;
    if (!manifest)
        vec_push(&r->all, f);
    return 1;
}

static int compare(const struct reading *r, const struct text_node *manifest)
{
    const struct text_node *members = text_get(manifest, "members");
    const struct text_node *one = members ? members->first : NULL;
    bool has_data = false;
    for (size_t i = 0; i < r->all.n; i++, one = one->next) {
        const struct backup_entry *f = &r->all.at[i];
        if (!one || strcmp(text_word(one, "name"), f->m.name) != 0 ||
            text_number(one, "size") != f->m.size ||
            strcmp(text_word(one, "sha256"), f->hash) != 0) {
            err_set(r->err, ERR_INPUT, "%s is damaged: %s in it is not what was written", r->path,
                    f->m.name);
            return err_hint(r->err, "take another one; nothing was changed");
        }
        has_data |= strcmp(f->m.name, kinds[r->kind].data) == 0;
    }
    if (!one && has_data)
        return 0;
    return err_set(r->err, ERR_INPUT, "%s is damaged: files that its manifest has are missing",
                   r->path);
}

static struct text_node *read_manifest(struct reading *r)
{
    struct report report;
    report_init(&report, r->arena);
    struct text_node *root =
        r->manifest.len ? json_parse(r->arena, buf_str(&r->manifest), r->manifest.len, 0, &report)
                        : NULL;
    uint64_t kind = text_number(root, kinds[r->kind].key);
    if (kind == 0) {
        err_set(r->err, ERR_INPUT, "%s is no %s: there is no manifest in it", r->path,
                kinds[r->kind].word);
        return NULL;
    }
    if (kind > BACKUP_KIND) {
        err_set(r->err, ERR_CANNOT, "%s was written by muster %s, which is newer", r->path,
                text_word(root, "muster"));
        err_hint(r->err, "use that version");
        return NULL;
    }
    return compare(r, root) == 0 ? root : NULL;
}

static void put_found(const struct reading *r, struct text_node *root)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[HASH_TEXT];
    uint64_t bytes = 0;
    for (size_t i = 0; i < r->all.n; i++)
        bytes += r->all.at[i].m.size;
    crypto_hash_sha256(hash, (const unsigned char *)r->manifest.data, r->manifest.len);
    text_int(r->arena, root, "bytes", (int64_t)bytes);
    text_int(r->arena, root, "archives", (int64_t)r->all.n - 1);
    text_str(r->arena, root, "sha256", sodium_bin2hex(text, sizeof text, hash, sizeof hash));
}

const struct text_node *backup_stream_read(struct arena *a, const struct backup_stream *stream,
                                           struct err *err)
{
    struct text_node *root = NULL;
    struct reading r = { .path = stream->name,
                         .dir = stream->dir,
                         .kind = stream->kind,
                         .from = stream->from,
                         .arena = a,
                         .manifest = BUF_INIT(TEXT_MAX_BYTES),
                         .err = err };
    int rc = 1;
    while (rc > 0)
        rc = read_member(&r);
    if (rc == 0)
        root = read_manifest(&r);
    if (root)
        put_found(&r, root);
    vec_fini(&r.all);
    buf_fini(&r.manifest);
    return root;
}

struct open_file {
    const char *path;
    int fd;
};

static ssize_t read_open(void *arg, void *to, size_t n, struct err *err)
{
    const struct open_file *f = arg;
    ssize_t got;
    do
        got = read(f->fd, to, n);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : err_sys(err, "%s", f->path);
}

const struct text_node *backup_file_read(struct arena *a, const char *path, const char *dir,
                                         struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct open_file file = { .path = path, .fd = fd };
    if (fd < 0) {
        err_sys(err, "%s", path);
        return NULL;
    }
    const struct backup_stream stream = {
        .kind = BACKUP_WHOLE, .name = path, .dir = dir, .from = { .read = read_open, .arg = &file }
    };
    return backup_stream_read(a, &stream, err);
}
