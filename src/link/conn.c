/* One socket that carries frames: reads into a bounded buffer, hands out whole frames, writes what
 * the socket takes and keeps the rest. A broken frame or an overflow closes it. */
#include "link/hub.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

static void on_ready(uv_poll_t *, int status, int events);

struct conn *conn_create(uv_loop_t *loop, int fd, void *owner)
{
    struct conn *c = mem_new(sizeof *c);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    c->fd = fd;
    c->owner = owner;
    buf_init(&c->in, WIRE_MAX_FRAME + (128u << 10));
    buf_init(&c->out, OUT_MAX);
    uv_poll_init(loop, &c->poll, fd);
    c->poll.data = c;
    return c;
}

static void want(struct conn *c)
{
    if (!c->closing)
        uv_poll_start(&c->poll, UV_READABLE | (c->out.len ? UV_WRITABLE : 0), on_ready);
}

static void on_freed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    close(c->fd);
    buf_fini(&c->in);
    buf_fini(&c->out);
    free(c);
}

void conn_close(struct conn *c)
{
    if (c->closing)
        return;
    c->closing = true;
    uv_poll_stop(&c->poll);
    shutdown(c->fd, SHUT_RDWR);
    if (c->closed)
        c->closed(c);
    uv_close((uv_handle_t *)&c->poll, on_freed);
}

/* Every whole frame at the front of the input. The handler may close the connection. */
static void take_frames(struct conn *c)
{
    size_t done = 0;
    while (!c->closing) {
        struct wire_frame frame;
        size_t used = 0;
        int got = wire_next(c->in.data ? c->in.data + done : "", c->in.len - done, &frame, &used);
        if (got < 0)
            conn_close(c);
        if (got <= 0)
            break;
        done += used;
        c->frame(c, &frame);
    }
    if (!c->closing)
        buf_drop(&c->in, done);
}

void conn_send(struct conn *c)
{
    size_t done = 0;
    while (!c->closing && done < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + done, c->out.len - done, MSG_NOSIGNAL);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            break;
        else
            conn_close(c);
    }
    if (c->closing)
        return;
    buf_drop(&c->out, done);
    if (c->out.overflow)
        conn_close(c);
    else
        want(c);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct conn *c = poll->data;
    if (status < 0) {
        conn_close(c);
        return;
    }
    if (events & UV_WRITABLE)
        conn_send(c);
    if (c->closing || !(events & UV_READABLE))
        return;
    char piece[64 << 10];
    ssize_t n = recv(c->fd, piece, sizeof piece, 0);
    if (n > 0) {
        buf_add(&c->in, piece, (size_t)n);
        if (c->in.overflow)
            conn_close(c);
        else
            take_frames(c);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        conn_close(c);
    }
}

void conn_start(struct conn *c, const void *extra, size_t len)
{
    buf_add(&c->in, extra, len);
    want(c);
    take_frames(c);
}
