/* One connection that carries frames, ours or somebody's who called. Everything that ends it goes
 * through lose(): by reading, by a frame that is not understood, by the connecting deadline; never
 * from inside a call of the owner, who is in the middle of something. A peer that was closed lives
 * until libuv has let go of its handles, so callbacks may close the peer they are called for. */
#include "launch/peer.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define READ_SIZE      16384u
#define READS_PER_TURN 16
#define IN_KEEP        65536u /* larger buffers are given back when empty */
#define OUT_MAX        (64u << 20)
#define ADDR_MAX       INET6_ADDRSTRLEN

struct peer {
    uv_loop_t *loop;
    struct peer_sink sink;
    int fd;
    uv_poll_t poll;
    uv_timer_t timer; /* the connecting deadline, or something to do from the loop */
    int handles;
    bool polls, connecting, closed;
    int watched;
    struct buf in, out;
    char why[160]; /* set before the loop: it is lost as soon as the loop turns */
    char local[ADDR_MAX], remote[ADDR_MAX];
};

static void on_handle_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    if (--peer->handles > 0)
        return;
    buf_fini(&peer->in);
    buf_fini(&peer->out);
    free(peer);
}

void peer_close(struct peer *peer)
{
    if (!peer || peer->closed)
        return;
    peer->closed = true;
    uv_close((uv_handle_t *)&peer->timer, on_handle_closed);
    if (peer->polls)
        uv_close((uv_handle_t *)&peer->poll, on_handle_closed);
    if (peer->fd >= 0)
        close(peer->fd);
    peer->fd = -1;
}

static void lose(struct peer *peer, const char *why)
{
    if (peer->closed)
        return;
    peer_close(peer);
    peer->sink.lost(peer->sink.arg, peer, why);
}

/* ---- addresses ---- */

static void name_of(const struct sockaddr_storage *from, char out[ADDR_MAX])
{
    out[0] = '\0';
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        (void)inet_ntop(AF_INET, &v4->sin_addr, out, ADDR_MAX);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
            (void)inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], out, ADDR_MAX);
        else
            (void)inet_ntop(AF_INET6, &v6->sin6_addr, out, ADDR_MAX);
    }
}

static void learn_names(struct peer *peer)
{
    struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof name;
    if (getsockname(peer->fd, (struct sockaddr *)&name, &len) == 0)
        name_of(&name, peer->local);
    name = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
    len = sizeof name;
    if (getpeername(peer->fd, (struct sockaddr *)&name, &len) == 0)
        name_of(&name, peer->remote);
}

const char *peer_local_addr(const struct peer *peer)
{
    return peer->local;
}

const char *peer_remote_addr(const struct peer *peer)
{
    return peer->remote;
}

/* ---- out ---- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch_for(struct peer *peer)
{
    int want = peer->connecting ? UV_WRITABLE : UV_READABLE;
    if (peer->out.len > 0)
        want |= UV_WRITABLE;
    if (want != peer->watched)
        uv_poll_start(&peer->poll, want, on_ready);
    peer->watched = want;
}

static bool write_out(struct peer *peer)
{
    size_t done = 0;
    bool well = !peer->out.overflow;
    while (well && done < peer->out.len) {
        ssize_t n = send(peer->fd, peer->out.data + done, peer->out.len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            well = false;
        else
            done += (size_t)n;
    }
    buf_drop(&peer->out, done);
    return well;
}

struct buf *peer_out(struct peer *peer)
{
    return &peer->out;
}

void peer_flush(struct peer *peer)
{
    if (peer->closed || peer->connecting || !peer->polls)
        return;
    if (!write_out(peer)) {
        (void)shutdown(peer->fd, SHUT_RDWR); /* reading notices it */
        buf_clear(&peer->out);
    }
    watch_for(peer);
}

/* ---- in ---- */

static void take_frames(struct peer *peer)
{
    size_t done = 0, used;
    int got = 1;
    struct rdzv_frame_in frame;
    while (!peer->closed && done < peer->in.len &&
           (got = rdzv_next(peer->in.data + done, peer->in.len - done, &frame, &used)) == 1) {
        if (peer->sink.frame(peer->sink.arg, peer, &frame) != 0) {
            got = -1;
            break;
        }
        done += used;
    }
    if (peer->closed)
        return;
    if (got < 0) {
        lose(peer, "it says what no launcher of this version says");
        return;
    }
    buf_drop(&peer->in, done);
    if (peer->in.len == 0 && peer->in.cap > IN_KEEP) {
        buf_fini(&peer->in);
        buf_init(&peer->in, WIRE_MAX_FRAME + WIRE_HEAD + READ_SIZE);
    }
}

static void read_in(struct peer *peer)
{
    char piece[READ_SIZE];
    for (int i = 0; i < READS_PER_TURN && !peer->closed; i++) {
        ssize_t n = recv(peer->fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            lose(peer, n == 0 ? "the connection was closed" : strerror(errno));
            return;
        }
        buf_add(&peer->in, piece, (size_t)n);
        take_frames(peer);
    }
}

static void come_up(struct peer *peer)
{
    peer->connecting = false;
    uv_timer_stop(&peer->timer);
    learn_names(peer);
    if (peer->sink.up)
        peer->sink.up(peer->sink.arg, peer);
    peer_flush(peer);
}

/* 0, or the errno of a connection attempt. */
static int attempt_error(const struct peer *peer)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        return errno;
    return error;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct peer *peer = poll->data;
    if (peer->closed)
        return;
    if (peer->connecting || status < 0) {
        int error = attempt_error(peer);
        if (error != 0 || status < 0)
            lose(peer, strerror(error != 0 ? error : EIO));
        else
            come_up(peer);
        return;
    }
    if ((events & UV_WRITABLE) && !write_out(peer)) {
        lose(peer, "it does not take what is sent");
        return;
    }
    if (events & UV_READABLE)
        read_in(peer);
    if (!peer->closed)
        watch_for(peer);
}

/* ---- making ---- */

static void on_timer(uv_timer_t *timer)
{
    struct peer *peer = timer->data;
    if (peer->why[0])
        lose(peer, peer->why);
    else if (peer->connecting)
        lose(peer, "no answer");
    else
        take_frames(peer);
}

static struct peer *make(uv_loop_t *loop, struct peer_sink sink)
{
    struct peer *peer = mem_new(sizeof *peer);
    peer->loop = loop;
    peer->sink = sink;
    peer->fd = -1;
    buf_init(&peer->in, WIRE_MAX_FRAME + WIRE_HEAD + READ_SIZE);
    buf_init(&peer->out, OUT_MAX);
    uv_timer_init(loop, &peer->timer);
    peer->timer.data = peer;
    peer->handles = 1;
    return peer;
}

static void start_polling(struct peer *peer)
{
    if (uv_poll_init(peer->loop, &peer->poll, peer->fd) != 0)
        BUG("a socket cannot be polled");
    peer->poll.data = peer;
    peer->polls = true;
    peer->handles++;
}

/* Its owner hears of it from the loop. */
static struct peer *fail_later(struct peer *peer, const char *why)
{
    snprintf(peer->why, sizeof peer->why, "%s", why);
    uv_timer_start(&peer->timer, on_timer, 0, 0);
    return peer;
}

static socklen_t address_of(const char *addr, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    *out = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
    if (inet_pton(AF_INET, addr, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    if (inet_pton(AF_INET6, addr, &v6.sin6_addr) == 1) {
        memcpy(out, &v6, sizeof v6);
        return sizeof v6;
    }
    return 0;
}

struct peer *peer_connect(uv_loop_t *loop, const char *addr, uint16_t port, const char *preface,
                          uint64_t timeout_ms, struct peer_sink sink)
{
    struct peer *peer = make(loop, sink);
    struct sockaddr_storage to;
    socklen_t len = address_of(addr, port, &to);
    if (len == 0)
        return fail_later(peer, "not a numeric address");
    peer->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (peer->fd < 0)
        return fail_later(peer, strerror(errno));
    int on = 1;
    (void)setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(peer->fd, (const struct sockaddr *)&to, len) != 0 && errno != EINPROGRESS)
        return fail_later(peer, strerror(errno));
    snprintf(peer->remote, sizeof peer->remote, "%s", addr);
    buf_puts(&peer->out, preface);
    peer->connecting = true;
    start_polling(peer);
    watch_for(peer);
    uv_timer_start(&peer->timer, on_timer, timeout_ms, 0);
    return peer;
}

int peer_connect_path(int fd, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    AUTO_FREE char *copy = mem_strdup(path);
    AUTO_CLOSE int above = -1;
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (n >= (int)sizeof address.sun_path) {
        char *name = strrchr(copy, '/');
        if (!name)
            return ENAMETOOLONG;
        *name++ = '\0';
        above = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above < 0)
            return errno;
        n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", above, name);
        if (n >= (int)sizeof address.sun_path)
            return ENAMETOOLONG;
    }
    return connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
}

struct peer *peer_connect_unix(uv_loop_t *loop, const char *path, const char *cookie,
                               struct peer_sink sink)
{
    struct peer *peer = make(loop, sink);
    peer->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = peer->fd < 0 ? errno : peer_connect_path(peer->fd, path);
    if (error != 0)
        return fail_later(peer, strerror(error));
    buf_puts(&peer->out, cookie);
    buf_putc(&peer->out, '\n');
    peer->connecting = true; /* up is told from the loop, as over TCP */
    start_polling(peer);
    watch_for(peer);
    return peer;
}

struct peer *peer_adopt(uv_loop_t *loop, int fd, const void *extra, size_t len,
                        struct peer_sink sink)
{
    struct peer *peer = make(loop, sink);
    peer->fd = fd;
    learn_names(peer);
    buf_add(&peer->in, extra, len);
    start_polling(peer);
    watch_for(peer);
    if (len > 0)
        uv_timer_start(&peer->timer, on_timer, 0, 0);
    return peer;
}
