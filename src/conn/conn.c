/* Stages of one connection. Everything that ends it goes through lose(), from the loop: a failure
 * inside a call of the owner is noted in why and told when the loop turns. What a socket gives is
 * handed on from where it was read to; only what is left of it (part of a frame, input that the
 * owner does not take now) is kept, so a quiet connection holds no memory. A closed one lives until
 * libuv has let go of its handles, so events may close the connection they are called for. */
#include "conn/conn.h"

#include "base/err.h"
#include "base/mem.h"
#include "conn/deadlines.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#define READ_SIZE      16384u
#define READS_PER_TURN 16
#define KEEP           65536u  /* larger buffers are given back when empty */
#define REST_MS        600000u /* of what is left to be sent, without any of it being taken */
#define CLOSE_MS       10000u  /* then, until the other end closes too */

enum stage { CONNECTING, AGREEING, UP, SENDING_REST, CLOSING, CLOSED };

struct conn {
    uv_loop_t *loop;
    uv_poll_t poll;
    uv_timer_t timer;
    int handles;
    struct transport *transport; /* NULL: no socket could be had */
    struct conn_terms terms;
    struct conn_events events;
    struct deadlines deadlines;
    unsigned ask_kind;
    enum stage stage;
    enum conn_reading reading;
    enum transport_state in_waits, out_waits; /* for what the next read and write wait */
    int watched;
    uint64_t soonest_ms; /* 1 inside the timer's call: libuv would call it again before all else */
    uint64_t wakes_at;   /* when the timer fires, maybe too early; UINT64_MAX: it does not */
    bool polls, crowded, more; /* more: input is there that the poll does not tell */
    struct buf in, out;
    const char *why; /* it is lost as soon as the loop turns */
};

/* ---- ending ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    if (--conn->handles > 0)
        return;
    buf_fini(&conn->in);
    buf_fini(&conn->out);
    free(conn);
}

static void close_handles(struct conn *conn)
{
    conn->stage = CLOSED;
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
    if (conn->polls)
        uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
}

void conn_close(struct conn *conn)
{
    if (!conn || conn->stage == CLOSED)
        return;
    close_handles(conn);
    if (conn->transport)
        conn->transport->calls->close(TAKE(conn->transport));
}

int conn_release(struct conn *conn)
{
    close_handles(conn);
    int fd = conn->transport->fd;
    free(TAKE(conn->transport));
    return fd;
}

static void lose(struct conn *conn, const char *why)
{
    if (conn->stage == CLOSED)
        return;
    conn_close(conn);
    if (conn->events.closed)
        conn->events.closed(conn->events.arg, conn, why);
}

/* ---- what to wait for ---- */

static void on_ready(uv_poll_t *, int status, int events);
static void on_timer(uv_timer_t *);

static int input_to_watch(const struct conn *conn)
{
    if (conn->stage >= SENDING_REST) /* to be thrown away */
        return UV_READABLE;
    if (conn->reading == CONN_READS)
        return conn->in_waits == TRANSPORT_WAIT_OUT ? UV_WRITABLE : UV_READABLE;
    return conn->reading == CONN_WATCHES ? UV_DISCONNECT : 0;
}

static int events_to_watch(const struct conn *conn)
{
    if (conn->stage == CONNECTING)
        return UV_WRITABLE;
    if (conn->stage == AGREEING)
        return conn->in_waits == TRANSPORT_WAIT_OUT ? UV_WRITABLE : UV_READABLE;
    int events = input_to_watch(conn);
    if (conn->out.len > 0)
        events |= conn->out_waits == TRANSPORT_WAIT_IN ? UV_READABLE : UV_WRITABLE;
    return events;
}

static void watch(struct conn *conn)
{
    int events = events_to_watch(conn);
    if (!conn->polls || conn->stage == CLOSED || events == conn->watched)
        return;
    if (events)
        uv_poll_start(&conn->poll, events, on_ready);
    else
        uv_poll_stop(&conn->poll);
    conn->watched = events;
}

static bool takes_input(const struct conn *conn)
{
    return conn->stage == UP && conn->reading == CONN_READS && !conn->why;
}

static bool has_work(const struct conn *conn)
{
    return conn->why || (conn->more && takes_input(conn)) || (conn->crowded && conn_has_room(conn));
}

/* A deadline that moved away is noticed when the timer fires, so that input costs no timer. */
static void set_timer(struct conn *conn)
{
    if (conn->stage == CLOSED)
        return;
    uint64_t now = uv_now(conn->loop);
    uint64_t next = has_work(conn) ? now : deadlines_next(&conn->deadlines);
    if (next == UINT64_MAX)
        uv_timer_stop(&conn->timer);
    else if (next < conn->wakes_at)
        uv_timer_start(&conn->timer, on_timer, next > now ? next - now : conn->soonest_ms, 0);
    else
        return;
    conn->wakes_at = next;
}

static void lose_later(struct conn *conn, const char *why)
{
    if (conn->why || conn->stage == CLOSED)
        return;
    conn->why = why;
    buf_clear(&conn->out);
    set_timer(conn);
}

/* ---- out ---- */

static void give_back(struct buf *buf)
{
    if (buf->len == 0 && buf->cap > KEEP)
        buf_fini(buf);
}

/* false: it is broken. */
static bool write_out(struct conn *conn)
{
    struct transport *t = conn->transport;
    size_t done = 0, n;
    conn->out_waits = TRANSPORT_READY;
    while (done < conn->out.len && conn->out_waits == TRANSPORT_READY) {
        conn->out_waits = t->calls->write(t, conn->out.data + done, conn->out.len - done, &n);
        done += n;
    }
    if (done > 0 && conn->stage == SENDING_REST)
        conn->deadlines.finish_at = uv_now(conn->loop) + REST_MS;
    if (done > 0)
        buf_drop(&conn->out, done);
    give_back(&conn->out);
    return conn->out_waits < TRANSPORT_END;
}

/* What was left is sent: says so, once. */
static bool say_end(struct conn *conn)
{
    struct transport *t = conn->transport;
    if (conn->stage != SENDING_REST || conn->out.len > 0)
        return true;
    enum transport_state state = t->calls->finish(t);
    conn->out_waits = state;
    if (state == TRANSPORT_READY) {
        conn->stage = CLOSING;
        conn->deadlines.finish_at = uv_now(conn->loop) + CLOSE_MS;
        set_timer(conn);
    }
    return state < TRANSPORT_END;
}

struct buf *conn_out(struct conn *conn)
{
    return &conn->out;
}

bool conn_has_room(const struct conn *conn)
{
    return conn->stage <= UP && conn->out.len < conn->terms.room;
}

void conn_flush(struct conn *conn)
{
    if (conn->stage == CLOSED || conn->why)
        return;
    if (conn->out.overflow)
        lose_later(conn, "it does not take what is sent");
    else if (conn->stage >= UP && conn->stage < CLOSING && (!write_out(conn) || !say_end(conn)))
        lose_later(conn, conn->transport->why);
    conn->crowded = conn->crowded || conn->out.len >= conn->terms.room;
    if (conn->crowded)
        set_timer(conn);
    watch(conn);
}

void conn_finish(struct conn *conn)
{
    if (conn->stage >= SENDING_REST)
        return;
    if (conn->stage < UP) {
        lose_later(conn, "it was closed before it was connected");
        return;
    }
    conn->stage = SENDING_REST;
    conn->deadlines.handshake_at = UINT64_MAX;
    conn->deadlines.ask_ms = 0;
    conn->deadlines.finish_at = uv_now(conn->loop) + REST_MS;
    set_timer(conn);
    conn_flush(conn);
}

/* ---- in ---- */

/* Bytes that were taken, 0 when more are needed, -1. */
static ssize_t take_one(struct conn *conn, char *at, size_t len)
{
    struct wire_frame frame;
    size_t used = 0;
    if (conn->events.bytes)
        return conn->events.bytes(conn->events.arg, conn, at, len);
    int got = wire_next_of(conn->terms.kinds, at, len, &frame, &used);
    if (got == 1 && conn->events.frame(conn->events.arg, conn, &frame) != 0)
        got = -1;
    return got < 0 ? -1 : (ssize_t)used;
}

/* How many were taken. The connection may be lost or closed afterwards. */
static size_t take(struct conn *conn, char *at, size_t len)
{
    size_t done = 0;
    while (takes_input(conn) && done < len) {
        ssize_t n = take_one(conn, at + done, len - done);
        if (n < 0)
            lose(conn, conn->terms.strange ? conn->terms.strange : "it is not understood");
        if (n <= 0)
            return done;
        done += (size_t)n;
    }
    return done;
}

static void take_kept(struct conn *conn)
{
    size_t done = take(conn, conn->in.data, conn->in.len);
    conn->more = conn->in.len > done && !takes_input(conn);
    buf_drop(&conn->in, done);
    give_back(&conn->in);
}

static void take_new(struct conn *conn, char *at, size_t len)
{
    if (conn->stage != UP)
        return; /* of no use any more */
    if (conn->in.len > 0) {
        buf_add(&conn->in, at, len);
        take_kept(conn);
        return;
    }
    size_t done = take(conn, at, len);
    conn->more = done < len && !takes_input(conn);
    buf_add(&conn->in, at + done, len - done);
}

/* Throws away what comes after conn_finish, and takes it before. */
static bool wants_input(const struct conn *conn)
{
    return takes_input(conn) || conn->stage == SENDING_REST || conn->stage == CLOSING;
}

static void read_in(struct conn *conn)
{
    char piece[READ_SIZE];
    enum transport_state state = TRANSPORT_READY;
    size_t n = 0;
    for (int i = 0; i < READS_PER_TURN && state == TRANSPORT_READY && wants_input(conn); i++) {
        state = conn->transport->calls->read(conn->transport, piece, sizeof piece, &n);
        if (n > 0) {
            conn->deadlines.heard_at = uv_now(conn->loop);
            take_new(conn, piece, n);
        }
    }
    if (conn->stage == CLOSED)
        return;
    if (state >= TRANSPORT_END) {
        lose(conn, state == TRANSPORT_END ? "the connection was closed" : conn->transport->why);
        return;
    }
    conn->in_waits = state;
    conn->more = conn->more || state == TRANSPORT_READY; /* a transport may have read ahead */
    set_timer(conn);
}

void conn_unread(struct conn *conn, const void *bytes, size_t len)
{
    buf_add(&conn->in, bytes, len);
    conn->more = conn->more || len > 0;
    set_timer(conn);
}

void conn_read(struct conn *conn, enum conn_reading reading)
{
    if (conn->reading == reading)
        return;
    conn->reading = reading;
    set_timer(conn);
    watch(conn);
}

/* ---- coming up ---- */

static void agree(struct conn *conn, bool tells)
{
    enum transport_state state = conn->transport->calls->start(conn->transport);
    conn->in_waits = state;
    if (state >= TRANSPORT_END) {
        lose_later(conn, conn->transport->why ? conn->transport->why : "the connection was closed");
        return;
    }
    if (state != TRANSPORT_READY)
        return;
    conn->stage = UP;
    if (tells && conn->events.up)
        conn->events.up(conn->events.arg, conn);
    conn_flush(conn);
}

static int socket_error(const struct conn *conn)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(conn->transport->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    return error;
}

static void come_up(struct conn *conn)
{
    int error = socket_error(conn);
    if (error != 0) {
        lose(conn, strerrordesc_np(error));
        return;
    }
    conn->stage = AGREEING;
    agree(conn, true);
}

/* ---- the loop ---- */

static void tell_room(struct conn *conn)
{
    if (!conn->crowded || !conn_has_room(conn) || conn->why)
        return;
    conn->crowded = false;
    if (conn->events.room)
        conn->events.room(conn->events.arg, conn);
}

static void exchange(struct conn *conn, int events)
{
    if (conn->stage < CLOSING && conn->out.len > 0 && !write_out(conn)) {
        lose(conn, conn->transport->why);
        return;
    }
    if (!say_end(conn)) {
        lose(conn, conn->transport->why);
        return;
    }
    if ((events & UV_DISCONNECT) && conn->reading == CONN_WATCHES) {
        lose(conn, "the connection was closed");
        return;
    }
    bool more = conn->more;
    conn->more = false;
    if (conn->in.len > 0 && more)
        take_kept(conn);
    if (wants_input(conn))
        read_in(conn);
    if (conn->stage != CLOSED)
        tell_room(conn);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct conn *conn = poll->data;
    int error = status < 0 && conn->stage > CONNECTING ? socket_error(conn) : 0;
    if (conn->why || error != 0) {
        lose(conn, conn->why ? conn->why : strerrordesc_np(error));
        return;
    }
    if (conn->stage == CONNECTING)
        come_up(conn);
    else if (conn->stage == AGREEING)
        agree(conn, true);
    else
        exchange(conn, events);
    watch(conn);
}

static void ask(struct conn *conn)
{
    size_t mark = wire_begin(&conn->out, (enum wire_kind)conn->ask_kind, 0);
    wire_end(&conn->out, mark);
    conn_flush(conn);
}

void conn_pass_time(struct conn *conn, uint64_t now)
{
    static const char *const whys[] = {
        [DEADLINE_HANDSHAKE] = "it has not said who it is",
        [DEADLINE_SILENCE] = "it fell silent",
        [DEADLINE_FINISH] = "it did not close",
    };
    enum deadline due;
    while (conn->stage != CLOSED && !conn->why &&
           (due = deadlines_due(&conn->deadlines, now)) != DEADLINE_NONE) {
        if (due == DEADLINE_ASK)
            ask(conn);
        else
            lose(conn, conn->stage < UP ? "no answer" : whys[due]);
    }
    set_timer(conn);
}

static void on_timer(uv_timer_t *timer)
{
    struct conn *conn = timer->data;
    conn->wakes_at = UINT64_MAX;
    if (conn->why) {
        lose(conn, conn->why);
        return;
    }
    conn->soonest_ms = 1;
    conn_pass_time(conn, uv_now(conn->loop));
    if (conn->stage == UP && has_work(conn))
        exchange(conn, 0);
    watch(conn);
    set_timer(conn);
    conn->soonest_ms = 0;
}

void conn_keep_alive(struct conn *conn, const struct conn_keep_alive_terms *how)
{
    conn->ask_kind = how->kind;
    deadlines_keep_alive(&conn->deadlines, uv_now(conn->loop), how->ask_ms, how->silence_ms);
    set_timer(conn);
}

void conn_admit(struct conn *conn)
{
    conn->deadlines.handshake_at = UINT64_MAX;
    set_timer(conn);
}

void conn_set_events(struct conn *conn, struct conn_events events)
{
    conn->events = events;
}

uint64_t conn_quiet_ms(const struct conn *conn)
{
    return uv_now(conn->loop) - conn->deadlines.heard_at;
}

void conn_address(const struct conn *conn, bool remote, char out[ADDRESS_MAX])
{
    out[0] = '\0';
    if (conn->transport)
        address_of_end(conn->transport->fd, remote, out);
}

/* ---- making ---- */

static struct conn *make(uv_loop_t *loop, const struct conn_terms *terms, struct conn_events events)
{
    struct conn *conn = mem_new(sizeof *conn);
    conn->loop = loop;
    conn->terms = *terms;
    conn->events = events;
    buf_init(&conn->in, 2 * (size_t)(WIRE_MAX_FRAME + WIRE_HEAD));
    buf_init(&conn->out, terms->out_max);
    uv_timer_init(loop, &conn->timer);
    conn->timer.data = conn;
    conn->handles = 1;
    conn->wakes_at = UINT64_MAX;
    deadlines_init(&conn->deadlines, uv_now(loop), terms->handshake_ms);
    return conn;
}

/* Three questions in that time. Nothing to a Unix socket. */
static void bound_tcp_silence(int fd, uint64_t ms)
{
    const int on = 1, most = (int)ms, often = ms < 3000 ? 1 : (int)(ms / 3000);
    const struct {
        int level, name, value;
    } options[] = { { .level = SOL_SOCKET, .name = SO_KEEPALIVE, .value = on },
                    { .level = IPPROTO_TCP, .name = TCP_NODELAY, .value = on },
                    { .level = IPPROTO_TCP, .name = TCP_KEEPIDLE, .value = often },
                    { .level = IPPROTO_TCP, .name = TCP_KEEPINTVL, .value = often },
                    { .level = IPPROTO_TCP, .name = TCP_KEEPCNT, .value = 3 },
                    { .level = IPPROTO_TCP, .name = TCP_USER_TIMEOUT, .value = most } };
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

static void use_socket(struct conn *conn, int fd)
{
    if (conn->terms.tcp_silence_ms)
        bound_tcp_silence(fd, conn->terms.tcp_silence_ms);
    conn->transport =
        conn->terms.over ? conn->terms.over(conn->terms.over_arg, fd) : transport_plain(fd);
    if (uv_poll_init(conn->loop, &conn->poll, fd) != 0)
        BUG("a socket cannot be polled");
    conn->poll.data = conn;
    conn->polls = true;
    conn->handles++;
}

struct conn *conn_create(uv_loop_t *loop, int fd, const struct conn_terms *terms,
                         struct conn_events events)
{
    struct conn *conn = make(loop, terms, events);
    use_socket(conn, fd);
    conn->stage = AGREEING;
    agree(conn, false);
    watch(conn);
    set_timer(conn);
    return conn;
}

/* A socket that is connected or on its way, or -1 with *why. */
static int dial(const struct conn_target *to, const char **why)
{
    struct address at = { .at = { .ss_family = AF_UNIX } };
    int on = 1, error = 0;
    if (!to->path && !address_numeric(&at, to->addr, to->port)) {
        *why = "not a numeric address";
        return -1;
    }
    AUTO_CLOSE int fd = socket(at.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        error = errno;
    else if (to->path)
        error = address_connect_path(fd, to->path);
    else if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
             connect(fd, (const struct sockaddr *)&at.at, at.len) != 0)
        error = errno == EINPROGRESS ? 0 : errno;
    *why = strerrordesc_np(error);
    return error == 0 ? mem_give_fd(&fd) : -1;
}

struct conn *conn_connect(uv_loop_t *loop, const struct conn_target *to,
                          const struct conn_terms *terms, struct conn_events events)
{
    struct conn *conn = make(loop, terms, events);
    const char *why;
    int fd = dial(to, &why);
    conn->stage = CONNECTING;
    if (fd < 0) {
        lose_later(conn, why);
        return conn;
    }
    use_socket(conn, fd);
    watch(conn);
    set_timer(conn);
    return conn;
}
