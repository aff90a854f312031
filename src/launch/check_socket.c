/* Whole messages over blocking sockets that give up after a time. The limit is the kernel's
 * (SO_RCVTIMEO, SO_SNDTIMEO), of each call. */
#include "launch/check_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

void check_limit(int fd, uint64_t ms)
{
    int one = 1;
    struct timeval limit = { .tv_sec = (time_t)(ms / 1000),
                             .tv_usec = (suseconds_t)(ms % 1000 * 1000) };
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int check_send(int fd, const void *data, size_t len)
{
    for (const char *at = data; len > 0;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int check_recv(int fd, void *data, size_t len)
{
    for (char *at = data; len > 0;) {
        ssize_t n = recv(fd, at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

const char *check_errno(void)
{
    return errno == EAGAIN ? "no answer in time" : strerror(errno);
}
