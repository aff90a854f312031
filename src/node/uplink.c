/* Connect, ask for the upgrade, then frames both ways on the same socket. Every failure leads to
 * the same place: close, tell the owner, try again (at once, then in growing steps up to
 * RETRY_SLOWEST_MS). Only an answer that says "this token is no more" ends it. Nothing is
 * remembered across connections: the owner repeats what the server may not have. */
#include "node/uplink.h"

#include "base/log.h"
#include "base/mem.h"
#include "node/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define RETRY_FIRST_MS   5u
#define RETRY_SLOWEST_MS 250u
#define STEADY_MS        1000u /* a connection that held so long was a good one */
#define HEAD_MAX         8192u /* of the answer */
#define READ_SIZE        16384u
#define READS_PER_TURN   16
#define IN_KEEP          65536u /* larger buffers are given back when empty */
#define OUT_MAX          (64u << 20)
#define DIR_GONE         410 /* as if the server had said so */

enum stage { DOWN, ASKING, UP };

struct uplink {
    char *dir;
    struct uplink_sink sink;
    enum stage stage;
    int fd;
    uv_poll_t *poll; /* of this connection; frees itself */
    uv_timer_t retry;
    uv_loop_t *loop;
    uint64_t wait_ms, up_since; /* loop time */
    struct buf in, out;
    int watched; /* events asked for */
    bool crowded, doomed, has_known;
    struct conf known; /* as it was read last */
};

static void try_later(struct uplink *link);
static void try_now(struct uplink *link);

struct uplink *uplink_create(uv_loop_t *loop, const char *dir, struct uplink_sink sink)
{
    struct uplink *link = mem_new(sizeof *link);
    link->dir = mem_strdup(dir);
    link->sink = sink;
    link->loop = loop;
    link->fd = -1;
    buf_init(&link->in, WIRE_MAX_FRAME + WIRE_HEAD + READ_SIZE);
    buf_init(&link->out, OUT_MAX);
    uv_timer_init(loop, &link->retry);
    link->retry.data = link;
    return link;
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

static void disconnect(struct uplink *link)
{
    if (link->poll) {
        link->poll->data = NULL;
        uv_close((uv_handle_t *)link->poll, on_poll_closed);
        link->poll = NULL;
    }
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    link->stage = DOWN;
    link->watched = 0;
    link->crowded = false;
    buf_fini(&link->in);
    buf_fini(&link->out);
    buf_init(&link->in, WIRE_MAX_FRAME + WIRE_HEAD + READ_SIZE);
    buf_init(&link->out, OUT_MAX);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct uplink *link = handle->data;
    buf_fini(&link->in);
    buf_fini(&link->out);
    free(link->dir);
    free(link);
}

void uplink_destroy(struct uplink *link)
{
    if (!link)
        return;
    disconnect(link);
    link->doomed = true;
    uv_close((uv_handle_t *)&link->retry, on_timer_closed);
}

static void lose(struct uplink *link)
{
    bool was_up = link->stage == UP;
    disconnect(link);
    if (was_up) {
        /* A server that takes the connection and drops it at once is not hurried. */
        if (uv_now(link->loop) - link->up_since >= STEADY_MS)
            link->wait_ms = 0;
        link->sink.lost(link->sink.arg);
    }
    try_later(link);
}

/* ---- out ---- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch_for(struct uplink *link)
{
    int want = UV_READABLE | (link->out.len > 0 ? UV_WRITABLE : 0);
    if (want != link->watched)
        uv_poll_start(link->poll, want, on_ready);
    link->watched = want;
}

/* false: the connection is gone (nothing was told yet). */
static bool write_out(struct uplink *link)
{
    while (link->out.len > 0) {
        ssize_t n = send(link->fd, link->out.data, link->out.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return false;
        buf_drop(&link->out, (size_t)n);
    }
    return !link->out.overflow;
}

/* A lost connection is noticed by reading, never here: the callers of flush are in the middle of
 * something. */
void uplink_flush(struct uplink *link)
{
    if (link->stage == DOWN)
        return;
    if (!write_out(link)) {
        (void)shutdown(link->fd, SHUT_RDWR);
        buf_clear(&link->out);
    }
    link->crowded = link->crowded || link->out.len >= UPLINK_ROOM;
    watch_for(link);
}

uv_loop_t *uplink_loop(const struct uplink *link)
{
    return link->loop;
}

bool uplink_is_up(const struct uplink *link)
{
    return link->stage == UP;
}

struct buf *uplink_out(struct uplink *link)
{
    return &link->out;
}

bool uplink_has_room(const struct uplink *link)
{
    return link->stage == UP && link->out.len < UPLINK_ROOM;
}

/* ---- in ---- */

static void refuse(struct uplink *link, int status)
{
    disconnect(link);
    link->sink.refused(link->sink.arg, status);
}

/* The answer to the request. false: this connection is over. */
static bool take_answer(struct uplink *link)
{
    const char *text = buf_str(&link->in);
    const char *end = memmem(text, link->in.len, "\r\n\r\n", 4);
    static const char head[] = "HTTP/1.1 ";
    if (!end)
        return link->in.len < HEAD_MAX;
    if (strncmp(text, head, sizeof head - 1) != 0)
        return false;
    long status = strtol(text + sizeof head - 1, NULL, 10);
    if (status == 401 || status == 403 || status == 404 || status == 410) {
        refuse(link, (int)status);
        return true;
    }
    if (status != 101)
        return false;
    buf_drop(&link->in, (size_t)(end + 4 - text));
    link->stage = UP;
    link->up_since = uv_now(link->loop);
    link->sink.connected(link->sink.arg, &link->out);
    uplink_flush(link);
    return true;
}

static bool take_frames(struct uplink *link)
{
    size_t done = 0;
    int got = 0;
    struct wire_frame frame;
    size_t used;
    while (link->stage == UP && done < link->in.len &&
           (got = wire_next(link->in.data + done, link->in.len - done, &frame, &used)) == 1) {
        if (link->sink.frame(link->sink.arg, &frame) != 0) {
            log_error("frame.bad", "kind=%d bytes=%zu", (int)frame.kind, frame.len);
            return false;
        }
        done += used;
        got = 0;
    }
    if (link->stage != UP)
        return true; /* the owner has left in the middle */
    buf_drop(&link->in, done);
    if (link->in.len == 0 && link->in.cap > IN_KEEP) {
        buf_fini(&link->in);
        buf_init(&link->in, WIRE_MAX_FRAME + WIRE_HEAD + READ_SIZE);
    }
    return got >= 0;
}

static bool read_in(struct uplink *link)
{
    char piece[READ_SIZE];
    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t n = recv(link->fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0)
            return false;
        buf_add(&link->in, piece, (size_t)n);
        if (link->in.overflow || (link->stage == ASKING && !take_answer(link)))
            return false;
        if (link->stage == UP && !take_frames(link))
            return false;
        if (link->stage == DOWN)
            return true;
    }
    return true;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct uplink *link = poll->data;
    if (!link)
        return;
    if (status < 0 || ((events & UV_WRITABLE) && !write_out(link)) ||
        ((events & UV_READABLE) && !read_in(link))) {
        if (link->stage != DOWN)
            lose(link);
        return;
    }
    if (link->doomed || link->stage == DOWN)
        return;
    watch_for(link);
    if (link->crowded && link->out.len < UPLINK_ROOM) {
        link->crowded = false;
        link->sink.writable(link->sink.arg);
    }
}

/* ---- connecting ---- */

/* A Unix socket's name holds 107 bytes; longer paths are reached through a descriptor of their
 * directory. */
static int connect_unix(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    AUTO_FREE char *copy = mem_strdup(path);
    AUTO_CLOSE int above = -1;
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (n >= (int)sizeof address.sun_path) {
        char *name = strrchr(copy, '/');
        if (!name)
            return -1;
        *name++ = '\0';
        above = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
        n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", above, name);
        if (above < 0 || n >= (int)sizeof address.sun_path)
            return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void on_retry(uv_timer_t *timer)
{
    try_now(timer->data);
}

static void try_later(struct uplink *link)
{
    uv_timer_start(&link->retry, on_retry, link->wait_ms, 0);
    link->wait_ms = link->wait_ms == 0 ? RETRY_FIRST_MS : link->wait_ms * 2;
    if (link->wait_ms > RETRY_SLOWEST_MS)
        link->wait_ms = RETRY_SLOWEST_MS;
}

static void try_now(struct uplink *link)
{
    struct conf conf;
    struct err err;
    if (conf_read(link->dir, &conf, &err) == 0) {
        link->known = conf;
        link->has_known = true;
    } else if (access(link->dir, F_OK) != 0 && errno == ENOENT) {
        refuse(link, DIR_GONE); /* its directory was removed: nobody will ever call again */
        return;
    } else if (!link->has_known) {
        log_warn("conf.unreadable", "%s", err.what);
        try_later(link);
        return;
    }
    conf = link->known;
    link->fd = connect_unix(conf.socket);
    if (link->fd < 0) {
        try_later(link);
        return;
    }
    link->poll = mem_new(sizeof *link->poll);
    if (uv_poll_init(link->loop, link->poll, link->fd) != 0)
        BUG("a socket cannot be polled");
    link->poll->data = link;
    link->stage = ASKING;
    buf_addf(&link->out,
             "GET /v1/agents HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\n"
             "Upgrade: muster/%d\r\nAuthorization: Bearer %s\r\n\r\n",
             WIRE_VERSION, conf.token);
    uplink_flush(link);
}

void uplink_start(struct uplink *link)
{
    try_now(link);
}
