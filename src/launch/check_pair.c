/* Index 0 of the group listens, the others connect and say which check they come for. Then index 0
 * takes one after the other: 100 pings, and if bandwidth was asked for, up to 64 MB or half a
 * second one way. It tells each what was measured, so that both report the same figures. The
 * connections stay open for what the group agrees on next (check_group.h).
 * Blocking sockets with time limits; all integers big-endian. */
#include "launch/check_pair.h"

#include "base/clock.h"
#include "base/mem.h"
#include "launch/check_socket.h"
#include "launch/resolve.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define MAGIC         UINT64_C(0x4d75737465724332) /* "MusterC2" */
#define PINGS         100u
#define BULK_MAX      (64u << 20)
#define BULK_MS       500u
#define LOOPBACK_BULK (32u << 20)
#define LOOPBACK_MS   200u
#define CHUNK         (256u << 10)
#define HELLO_MS      500u /* it is sent at once after connecting */
#define RETRY_MS      50

struct hello {
    uint64_t magic, term;
    uint32_t check, index;
};
struct figures {
    uint64_t latency_us, bytes, bytes_us, port;
};

/* ---- measuring: the end that leads, the end that follows ---- */

/* A block of the bulk is its length (0: the end) and so many bytes. */
static int lead(int fd, bool bulk, struct check_link *link)
{
    uint64_t word = 0, from = clock_mono_us();
    for (unsigned i = 0; i < PINGS; i++)
        if (check_send(fd, &word, sizeof word) < 0 || check_recv(fd, &word, sizeof word) < 0)
            return -1;
    uint64_t pinged = clock_mono_us();
    link->latency_us = (pinged - from) / PINGS;
    AUTO_FREE char *chunk = mem_new(CHUNK);
    uint64_t until = pinged + BULK_MS * 1000u;
    link->bytes = 0;
    while (bulk && link->bytes < BULK_MAX && clock_mono_us() < until) {
        word = htobe64(CHUNK);
        if (check_send(fd, &word, sizeof word) < 0 || check_send(fd, chunk, CHUNK) < 0)
            return -1;
        link->bytes += CHUNK;
    }
    word = 0;
    if (check_send(fd, &word, sizeof word) < 0 || check_recv(fd, &word, sizeof word) < 0)
        return -1;
    link->bytes_us = bulk ? clock_mono_us() - pinged : 0;
    link->work_us = clock_mono_us() - from;
    return 0;
}

static int follow(int fd)
{
    uint64_t word;
    for (unsigned i = 0; i < PINGS; i++)
        if (check_recv(fd, &word, sizeof word) < 0 || check_send(fd, &word, sizeof word) < 0)
            return -1;
    AUTO_FREE char *chunk = mem_new(CHUNK);
    for (;;) {
        if (check_recv(fd, &word, sizeof word) < 0)
            return -1;
        uint64_t len = be64toh(word);
        if (len == 0)
            return check_send(fd, &word, sizeof word);
        if (len > CHUNK || check_recv(fd, chunk, (size_t)len) < 0)
            return -1;
    }
}

/* ---- loopback ---- */

static int make_loopback(int pair[2])
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    AUTO_CLOSE int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    AUTO_CLOSE int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || one < 0 || bind(listener, (struct sockaddr *)&at, len) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
        connect(one, (struct sockaddr *)&at, len) < 0)
        return -1;
    pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (pair[1] < 0)
        return -1;
    pair[0] = mem_give_fd(&one);
    check_limit(pair[0], 2000);
    check_limit(pair[1], 2000);
    return 0;
}

static int ping_self(const int pair[2], struct check_link *link)
{
    uint64_t word = 0, from = clock_mono_us();
    for (unsigned i = 0; i < PINGS; i++)
        if (check_send(pair[0], &word, sizeof word) < 0 ||
            check_recv(pair[1], &word, sizeof word) < 0 ||
            check_send(pair[1], &word, sizeof word) < 0 ||
            check_recv(pair[0], &word, sizeof word) < 0)
            return -1;
    link->work_us = clock_mono_us() - from;
    link->latency_us = link->work_us / PINGS;
    return 0;
}

/* One process is both ends: it sends what fits and reads it. */
static int bulk_self(const int pair[2], struct check_link *link)
{
    AUTO_FREE char *chunk = mem_new(CHUNK);
    uint64_t from = clock_mono_us(), until = from + LOOPBACK_MS * 1000u;
    link->bytes = 0;
    while (link->bytes < LOOPBACK_BULK && clock_mono_us() < until) {
        ssize_t n = send(pair[0], chunk, CHUNK, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0 || check_recv(pair[1], chunk, (size_t)n) < 0)
            return -1;
        link->bytes += (uint64_t)n;
    }
    link->bytes_us = clock_mono_us() - from;
    link->work_us += link->bytes_us;
    return 0;
}

int check_loopback(struct check_link *link, char why[CHECK_WHY_MAX])
{
    int pair[2];
    if (make_loopback(pair) < 0) {
        check_why(why, "loopback: %s", strerror(errno));
        return -1;
    }
    int rc = ping_self(pair, link) < 0 || bulk_self(pair, link) < 0 ? -1 : 0;
    if (rc < 0)
        check_why(why, "loopback: %s", check_errno());
    close(pair[0]);
    close(pair[1]);
    return rc;
}

/* ---- partners ---- */

static int fail(char why[CHECK_WHY_MAX], const struct check_task *task, uint32_t index,
                const char *what)
{
    char name[CHECK_NAME_MAX];
    check_why(why, "%s: %s", check_group_name(task, index, name), what);
    return -1;
}

/* The index that a caller has in this check's group; 0: a stranger, or of another check. */
static uint32_t read_hello(const struct check_task *task, int fd)
{
    struct hello hello;
    check_limit(fd, HELLO_MS);
    if (check_recv(fd, &hello, sizeof hello) < 0 || be64toh(hello.magic) != MAGIC ||
        be64toh(hello.term) != task->order->term || be32toh(hello.check) != task->order->check ||
        be32toh(hello.index) >= task->order->n)
        return 0;
    check_limit(fd, task->patience_ms);
    return be32toh(hello.index);
}

/* Waits for all others; fds by index. */
static int gather(const struct check_task *task, int *fds, char why[CHECK_WHY_MAX])
{
    uint64_t until = clock_mono_ms() + task->come_ms;
    for (size_t left = task->order->n - 1; left > 0;) {
        uint64_t now = clock_mono_ms();
        struct pollfd at = { .fd = task->listener, .events = POLLIN };
        if (now >= until || poll(&at, 1, (int)(until - now)) == 0)
            break;
        int fd = accept4(task->listener, NULL, NULL, SOCK_CLOEXEC);
        uint32_t index = fd >= 0 ? read_hello(task, fd) : 0;
        if (index > 0 && fds[index] < 0) {
            fds[index] = fd;
            left--;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    for (uint32_t i = 1; i < task->order->n; i++)
        if (fds[i] < 0)
            return fail(why, task, i, "did not come in time");
    return 0;
}

/* A port that is free now. */
static uint16_t free_port(void)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
    socklen_t len = sizeof at;
    AUTO_CLOSE int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return 0;
    return ntohs(at.sin6_port);
}

static void keep_slowest(struct check_link *all, const struct check_link *one)
{
    uint64_t work = all->work_us > one->work_us ? all->work_us : one->work_us;
    if (one->work_us >= all->work_us)
        *all = *one;
    all->work_us = work;
}

static int serve_all(const struct check_task *task, const int *fds, struct check_link *link,
                     uint16_t port, char why[CHECK_WHY_MAX])
{
    for (uint32_t i = 1; i < task->order->n; i++) {
        struct check_link one = { .work_us = 0 };
        if (task->fault == CHECK_FAULT_PAIR)
            return fail(why, task, i, "fault injected");
        if (lead(fds[i], task->order->bandwidth, &one) < 0)
            return fail(why, task, i, check_errno());
        keep_slowest(link, &one);
        struct figures told = { .latency_us = htobe64(one.latency_us),
                                .bytes = htobe64(one.bytes),
                                .bytes_us = htobe64(one.bytes_us),
                                .port = htobe64(port) };
        if (check_send(fds[i], &told, sizeof told) < 0)
            return fail(why, task, i, check_errno());
    }
    return 0;
}

static int serve(struct check_group *group, struct check_link *link, uint16_t *port,
                 char why[CHECK_WHY_MAX])
{
    *port = free_port();
    if (gather(group->task, group->fds, why) < 0)
        return -1;
    return serve_all(group->task, group->fds, link, *port, why);
}

static socklen_t make_address(const char *text, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof *four;
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    return sizeof *six;
}

/* Its listener is there before the check is ordered; still, tries again until it is late. */
static int call_server(const struct check_task *task)
{
    struct sockaddr_storage at;
    char numeric[RESOLVE_MAX];
    uint64_t until = clock_mono_ms() + task->come_ms;
    struct err err;
    if (resolve_host(task->order->peers[0].addr, numeric, &err) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    socklen_t len = make_address(numeric, task->order->peers[0].port, &at);
    if (len == 0 || task->order->peers[0].port == 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    for (;;) {
        int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        check_limit(fd, task->patience_ms);
        if (connect(fd, (struct sockaddr *)&at, len) == 0)
            return fd;
        int number = errno == EINPROGRESS ? ETIMEDOUT : errno;
        close(fd);
        errno = number;
        if (number != ECONNREFUSED || clock_mono_ms() >= until)
            return -1;
        (void)poll(NULL, 0, RETRY_MS);
    }
}

static int join(struct check_group *group, struct check_link *link, uint16_t *port,
                char why[CHECK_WHY_MAX])
{
    const struct check_task *task = group->task;
    const struct rdzv_check *order = task->order;
    struct hello hello = { .magic = htobe64(MAGIC),
                           .term = htobe64(order->term),
                           .check = htobe32(order->check),
                           .index = htobe32(order->index) };
    struct figures told;
    int fd = group->fds[0] = call_server(task);
    if (fd < 0)
        return fail(why, task, 0, strerror(errno));
    if (check_send(fd, &hello, sizeof hello) < 0)
        return fail(why, task, 0, check_errno());
    if (task->fault == CHECK_FAULT_PAIR)
        return fail(why, task, 0, "fault injected");
    /* It waits for all to come, and the others are served first. */
    check_limit(fd, task->come_ms + task->patience_ms * order->index);
    if (follow(fd) < 0 || check_recv(fd, &told, sizeof told) < 0)
        return fail(why, task, 0, check_errno());
    link->latency_us = be64toh(told.latency_us);
    link->bytes = be64toh(told.bytes);
    link->bytes_us = be64toh(told.bytes_us);
    link->work_us = link->latency_us * PINGS + link->bytes_us;
    *port = (uint16_t)be64toh(told.port);
    return 0;
}

int check_partners(struct check_group *group, struct check_link *link, uint16_t *port,
                   char why[CHECK_WHY_MAX])
{
    const struct rdzv_check *order = group->task->order;
    *link = (struct check_link){ .work_us = 0 };
    *port = 0;
    if (order->n > CHECK_PARTNERS_MAX) {
        check_why(why, "a group of %zu nodes is more than %u", order->n, CHECK_PARTNERS_MAX);
        return -1;
    }
    int rc = order->index == 0 ? serve(group, link, port, why) : join(group, link, port, why);
    group->met_ms = clock_mono_ms();
    if (rc < 0)
        check_group_close(group);
    return rc;
}
