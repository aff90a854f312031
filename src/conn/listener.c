/* Accepting. When descriptors run out, callers wait a moment instead of keeping the loop busy: the
 * socket stays readable as long as somebody stands there. */
#include "conn/listener.h"

#include "base/log.h"
#include "base/mem.h"
#include "conn/address.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ACCEPTS_PER_TURN 256
#define PAUSE_MS         50u

struct listener {
    struct listener_sink sink;
    int fd, handles;
    bool closed, held, short_of_fds; /* the last was logged */
    uv_poll_t poll;
    uv_timer_t pause;
};

static int open_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1, off = 0;
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return fd;
}

int listener_open_tcp(struct listen_place *place, struct err *err)
{
    struct address to;
    bool local = strcmp(place->addr, "localhost") == 0;
    place->taken = place->foreign = false;
    if (!address_numeric(&to, local ? "127.0.0.1" : place->addr, place->port))
        return err_set(err, ERR_INPUT, "'%s' is not a numeric address", place->addr);
    AUTO_CLOSE int fd = open_socket(to.at.ss_family);
    if (fd < 0 && strcmp(place->addr, "*") == 0) {
        to = address_any_v4(place->port);
        fd = open_socket(AF_INET);
    }
    if (fd < 0)
        return err_sys(err, "a socket for %s", place->addr);
    if (bind(fd, (const struct sockaddr *)&to.at, to.len) != 0 || listen(fd, SOMAXCONN) != 0) {
        place->taken = errno == EADDRINUSE;
        place->foreign = errno == EADDRNOTAVAIL;
        return err_sys(err, "listening at %s port %u", place->addr, place->port);
    }
    return mem_give_fd(&fd);
}

int listener_open_unix(const char *path, struct err *err)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "a socket for %s", path);
    (void)unlink(path);
    errno = address_bind_path(fd, path);
    if (errno != 0 || chmod(path, 0600) != 0 || listen(fd, SOMAXCONN) != 0)
        return err_sys(err, "%s", path);
    return mem_give_fd(&fd);
}

static void on_callers(uv_poll_t *, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    if (!listener->held)
        uv_poll_start(&listener->poll, UV_READABLE, on_callers);
}

static void on_callers(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && !listener->closed && !listener->held; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            listener->short_of_fds = false;
            listener->sink.caller(listener->sink.arg, fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN) {
            if (!listener->short_of_fds)
                log_warn("listener.accept", "%s", strerror(errno));
            listener->short_of_fds = true;
            uv_poll_stop(poll);
            uv_timer_start(&listener->pause, on_pause_over, PAUSE_MS, 0);
        }
        return;
    }
}

struct listener *listener_create(uv_loop_t *loop, int fd, struct listener_sink sink)
{
    struct listener *listener = mem_new(sizeof *listener);
    listener->sink = sink;
    listener->fd = fd;
    listener->handles = 2;
    if (uv_poll_init(loop, &listener->poll, fd) != 0)
        BUG("a socket cannot be polled");
    uv_timer_init(loop, &listener->pause);
    listener->poll.data = listener->pause.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_callers);
    return listener;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    if (--listener->handles == 0)
        free(listener);
}

void listener_destroy(struct listener *listener)
{
    if (!listener)
        return;
    listener->closed = true;
    uv_close((uv_handle_t *)&listener->poll, on_handle_closed);
    uv_close((uv_handle_t *)&listener->pause, on_handle_closed);
    close(listener->fd);
}

void listener_hold(struct listener *listener, bool held)
{
    if (held == listener->held || listener->closed)
        return;
    listener->held = held;
    uv_timer_stop(&listener->pause);
    if (held)
        uv_poll_stop(&listener->poll);
    else
        uv_poll_start(&listener->poll, UV_READABLE, on_callers);
}

uint16_t listener_port(const struct listener *listener)
{
    return address_port(listener->fd);
}
