/* Pieces of code that agents ask for. An agent that asks for more than its connection has room for
 * waits; one that asks for more than it may at once is broken. */
#include "link/hub.h"

#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_MAX (256u << 10)

void link_serve_code(struct link_hub *hub, struct link_code code)
{
    hub->code = code;
}

/* A descriptor, and the size; -1: there is none of this hash for that job. */
static int open_code(const struct link_hub *hub, const struct agent *a, const char *hash,
                     uint64_t *size)
{
    struct stat st;
    int fd = hub->code.open ? hub->code.open(hub->code.arg, a->generation, hash) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (uint64_t)st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* From the page cache: it was written or read a moment ago, or is read by many. */
static void send_piece(struct agent *a, const struct kept_want *want)
{
    struct wire_piece piece = { .offset = want->offset };
    AUTO_CLOSE int fd = open_code(a->hub, a, want->hash, &piece.size);
    AUTO_FREE char *bytes = mem_new(PIECE_MAX);
    size_t len = want->len < PIECE_MAX ? want->len : PIECE_MAX;
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, len, (off_t)want->offset);
    if (n < 0)
        piece.size = 0;
    piece.at = bytes;
    piece.len = n > 0 ? (size_t)n : 0;
    wire_put(conn_out(a->conn), 0, &piece);
}

void code_go_on(struct agent *a)
{
    while (a->wants.n > 0 && conn_has_room(a->conn)) {
        struct kept_want want = a->wants.at[0];
        vec_remove(&a->wants, 0);
        send_piece(a, &want);
        conn_flush(a->conn);
    }
}

int code_from_agent(struct agent *a, const struct wire_frame *frame)
{
    struct wire_want want;
    struct kept_want *kept;
    if (!a->hello || wire_get(frame, a->hub->scratch, &want) < 0 || want.offset > INT64_MAX ||
        strlen(want.hash) != sizeof kept->hash - 1 || a->wants.n == WANTS_MAX)
        return -1;
    kept = vec_add(&a->wants);
    kept->offset = want.offset;
    kept->len = want.len;
    memcpy(kept->hash, want.hash, sizeof kept->hash);
    code_go_on(a);
    return 0;
}
