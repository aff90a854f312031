/* A launcher says its attempt's cookie and a newline, then frames. The cookie says which task it
 * is; a wrong one ends the connection. Bytes travel in pieces as they come, and are read only while
 * the uplink has room, so that facts are never crowded out. A launcher that sends more than
 * FLOOD_BYTES in a second, or does not read what it is told, is hung up on. */
#include "node/relay.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define PEERS_MAX       2048u
#define PER_ATTEMPT_MAX 8u
#define STRANGERS_MAX   32u /* connections without a cookie yet; the oldest goes */
#define COOKIE_LINE_MAX 512u
#define OUT_MAX         (8u << 20)
#define FLOOD_BYTES     (16u << 20)
#define FLOOD_MS        1000u
#define PIECE           16384u
#define BACKLOG         64
#define ACCEPT_AGAIN_MS 100u

/* ASKED: its cookie has not come yet. WAITS: known; the server is not there. OPEN: its channel is.
 * STALE: its channel went with an earlier connection of the uplink. ENDING: only what is in out is
 * still written. */
enum stage { ASKED, WAITS, OPEN, STALE, ENDING };

struct peer {
    struct relay *relay;
    enum stage stage;
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
    int fd;
    uv_poll_t poll;
    struct buf in, out;
    uint64_t window_start;
    size_t window_bytes;
    bool gone; /* forgotten; freed by libuv's last call */
};

struct relay {
    struct uplink *link;
    struct relay_guests guests;
    VEC(struct peer *) peers;
    char *dir;
    int listener;
    uv_poll_t door;
    uv_timer_t again; /* no descriptor was left: accepting goes on later */
    unsigned handles;
    bool up;
    uint32_t last_channel;
};

static void on_peer(uv_poll_t *poll, int status, int events);
static void on_door(uv_poll_t *poll, int status, int events);

/* ---- letting go ---- */

static void on_peer_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    buf_fini(&peer->in);
    buf_fini(&peer->out);
    free(peer);
}

static void forget(struct peer *peer)
{
    struct relay *relay = peer->relay;
    if (peer->gone)
        return;
    peer->gone = true;
    for (size_t i = 0; i < relay->peers.n; i++)
        if (relay->peers.at[i] == peer) {
            vec_remove(&relay->peers, i);
            break;
        }
    uv_close((uv_handle_t *)&peer->poll, on_peer_closed);
    close(peer->fd);
}

/* The connection is over from this side or that; the server hears of it once. */
static void hang_up(struct peer *peer)
{
    struct relay *relay = peer->relay;
    bool known = peer->stage == OPEN && relay->up;
    if (peer->gone)
        return;
    forget(peer);
    if (!known)
        return;
    wire_put_data(uplink_out(relay->link), WIRE_LAUNCHER_CLOSE, peer->channel, NULL, 0);
    uplink_flush(relay->link);
}

/* ---- one launcher ---- */

static void watch(struct peer *peer)
{
    int events = peer->out.len > 0 ? UV_WRITABLE : 0;
    if (peer->gone)
        return;
    if (peer->stage == ASKED || (peer->stage == OPEN && uplink_has_room(peer->relay->link)))
        events |= UV_READABLE;
    else if (peer->stage != OPEN)
        events |= UV_DISCONNECT;
    if (events)
        uv_poll_start(&peer->poll, events, on_peer);
    else
        uv_poll_stop(&peer->poll);
}

static void write_out(struct peer *peer)
{
    while (peer->out.len > 0) {
        ssize_t n = send(peer->fd, peer->out.data, peer->out.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            hang_up(peer);
            return;
        }
        buf_drop(&peer->out, (size_t)n);
    }
    if (peer->stage == ENDING && peer->out.len == 0)
        forget(peer);
}

static void forward(struct peer *peer, const void *data, size_t len)
{
    struct uplink *link = peer->relay->link;
    if (len == 0)
        return;
    wire_put_data(uplink_out(link), WIRE_LAUNCHER_DATA, peer->channel, data, len);
    uplink_flush(link);
}

static void introduce(struct peer *peer)
{
    struct relay *relay = peer->relay;
    peer->stage = OPEN;
    peer->channel = ++relay->last_channel;
    struct wire_launcher open = { .channel = peer->channel,
                                  .task = peer->task,
                                  .attempt = peer->attempt };
    wire_put(uplink_out(relay->link), 0, &open);
    forward(peer, peer->in.data, peer->in.len);
    uplink_flush(relay->link);
    buf_fini(&peer->in);
    buf_init(&peer->in, COOKIE_LINE_MAX + PIECE);
}

static unsigned of_attempt(const struct relay *relay, const struct peer *like)
{
    unsigned n = 0;
    for (size_t i = 0; i < relay->peers.n; i++) {
        const struct peer *peer = relay->peers.at[i];
        n += peer->stage != ASKED && peer->task.role == like->task.role &&
             peer->task.index == like->task.index && peer->attempt == like->attempt;
    }
    return n;
}

static void take_cookie(struct peer *peer)
{
    struct relay *relay = peer->relay;
    const char *end = memchr(buf_str(&peer->in), '\n', peer->in.len);
    if (!end && peer->in.len < COOKIE_LINE_MAX)
        return;
    size_t len = end ? (size_t)(end - peer->in.data) : 0;
    if (!end ||
        !relay->guests.whose(relay->guests.arg, peer->in.data, len, &peer->task, &peer->attempt)) {
        log_warn("launcher.refused", "reason=\"its cookie is of no attempt that runs here\"");
        hang_up(peer);
        return;
    }
    buf_drop(&peer->in, len + 1);
    if (of_attempt(relay, peer) >= PER_ATTEMPT_MAX) {
        log_warn("launcher.refused", "reason=\"%u launchers of one attempt\"", PER_ATTEMPT_MAX);
        hang_up(peer);
        return;
    }
    peer->stage = WAITS;
    if (relay->up)
        introduce(peer);
}

static bool floods(struct peer *peer, size_t n)
{
    uint64_t now = uv_now(peer->poll.loop);
    if (now - peer->window_start >= FLOOD_MS) {
        peer->window_start = now;
        peer->window_bytes = 0;
    }
    peer->window_bytes += n;
    return peer->window_bytes > FLOOD_BYTES;
}

static void read_in(struct peer *peer)
{
    char piece[PIECE];
    ssize_t n = recv(peer->fd, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(peer);
        return;
    }
    if (floods(peer, (size_t)n)) {
        log_warn("launcher.flood", "role=%u index=%u", peer->task.role, peer->task.index);
        hang_up(peer);
        return;
    }
    if (peer->stage == OPEN) {
        forward(peer, piece, (size_t)n);
        return;
    }
    buf_add(&peer->in, piece, (size_t)n);
    take_cookie(peer);
}

static void on_peer(uv_poll_t *poll, int status, int events)
{
    struct peer *peer = poll->data;
    bool reads = peer->stage == ASKED || peer->stage == OPEN;
    if (status < 0 || ((events & UV_DISCONNECT) && !reads)) {
        hang_up(peer);
        return;
    }
    if (events & UV_WRITABLE)
        write_out(peer);
    if (!peer->gone && reads && (events & UV_READABLE))
        read_in(peer);
    watch(peer);
}

/* ---- the door ---- */

static void drop_oldest_stranger(struct relay *relay)
{
    struct peer *oldest = NULL;
    unsigned strangers = 0;
    for (size_t i = 0; i < relay->peers.n; i++) {
        struct peer *peer = relay->peers.at[i];
        if (peer->stage != ASKED)
            continue;
        oldest = oldest ? oldest : peer;
        strangers++;
    }
    if (strangers > STRANGERS_MAX)
        hang_up(oldest);
}

static void take_in(struct relay *relay, int fd)
{
    struct peer *peer = mem_new(sizeof *peer);
    peer->relay = relay;
    peer->fd = fd;
    buf_init(&peer->in, COOKIE_LINE_MAX + PIECE);
    buf_init(&peer->out, OUT_MAX);
    if (uv_poll_init(relay->door.loop, &peer->poll, fd) != 0)
        BUG("a socket cannot be polled");
    peer->poll.data = peer;
    vec_push(&relay->peers, peer);
    drop_oldest_stranger(relay);
    watch(peer);
}

static void on_again(uv_timer_t *timer)
{
    struct relay *relay = timer->data;
    uv_poll_start(&relay->door, UV_READABLE, on_door);
}

static void on_door(uv_poll_t *poll, int status, int events)
{
    struct relay *relay = poll->data;
    (void)status;
    (void)events;
    int fd = accept4(relay->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return;
    if (fd < 0) {
        log_warn("launcher.accept", "%s", strerror(errno));
        uv_poll_stop(&relay->door);
        uv_timer_start(&relay->again, on_again, ACCEPT_AGAIN_MS, 0);
    } else if (relay->peers.n >= PEERS_MAX) {
        close(fd);
    } else {
        take_in(relay, fd);
    }
}

/* The name of a Unix socket holds 107 bytes; through a descriptor of its directory any path fits.
 */
static int listen_at(const char *dir, struct err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    AUTO_CLOSE int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return err_sys(err, "%s", dir);
    (void)unlinkat(at, RELAY_SOCKET, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", at, RELAY_SOCKET);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        fchmodat(at, RELAY_SOCKET, 0600, 0) != 0 || listen(fd, BACKLOG) != 0) {
        err_sys(err, "%s/%s", dir, RELAY_SOCKET);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

struct relay *relay_create(const char *dir, struct uplink *link, struct relay_guests guests,
                           struct err *err)
{
    int fd = listen_at(dir, err);
    if (fd < 0)
        return NULL;
    struct relay *relay = mem_new(sizeof *relay);
    relay->link = link;
    relay->guests = guests;
    relay->dir = mem_strdup(dir);
    relay->listener = fd;
    uv_loop_t *loop = uplink_loop(link);
    if (uv_poll_init(loop, &relay->door, fd) != 0)
        BUG("a socket cannot be polled");
    uv_timer_init(loop, &relay->again);
    relay->door.data = relay->again.data = relay;
    relay->handles = 2;
    uv_poll_start(&relay->door, UV_READABLE, on_door);
    return relay;
}

static void on_relay_closed(uv_handle_t *handle)
{
    struct relay *relay = handle->data;
    if (--relay->handles > 0)
        return;
    vec_fini(&relay->peers);
    free(relay->dir);
    free(relay);
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    while (relay->peers.n > 0)
        forget(relay->peers.at[0]);
    AUTO_FREE char *path = mem_printf("%s/%s", relay->dir, RELAY_SOCKET);
    (void)unlink(path);
    uv_close((uv_handle_t *)&relay->door, on_relay_closed);
    uv_close((uv_handle_t *)&relay->again, on_relay_closed);
    close(relay->listener);
}

/* ---- the uplink ---- */

void relay_up(struct relay *relay)
{
    if (!relay)
        return;
    relay->up = true;
    for (size_t i = relay->peers.n; i-- > 0;)
        if (relay->peers.at[i]->stage == STALE)
            forget(relay->peers.at[i]);
    for (size_t i = 0; i < relay->peers.n; i++) {
        struct peer *peer = relay->peers.at[i];
        if (peer->stage == WAITS)
            introduce(peer);
        watch(peer);
    }
}

void relay_lost(struct relay *relay)
{
    if (!relay)
        return;
    relay->up = false;
    for (size_t i = 0; i < relay->peers.n; i++) {
        struct peer *peer = relay->peers.at[i];
        if (peer->stage == OPEN)
            peer->stage = STALE;
        watch(peer);
    }
}

void relay_go_on(struct relay *relay)
{
    for (size_t i = 0; relay && i < relay->peers.n; i++)
        watch(relay->peers.at[i]);
}

static struct peer *peer_of(const struct relay *relay, uint32_t channel)
{
    for (size_t i = 0; relay && i < relay->peers.n; i++)
        if (relay->peers.at[i]->stage == OPEN && relay->peers.at[i]->channel == channel)
            return relay->peers.at[i];
    return NULL;
}

void relay_data(struct relay *relay, const struct wire_data *data)
{
    struct peer *peer = peer_of(relay, data->channel);
    if (!peer)
        return;
    buf_add(&peer->out, data->at, data->len);
    if (peer->out.overflow) {
        log_warn("launcher.deaf", "role=%u index=%u", peer->task.role, peer->task.index);
        hang_up(peer);
        return;
    }
    write_out(peer);
    watch(peer);
}

void relay_close(struct relay *relay, uint32_t channel)
{
    struct peer *peer = peer_of(relay, channel);
    if (!peer)
        return;
    peer->stage = ENDING;
    write_out(peer);
    watch(peer);
}
