/* Bytes as they are: one system call for each call. A read that was not filled has emptied the
 * socket, so the next one waits for the socket instead of asking it in vain. */
#include "conn/transport.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

static enum transport_state broken(struct transport *t)
{
    t->why = strerrordesc_np(errno);
    return TRANSPORT_BROKEN;
}

static enum transport_state plain_start(struct transport *t)
{
    (void)t;
    return TRANSPORT_READY;
}

static enum transport_state plain_read(struct transport *t, void *at, size_t size, size_t *n)
{
    ssize_t got;
    *n = 0;
    do
        got = recv(t->fd, at, size, 0);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return TRANSPORT_END;
    if (got < 0)
        return errno == EAGAIN ? TRANSPORT_WAIT_IN : broken(t);
    *n = (size_t)got;
    return *n < size ? TRANSPORT_WAIT_IN : TRANSPORT_READY;
}

static enum transport_state plain_write(struct transport *t, const void *at, size_t len, size_t *n)
{
    ssize_t sent;
    *n = 0;
    do
        sent = send(t->fd, at, len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EAGAIN ? TRANSPORT_WAIT_OUT : broken(t);
    *n = (size_t)sent;
    return TRANSPORT_READY;
}

static enum transport_state plain_finish(struct transport *t)
{
    return shutdown(t->fd, SHUT_WR) == 0 ? TRANSPORT_READY : broken(t);
}

static void plain_close(struct transport *t)
{
    close(t->fd);
    free(t);
}

struct transport *transport_plain(int fd)
{
    static const struct transport_calls calls = { .start = plain_start,
                                                  .read = plain_read,
                                                  .write = plain_write,
                                                  .finish = plain_finish,
                                                  .close = plain_close };
    struct transport *t = mem_new(sizeof *t);
    t->calls = &calls;
    t->fd = fd;
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return t;
}
