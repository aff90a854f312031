/* Three places follow each other: the pipe that bytes come from, the file of those that came before
 * the layer's turn, and a piece that was read and is not yet written. When it is the layer's turn
 * the file is emptied first; from then on each piece goes through memory alone, and no more is read
 * than the other end takes. */
#include "node/fetch/stream.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE      (256u << 10)
#define ROUNDS     16u /* pieces in a call */
#define PIPE_BYTES (1 << 20)

struct stream {
    struct image_blob blob;
    const char *dir;
    int in, to, kept; /* -1: none */
    char *kept_path;
    bool leads, only_hashed;
    uint64_t came;
    uint64_t in_file, from_file; /* bytes that went in and out of it */
    size_t n, at;                /* of the piece */
    struct sha256_ctx sum;
    unsigned char piece[PIECE];
};

struct stream *stream_create(const struct image_blob *blob, int in, const char *dir)
{
    struct stream *s = mem_new(sizeof *s);
    s->blob = *blob;
    s->dir = dir;
    s->in = in;
    s->to = s->kept = -1;
    sha256_init(&s->sum);
    (void)fcntl(in, F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(in, F_SETFL, O_NONBLOCK);
    return s;
}

static void close_at(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void drop_kept(struct stream *s)
{
    if (s->kept_path)
        (void)unlink(s->kept_path);
    free(TAKE(s->kept_path));
    close_at(&s->kept);
}

void stream_destroy(struct stream *s)
{
    if (!s)
        return;
    close_at(&s->in);
    drop_kept(s);
    free(s);
}

void stream_lead(struct stream *s, int to)
{
    s->leads = true;
    s->to = to;
    s->only_hashed = to < 0;
    if (s->only_hashed) {
        s->n = s->at = 0;
        s->from_file = s->in_file;
        drop_kept(s);
    }
}

static bool has_kept(const struct stream *s)
{
    return s->from_file < s->in_file;
}

/* Something waits to be written. */
static bool is_full(const struct stream *s)
{
    return s->at < s->n || (s->leads && has_kept(s));
}

int stream_reads(const struct stream *s)
{
    return is_full(s) ? -1 : s->in;
}

int stream_writes(const struct stream *s)
{
    return s->leads && is_full(s) ? s->to : -1;
}

uint64_t stream_bytes(const struct stream *s)
{
    return s->came;
}

bool stream_ended(const struct stream *s)
{
    return s->in < 0;
}

bool stream_passed(const struct stream *s)
{
    return stream_ended(s) && s->leads && !is_full(s);
}

/* ---- moving ---- */

/* Its name lets others see that its bytes are on the disk. The same layer may stand in an image
 * more than once. */
static int open_kept(struct stream *s)
{
    AUTO_FREE char *path = mem_printf("%s/kept.XXXXXX", s->dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        s->kept_path = TAKE(path);
    return fd;
}

static int keep(struct stream *s, struct err *err)
{
    if (s->kept < 0)
        s->kept = open_kept(s);
    if (s->kept < 0 || file_write_all(s->kept, s->piece, s->n) != 0)
        return err_sys(err, "keeping a layer of the image");
    s->in_file += s->n;
    s->n = 0;
    return 0;
}

/* 1: some; 0: none now. */
static int take(struct stream *s, struct err *err)
{
    ssize_t n = s->in < 0 ? 0 : read(s->in, s->piece, sizeof s->piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return err_sys(err, "reading a layer of the image");
    if (n == 0) {
        close_at(&s->in);
        return 0;
    }
    sha256_update(&s->sum, (size_t)n, s->piece);
    s->came += (uint64_t)n;
    s->n = s->only_hashed ? 0 : (size_t)n;
    s->at = 0;
    if (s->came > s->blob.size)
        return err_set(err, ERR_UNAVAILABLE,
                       "the image came damaged: a layer has more bytes than "
                       "its manifest says");
    return s->leads ? 1 : keep(s, err) == 0 ? 1 : -1;
}

/* The next piece of the file. */
static int take_kept(struct stream *s, struct err *err)
{
    ssize_t n = pread(s->kept, s->piece, sizeof s->piece, (off_t)s->from_file);
    if (n <= 0)
        return err_sys(err, "reading a layer that was kept");
    s->from_file += (uint64_t)n;
    s->n = (size_t)n;
    s->at = 0;
    if (!has_kept(s))
        drop_kept(s);
    return 1;
}

/* 1: some; 0: it takes none now, or is gone, which whoever reads there explains. */
static int give(struct stream *s, struct err *err)
{
    ssize_t n = write(s->to, s->piece + s->at, s->n - s->at);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EPIPE))
        return 0;
    if (n < 0)
        return err_sys(err, "handing on a layer of the image");
    s->at += (size_t)n;
    return 1;
}

int stream_move(struct stream *s, uint64_t *moved, struct err *err)
{
    uint64_t before = s->came + s->from_file;
    int rc = 1;
    for (unsigned i = 0; rc > 0 && i < ROUNDS; i++) {
        if (s->at < s->n)
            rc = give(s, err);
        else if (s->leads && has_kept(s))
            rc = take_kept(s, err);
        else
            rc = take(s, err);
    }
    *moved = s->came + s->from_file - before;
    return rc < 0 ? -1 : 0;
}

int stream_check(const struct stream *s, struct err *err)
{
    unsigned char raw[IMAGE_DIGEST_LEN / 2];
    char hex[IMAGE_DIGEST_LEN + 1];
    struct sha256_ctx sum = s->sum;
    sha256_digest(&sum, sizeof raw, raw);
    for (size_t i = 0; i < sizeof raw; i++)
        snprintf(hex + 2 * i, 3, "%02x", raw[i]);
    if (s->came == s->blob.size && strcmp(hex, s->blob.digest) == 0)
        return 0;
    return err_set(err, ERR_UNAVAILABLE,
                   "the image came damaged: a layer is not the one of its digest");
}
