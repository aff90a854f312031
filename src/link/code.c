/* Pieces of code that agents ask for. An agent that asks for more than its connection has room for
 * waits; one that asks for more than it may at once is broken. */
#include "link/code.h"

#include "base/mem.h"
#include "wire/message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_MAX (256u << 10)

/* A descriptor, and the size; -1: there is none of this hash for that job. */
static int open_code(const struct code_route *way, const char *hash, uint64_t *size)
{
    struct stat st;
    const struct link_code *code = way->code;
    const char *slash = way->own ? strrchr(way->own, '/') : NULL;
    int fd = -1;
    if (slash && strcmp(slash + 1, hash) == 0)
        fd = open(way->own, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    else if (code->open)
        fd = code->open(code->arg, way->of, hash);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (uint64_t)st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* From the page cache: it was written or read a moment ago, or is read by many. */
static void send_piece(const struct code_route *way, const struct code_request *want)
{
    struct wire_piece piece = { .offset = want->offset };
    AUTO_CLOSE int fd = open_code(way, want->hash, &piece.size);
    AUTO_FREE char *bytes = mem_new(PIECE_MAX);
    size_t len = want->len < PIECE_MAX ? want->len : PIECE_MAX;
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, len, (off_t)want->offset);
    if (n < 0)
        piece.size = 0;
    piece.at = bytes;
    piece.len = n > 0 ? (size_t)n : 0;
    wire_put(conn_out(way->conn), 0, &piece);
}

void code_go_on(struct code_requests *wants, const struct code_route *way)
{
    while (wants->kept.n > 0 && conn_has_room(way->conn)) {
        struct code_request want = wants->kept.at[0];
        vec_remove(&wants->kept, 0);
        send_piece(way, &want);
        conn_flush(way->conn);
    }
}

int code_ask(struct code_requests *wants, const struct code_route *way,
             const struct wire_frame *frame, struct arena *scratch)
{
    struct wire_code_request want;
    struct code_request *kept;
    if (wire_get(frame, scratch, &want) < 0 || want.offset > INT64_MAX ||
        strlen(want.hash) != sizeof kept->hash - 1 || wants->kept.n == WANTS_MAX)
        return -1;
    kept = vec_add(&wants->kept);
    kept->offset = want.offset;
    kept->len = want.len;
    memcpy(kept->hash, want.hash, sizeof kept->hash);
    code_go_on(wants, way);
    return 0;
}
