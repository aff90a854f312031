/* A launcher says its attempt's cookie and a newline, then frames. The cookie says which task it
 * is; a wrong one, or none within a time, ends the connection. Bytes travel in pieces as they come,
 * and are read only while the uplink has room, so that facts are never crowded out. A launcher that
 * sends more than FLOOD_BYTES in a second, or does not read what it is told, is hung up on. */
#include "node/relay.h"

#include "base/little_endian.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "wire/rendezvous.h"

#include <string.h>

#define PEERS_MAX       2048u
#define PER_ATTEMPT_MAX 8u
#define STRANGERS_MAX   32u /* connections without a cookie yet; the oldest goes */
#define COOKIE_LINE_MAX 512u
#define OUT_MAX         (8u << 20)
#define FLOOD_BYTES     (16u << 20)
#define FLOOD_MS        1000u
#define TEXTS_MAX       (32u << 10) /* a longer frame is not waited for */

/* ASKED: its cookie has not come yet. WAITS: known; the server is not there. OPEN: its channel is.
 * STALE: its channel went with an earlier connection of the uplink. ENDING: only what it was told
 * is still sent. */
enum stage { ASKED, WAITS, OPEN, STALE, ENDING };

struct peer {
    struct relay *relay;
    enum stage stage;
    uint32_t channel;
    struct task_ref task;
    uint32_t attempt;
    struct conn *conn;
    uint64_t window_start;
    size_t window_bytes;
    const struct masks *masks; /* from its first frame on; NULL: none, its bytes pass unread */
    struct relay_stream stream;
};

struct relay {
    struct uplink *link;
    struct relay_config guests;
    VEC(struct peer *) peers;
    char *path;
    struct listener *listener;
    bool up;
    uint32_t last_channel;
};

/* ---- letting go ---- */

static void forget(struct peer *peer)
{
    struct relay *relay = peer->relay;
    for (size_t i = 0; i < relay->peers.n; i++)
        if (relay->peers.at[i] == peer) {
            vec_remove(&relay->peers, i);
            break;
        }
    conn_close(peer->conn);
    free(peer);
}

/* The connection is over from this side or that; the server hears of it once. */
static void hang_up(struct peer *peer)
{
    struct relay *relay = peer->relay;
    uint32_t channel = peer->channel;
    bool known = peer->stage == OPEN && relay->up;
    forget(peer);
    if (!known)
        return;
    wire_put_data(uplink_out(relay->link), WIRE_LAUNCHER_CLOSE, channel, NULL, 0);
    uplink_flush(relay->link);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    (void)why;
    hang_up(arg);
}

/* ---- one launcher ---- */

static void watch(const struct peer *peer)
{
    bool room = peer->stage == ASKED || uplink_has_room(peer->relay->link);
    if (peer->stage == ASKED || peer->stage == OPEN)
        conn_read(peer->conn, room ? CONN_READS : CONN_HOLDS);
    else
        conn_read(peer->conn, CONN_WATCHES);
}

/* What came behind its cookie follows, from the loop. */
static void introduce(struct peer *peer)
{
    struct relay *relay = peer->relay;
    peer->stage = OPEN;
    peer->channel = ++relay->last_channel;
    struct wire_launcher open = { .channel = peer->channel,
                                  .task = peer->task,
                                  .attempt = peer->attempt };
    wire_put(uplink_out(relay->link), 0, &open);
    uplink_flush(relay->link);
}

static unsigned of_attempt(const struct relay *relay, const struct peer *like)
{
    unsigned n = 0;
    for (size_t i = 0; i < relay->peers.n; i++) {
        const struct peer *peer = relay->peers.at[i];
        n += peer->stage != ASKED && peer->stage != ENDING && peer->task.role == like->task.role &&
             peer->task.index == like->task.index && peer->attempt == like->attempt;
    }
    return n;
}

static ssize_t refuse(struct peer *peer, const char *reason)
{
    log_warn("launcher.refused", "reason=\"%s\"", reason);
    hang_up(peer);
    return 0;
}

static ssize_t take_cookie(struct peer *peer, const char *at, size_t n)
{
    struct relay *relay = peer->relay;
    const char *end = memchr(at, '\n', n);
    if (!end && n < COOKIE_LINE_MAX)
        return 0;
    size_t len = end ? (size_t)(end - at) : 0;
    if (!end || !relay->guests.whose(relay->guests.arg, at, len, &peer->task, &peer->attempt))
        return refuse(peer, "its cookie is of no attempt that runs here");
    if (of_attempt(relay, peer) >= PER_ATTEMPT_MAX)
        return refuse(peer, "too many launchers of one attempt");
    peer->stage = WAITS;
    if (relay->guests.masks && relay->guests.masks->list.n > 0)
        peer->masks = relay->guests.masks;
    conn_admit(peer->conn);
    if (relay->up)
        introduce(peer);
    watch(peer);
    return (ssize_t)len + 1;
}

static bool floods(struct peer *peer, size_t n)
{
    uint64_t now = uv_now(uplink_loop(peer->relay->link));
    if (now - peer->window_start >= FLOOD_MS) {
        peer->window_start = now;
        peer->window_bytes = 0;
    }
    peer->window_bytes += n;
    return peer->window_bytes > FLOOD_BYTES;
}

/* Others have names of nodes and roles, by which launchers find each other. */
static bool has_texts(unsigned char kind)
{
    return kind == RDZV_FRAME_REPORT || kind == RDZV_FRAME_CHECKED || kind == RDZV_FRAME_LEAVE ||
           kind == RDZV_FRAME_EVENT;
}

size_t relay_cover(struct relay_stream *stream, const struct masks *masks, char *at, size_t len)
{
    size_t done = 0;
    while (done < len) {
        size_t rest = len - done;
        if (stream->left == 0) {
            if (rest < WIRE_HEAD)
                break;
            size_t frame = 4 + (size_t)little_endian_get(at + done, 4);
            bool texts = has_texts((unsigned char)at[done + 4]);
            if (texts && rest < frame && frame <= TEXTS_MAX)
                break;
            *stream = (struct relay_stream){ .left = frame, .texts = texts };
        }
        size_t n = rest < stream->left ? rest : stream->left;
        if (stream->texts)
            (void)masks_cover(masks, at + done, n, n);
        stream->left -= n;
        done += n;
    }
    return done;
}

static ssize_t on_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    struct peer *peer = arg;
    struct uplink *link = peer->relay->link;
    (void)conn;
    if (peer->stage == ASKED)
        return take_cookie(peer, at, len);
    if (peer->masks)
        len = relay_cover(&peer->stream, peer->masks, at, len);
    if (floods(peer, len)) {
        log_warn("launcher.flood", "role=%u index=%u", peer->task.role, peer->task.index);
        hang_up(peer);
        return 0;
    }
    if (len == 0)
        return 0;
    wire_put_data(uplink_out(link), WIRE_LAUNCHER_DATA, peer->channel, at, len);
    uplink_flush(link);
    watch(peer);
    return (ssize_t)len;
}

/* ---- callers ---- */

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

static void on_caller(void *arg, int fd)
{
    struct relay *relay = arg;
    struct conn_terms terms = { .out_max = OUT_MAX,
                                .room = OUT_MAX,
                                .handshake_ms = relay->guests.cookie_ms };
    if (relay->peers.n >= PEERS_MAX) {
        close(fd);
        return;
    }
    struct peer *peer = mem_new(sizeof *peer);
    peer->relay = relay;
    peer->conn =
        conn_create(uplink_loop(relay->link), fd, &terms,
                    (struct conn_events){ .bytes = on_bytes, .closed = on_closed, .arg = peer });
    vec_push(&relay->peers, peer);
    drop_oldest_stranger(relay);
}

struct relay *relay_create(const char *dir, struct uplink *link, struct relay_config guests,
                           struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, RELAY_SOCKET);
    int fd = listener_open_unix(path, err);
    if (fd < 0)
        return NULL;
    struct relay *relay = mem_new(sizeof *relay);
    relay->link = link;
    relay->guests = guests;
    relay->path = TAKE(path);
    relay->listener = listener_create(uplink_loop(link), fd,
                                      (struct listener_sink){ .caller = on_caller, .arg = relay });
    return relay;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    while (relay->peers.n > 0)
        forget(relay->peers.at[0]);
    vec_fini(&relay->peers);
    listener_destroy(relay->listener);
    (void)unlink(relay->path);
    free(relay->path);
    free(relay);
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
    buf_add(conn_out(peer->conn), data->at, data->len);
    if (conn_out(peer->conn)->overflow)
        log_warn("launcher.deaf", "role=%u index=%u", peer->task.role, peer->task.index);
    conn_flush(peer->conn);
}

void relay_close(struct relay *relay, uint32_t channel)
{
    struct peer *peer = peer_of(relay, channel);
    if (!peer)
        return;
    peer->stage = ENDING;
    conn_finish(peer->conn);
}
