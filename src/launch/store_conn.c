/* One client of the store. Bytes are read into a buffer that all connections share and requests
 * are done where they lie; only what is left of an unfinished one is copied to the connection,
 * whose buffer then grows with the bytes that come, never with the length that was announced, and
 * is freed when it is empty. Answers are collected and sent once per turn. A client that does not
 * take its answers is not read from any more (OUT_PAUSE), and one whose single answer passes
 * OUT_MAX, or what the store may hold in all, is closed. Nothing is closed in the middle of a
 * request, of its own or of another connection: store_settle does it at the end of the turn. */
#include "launch/store_conn.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define READS_PER_TURN 4
#define IN_STEP        4096u
#define IN_KEEP        65536u /* larger buffers shrink when what they held is done */
#define OUT_KEEP       4096u
#define OUT_PAUSE      (1u << 20)
#define OUT_MAX        (256u << 20)

static void on_ready(uv_poll_t *poll, int status, int events);

size_t store_room(const struct store_core *core)
{
    size_t used = store_table_bytes(core->table) + core->buffers;
    return used < core->limits.total_bytes ? core->limits.total_bytes - used : 0;
}

struct store_conn *store_conn_of(struct store_await *await)
{
    return (struct store_conn *)(void *)((char *)await - offsetof(struct store_conn, await));
}

static void make_due(struct store_conn *conn)
{
    if (!conn->is_due)
        TAILQ_INSERT_TAIL(&conn->core->due, conn, in_due);
    conn->is_due = true;
}

void store_conn_doom(struct store_conn *conn, const char *why)
{
    if (!conn->doomed)
        log_debug("store.close", "fd=%d why=\"%s\"", conn->fd, why);
    conn->doomed = true;
    make_due(conn);
}

void store_conn_greeted(struct store_conn *conn)
{
    conn->greeted = true;
    TAILQ_REMOVE(&conn->core->fresh, conn, in_fresh);
}

/* ---- out ---- */

static size_t unsent(const struct store_conn *conn)
{
    return conn->out.len - conn->sent;
}

static void free_out(struct store_conn *conn)
{
    conn->core->buffers -= conn->out.cap;
    buf_fini(&conn->out);
}

void store_conn_put(struct store_conn *conn, const void *bytes, size_t len)
{
    size_t cap = conn->out.cap;
    if (conn->doomed)
        return;
    if (len > OUT_MAX - conn->out.len || len > store_room(conn->core)) {
        store_conn_doom(conn, "more answers than may be kept");
        return;
    }
    buf_add(&conn->out, bytes, len);
    conn->core->buffers += conn->out.cap - cap;
    make_due(conn);
}

static void send_out(struct store_conn *conn)
{
    while (unsent(conn) > 0) {
        ssize_t n = send(conn->fd, conn->out.data + conn->sent, unsent(conn), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            store_conn_doom(conn, strerror(errno));
        if (n < 0)
            return;
        conn->sent += (size_t)n;
    }
    conn->sent = 0;
    buf_clear(&conn->out);
    if (conn->out.cap > OUT_KEEP)
        free_out(conn);
}

/* ---- in ---- */

/* Does the whole requests at the front; returns how many bytes they were. */
static size_t do_requests(struct store_conn *conn, const char *bytes, size_t len)
{
    size_t done = 0;
    while (!conn->doomed && done < len) {
        conn->stalled = unsent(conn) >= OUT_PAUSE;
        if (conn->stalled)
            break;
        if (!conn->greeted && bytes[done] != 0) {
            store_conn_doom(conn, "no magic");
            break;
        }
        enum store_scan_result got =
            store_scan(&conn->scan, &conn->core->limits, bytes + done, len - done);
        if (got == STORE_BAD)
            store_conn_doom(conn, "a request that is none, or over a limit");
        if (got != STORE_WHOLE)
            break;
        conn->core->request(conn, bytes + done);
        done += conn->scan.at;
        conn->scan = (struct store_scan){ 0 };
    }
    return done;
}

static void set_in(struct store_conn *conn, size_t cap)
{
    if (cap == 0) {
        free(conn->in);
        conn->in = NULL;
    } else {
        conn->in = mem_resize(conn->in, cap);
    }
    conn->core->buffers = conn->core->buffers - conn->in_cap + cap;
    conn->in_cap = cap;
}

/* What do_requests left in the shared buffer. */
static void keep(struct store_conn *conn, const char *bytes, size_t len)
{
    if (conn->doomed || len == 0)
        return;
    if (len > store_room(conn->core)) {
        store_conn_doom(conn, "the store is full");
        return;
    }
    set_in(conn, len);
    memcpy(conn->in, bytes, len);
    conn->in_len = len;
}

static void do_kept(struct store_conn *conn)
{
    size_t done = do_requests(conn, conn->in, conn->in_len);
    conn->in_len -= done;
    if (done > 0 && conn->in_len > 0)
        memmove(conn->in, conn->in + done, conn->in_len);
    if (conn->in_len == 0 || (done > 0 && conn->in_cap > IN_KEEP))
        set_in(conn, conn->in_len);
}

/* Room for more of an unfinished request: what it needs, but at most twice what came already. */
static bool grow_in(struct store_conn *conn)
{
    size_t want = conn->scan.need > conn->in_len ? conn->scan.need : conn->in_len + 1;
    size_t most = conn->in_len < IN_STEP ? 2 * IN_STEP : 2 * conn->in_len;
    if (want < conn->in_len + IN_STEP)
        want = conn->in_len + IN_STEP;
    if (want > most)
        want = most;
    if (want <= conn->in_cap)
        return true;
    if (want - conn->in_cap > store_room(conn->core)) {
        log_warn("store.full", "bytes=%zu limit=%zu", want, conn->core->limits.total_bytes);
        store_conn_doom(conn, "the store is full");
        return false;
    }
    set_in(conn, want);
    return true;
}

static void take(struct store_conn *conn, const char *bytes, size_t len)
{
    size_t done = do_requests(conn, bytes, len);
    keep(conn, bytes + done, len - done);
}

/* false: nothing more to read now. */
static bool read_once(struct store_conn *conn)
{
    bool shared = conn->in_len == 0;
    char *at = conn->core->scratch;
    size_t room = sizeof conn->core->scratch;
    if (!shared) {
        if (!grow_in(conn))
            return false;
        at = conn->in + conn->in_len;
        room = conn->in_cap - conn->in_len;
    }
    ssize_t n = recv(conn->fd, at, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (n <= 0) {
        store_conn_doom(conn, n == 0 ? "end" : strerror(errno));
        return false;
    }
    if (shared) {
        take(conn, at, (size_t)n);
    } else {
        conn->in_len += (size_t)n;
        do_kept(conn);
    }
    return (size_t)n == room;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct store_conn *conn = poll->data;
    make_due(conn);
    if (status < 0)
        store_conn_doom(conn, uv_strerror(status));
    if (events & UV_WRITABLE)
        send_out(conn);
    if (events & UV_READABLE)
        for (int i = 0; i < READS_PER_TURN && !conn->doomed && !conn->stalled; i++)
            if (!read_once(conn))
                break;
    store_settle(conn->core);
}

/* ---- life ---- */

static void watch(struct store_conn *conn)
{
    int want = (conn->stalled ? 0 : UV_READABLE) | (unsent(conn) > 0 ? UV_WRITABLE : 0);
    if (want != conn->watched)
        uv_poll_start(&conn->poll, want, on_ready);
    conn->watched = want;
}

void store_settle(struct store_core *core)
{
    struct store_conn *conn;
    while ((conn = TAILQ_FIRST(&core->due)) != NULL) {
        TAILQ_REMOVE(&core->due, conn, in_due);
        conn->is_due = false;
        send_out(conn);
        /* Stopped for the sake of answers that have just gone out: goes on here. */
        while (conn->stalled && unsent(conn) < OUT_PAUSE && !conn->doomed) {
            do_kept(conn);
            send_out(conn);
        }
        if (conn->doomed)
            store_conn_close(conn);
        else
            watch(conn);
    }
}

void store_conn_open(struct store_core *core, int fd, struct store_span bytes)
{
    struct store_conn *conn = mem_new(sizeof *conn);
    conn->core = core;
    conn->fd = fd;
    conn->since_ms = uv_now(core->loop);
    buf_init(&conn->out, OUT_MAX);
    if (uv_poll_init(core->loop, &conn->poll, fd) != 0)
        BUG("a socket cannot be polled");
    conn->poll.data = conn;
    TAILQ_INSERT_TAIL(&core->all, conn, in_all);
    TAILQ_INSERT_TAIL(&core->fresh, conn, in_fresh);
    core->n_conns++;
    core->handles++;
    make_due(conn);
    take(conn, bytes.at, bytes.len);
}

static void on_closed(uv_handle_t *handle)
{
    struct store_conn *conn = handle->data;
    struct store_core *core = conn->core;
    free(conn);
    core->handles--;
    core->gone(core);
}

void store_conn_close(struct store_conn *conn)
{
    struct store_core *core = conn->core;
    store_forget(core->table, &conn->await);
    TAILQ_REMOVE(&core->all, conn, in_all);
    if (!conn->greeted)
        TAILQ_REMOVE(&core->fresh, conn, in_fresh);
    if (conn->is_due)
        TAILQ_REMOVE(&core->due, conn, in_due);
    core->n_conns--;
    set_in(conn, 0);
    free_out(conn);
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    close(conn->fd);
}
