/* Runs in the view of a task, with its account and network, so that it reaches what the task itself
 * reaches, as the task's account, and nothing else. One process for each connection: it waits in
 * one place for both ways, and holds a piece of each. */
#include "node/port_pipe.h"

#include "base/mem.h"
#include "base/scan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 65536u

struct stream {
    int from, to;
    size_t start, end; /* of what waits in piece */
    bool over;         /* from has ended */
    char piece[PIECE];
};

/* Programs listen on the loopback interface of one family or of both. */
static int connect_port(uint16_t port)
{
    struct sockaddr_in at4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 at6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    at4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at6.sin6_addr = in6addr_loopback;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at4, sizeof at4) == 0)
        return fd;
    int why = errno;
    if (fd >= 0)
        close(fd);
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at6, sizeof at6) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

static bool waits(const struct stream *stream)
{
    return stream->start < stream->end;
}

static int read_piece(struct stream *stream)
{
    ssize_t n = read(stream->from, stream->piece, sizeof stream->piece);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -1;
    stream->over = n == 0;
    stream->start = 0;
    stream->end = (size_t)n;
    return 0;
}

static int write_piece(struct stream *stream)
{
    ssize_t n = write(stream->to, stream->piece + stream->start, stream->end - stream->start);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -1;
    stream->start += (size_t)n;
    return 0;
}

/* Either is in one state: something of it waits to be written, or more is to be read. */
static struct pollfd wanted(const struct stream *stream)
{
    if (waits(stream))
        return (struct pollfd){ .fd = stream->to, .events = POLLOUT };
    return (struct pollfd){ .fd = stream->over ? -1 : stream->from, .events = POLLIN };
}

static int move(struct stream *stream, short happened)
{
    if (!happened)
        return 0;
    return waits(stream) ? write_piece(stream) : read_piece(stream);
}

static int pump(int socket)
{
    struct stream in = { .from = STDIN_FILENO, .to = socket };
    struct stream out = { .from = socket, .to = STDOUT_FILENO };
    for (bool told = false; !out.over;) {
        struct pollfd fds[] = { wanted(&in), wanted(&out) };
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return -1;
        if (move(&out, fds[1].revents) != 0)
            return -1;
        if (move(&in, fds[0].revents) != 0) { /* it takes no more, and may still answer */
            in.start = in.end;
            in.over = true;
        }
        if (in.over && !told)
            (void)shutdown(socket, SHUT_WR);
        told = in.over;
    }
    return 0;
}

int port_pipe_main(int argc, char **argv)
{
    uint64_t port;
    if (argc != 3 || !scan_u64(argv[2], 1, 65535, &port)) {
        fputs("muster-node port: one port is needed\n", stderr);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    int fd = connect_port((uint16_t)port);
    if (fd < 0) {
        fprintf(stderr, "muster: port %s of the task: %s\n", argv[2], strerror(errno));
        return 1;
    }
    const int ends[] = { STDIN_FILENO, STDOUT_FILENO, fd };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    int rc = pump(fd);
    close(fd);
    return rc != 0;
}
