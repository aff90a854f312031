/* Writes a tar member by member; what is read is hashed on its way, so each file is read once. The
 * manifest with the hashes is the last member. */
#include "ship/backup_tar.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/tar.h"
#include "ship/backup_file.h"
#include "text/json.h"

#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define PIECE        ((size_t)256 << 10)
#define MANIFEST_MAX TEXT_MAX_BYTES

void backup_tar_begin(struct backup_tar *t, struct byte_sink to, struct arena *a,
                      struct text_node *root)
{
    *t = (struct backup_tar){ .to = to, .arena = a, .root = root };
    t->members = text_list(a, root, "members");
}

static int put(struct backup_tar *t, const void *data, size_t n, struct err *err)
{
    t->bytes += n;
    return t->to.write(t->to.arg, data, n, err);
}

static int put_header(struct backup_tar *t, const char *name, uint64_t size, struct err *err)
{
    unsigned char block[TAR_BLOCK];
    struct tar_member m = { .size = size, .time_s = (uint64_t)time(NULL) };
    snprintf(m.name, sizeof m.name, "%s", name);
    tar_header(&m, block);
    return put(t, block, sizeof block, err);
}

int backup_tar_add(struct backup_tar *t, const char *name, int from, struct err *err)
{
    static const char zeros[TAR_BLOCK];
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[SHA256_TEXT];
    crypto_hash_sha256_state sum;
    struct stat st;
    if (fstat(from, &st) != 0)
        return err_sys(err, "%s", name);
    uint64_t size = (uint64_t)st.st_size;
    AUTO_FREE char *piece = mem_resize(NULL, PIECE);
    crypto_hash_sha256_init(&sum);
    if (put_header(t, name, size, err) < 0)
        return -1;
    for (uint64_t at = 0; at < size;) {
        ssize_t n = pread(from, piece, size - at < PIECE ? (size_t)(size - at) : PIECE, (off_t)at);
        if (n <= 0)
            return err_sys(err, "reading %s", name);
        crypto_hash_sha256_update(&sum, (const unsigned char *)piece, (size_t)n);
        if (put(t, piece, (size_t)n, err) < 0)
            return -1;
        at += (uint64_t)n;
    }
    crypto_hash_sha256_final(&sum, hash);
    struct text_node *one = text_map(t->arena, t->members, NULL);
    text_str(t->arena, one, "name", name);
    text_int(t->arena, one, "size", (int64_t)size);
    text_str(t->arena, one, "sha256", sodium_bin2hex(text, sizeof text, hash, sizeof hash));
    return put(t, zeros, tar_padding(size), err);
}

int backup_tar_end(struct backup_tar *t, char sha256[SHA256_TEXT], struct err *err)
{
    static const char zeros[TAR_BLOCK + TAR_END];
    unsigned char hash[crypto_hash_sha256_BYTES];
    AUTO_BUF struct buf text = BUF_INIT(MANIFEST_MAX);
    json_print(t->root, 2, &text);
    buf_putc(&text, '\n');
    if (text.overflow)
        return err_set(err, ERR_TOO_LARGE, "the list of files is longer than a manifest");
    crypto_hash_sha256(hash, (const unsigned char *)text.data, text.len);
    sodium_bin2hex(sha256, SHA256_TEXT, hash, sizeof hash);
    return put_header(t, BACKUP_MANIFEST, text.len, err) < 0 ||
                   put(t, text.data, text.len, err) < 0 ||
                   put(t, zeros, tar_padding(text.len) + TAR_END, err) < 0
               ? -1
               : 0;
}
