/* Listening and telling callers apart. A caller has KNOCK_MS to say its first line, and so many may
 * stand at the door; beyond that the oldest has to go, so that strangers cannot lock others out. */
#include "launch/door.h"

#include "base/mem.h"
#include "base/vec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define KNOCK_MS         10000u
#define KNOCKS_MAX       4096u
#define ACCEPTS_PER_TURN 256
#define PAUSE_MS         50u /* when descriptors ran out */
#define TOKEN_MAX        128u

struct knock {
    struct door *door;
    int fd, handles;
    uv_poll_t poll;
    uv_timer_t timer;
    char said[RDZV_PREFACE_MAX];
    size_t n;
};

struct door {
    uv_loop_t *loop;
    struct door_sink sink;
    VEC(struct knock *) knocks; /* oldest first */
    char preface[RDZV_PREFACE_MAX + 1];
    int fd, handles;
    uint16_t port;
    uv_poll_t poll;
    uv_timer_t pause;
};

int door_preface(char out[RDZV_PREFACE_MAX + 1], const char *token, struct err *err)
{
    size_t n = token ? strlen(token) : 0;
    bool well = !token || (n > 0 && n <= TOKEN_MAX);
    for (size_t i = 0; i < n && well; i++)
        well = token[i] > ' ' && token[i] < 127;
    if (!well) {
        err_set(err, ERR_INPUT, "the rendezvous token must be 1 to %u printable characters",
                TOKEN_MAX);
        return err_hint(err, "for example: export MUSTER_RDZV_TOKEN=$(openssl rand -hex 16)");
    }
    snprintf(out, RDZV_PREFACE_MAX + 1, RDZV_PREFACE "%s\n", token ? token : "-");
    return 0;
}

/* ---- those who knock ---- */

static void on_knock_closed(uv_handle_t *handle)
{
    struct knock *knock = handle->data;
    if (--knock->handles == 0)
        free(knock);
}

/* Gives the descriptor back to the caller of this. */
static int leave_door(struct knock *knock)
{
    struct door *door = knock->door;
    for (size_t i = 0; i < door->knocks.n; i++)
        if (door->knocks.at[i] == knock) {
            vec_remove(&door->knocks, i);
            break;
        }
    uv_close((uv_handle_t *)&knock->poll, on_knock_closed);
    uv_close((uv_handle_t *)&knock->timer, on_knock_closed);
    return knock->fd;
}

/* All bytes are looked at whatever the first difference is. */
static bool same(const char *a, const char *b, size_t n)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

/* true: it has left the door. */
static bool recognise(struct knock *knock)
{
    struct door *door = knock->door;
    const size_t head = sizeof RDZV_PREFACE - 1;
    size_t n = knock->n;
    if (n == 0)
        return false;
    if (knock->said[0] == '\0') {
        door->sink.c10d(door->sink.arg, leave_door(knock), knock->said, n);
        return true;
    }
    if (memcmp(knock->said, RDZV_PREFACE, n < head ? n : head) != 0) {
        close(leave_door(knock));
        return true;
    }
    const char *end = memchr(knock->said, '\n', n);
    if (!end) {
        if (n == sizeof knock->said)
            close(leave_door(knock));
        return n == sizeof knock->said;
    }
    size_t line = (size_t)(end + 1 - knock->said);
    bool good = line == strlen(door->preface) && same(knock->said, door->preface, line);
    door->sink.caller(door->sink.arg, leave_door(knock), end + 1, n - line, good);
    return true;
}

static void on_knock(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct knock *knock = poll->data;
    ssize_t n = -1;
    if (status >= 0)
        n = recv(knock->fd, knock->said + knock->n, sizeof knock->said - knock->n, 0);
    if (n < 0 && status >= 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close(leave_door(knock));
        return;
    }
    knock->n += (size_t)n;
    (void)recognise(knock);
}

static void on_knock_late(uv_timer_t *timer)
{
    close(leave_door(timer->data));
}

static void take_in(struct door *door, int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (door->knocks.n >= KNOCKS_MAX)
        close(leave_door(door->knocks.at[0]));
    struct knock *knock = mem_new(sizeof *knock);
    knock->door = door;
    knock->fd = fd;
    if (uv_poll_init(door->loop, &knock->poll, fd) != 0)
        BUG("a socket cannot be polled");
    uv_timer_init(door->loop, &knock->timer);
    knock->poll.data = knock->timer.data = knock;
    knock->handles = 2;
    vec_push(&door->knocks, knock);
    uv_poll_start(&knock->poll, UV_READABLE, on_knock);
    uv_timer_start(&knock->timer, on_knock_late, KNOCK_MS, 0);
}

static void on_caller(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    struct door *door = timer->data;
    uv_poll_start(&door->poll, UV_READABLE, on_caller);
}

static void on_caller(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct door *door = poll->data;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            take_in(door, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            uv_poll_stop(poll);
            uv_timer_start(&door->pause, on_pause_over, PAUSE_MS, 0);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* ---- the door ---- */

static socklen_t address_of(const struct door_place *place, struct sockaddr_storage *out)
{
    const char *addr = strcmp(place->addr, "localhost") == 0 ? "127.0.0.1" : place->addr;
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(place->port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(place->port) };
    *out = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
    if (inet_pton(AF_INET, addr, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    if (strcmp(addr, "*") == 0 || inet_pton(AF_INET6, addr, &v6.sin6_addr) == 1) {
        memcpy(out, &v6, sizeof v6); /* "*": the address is all zero, for both families */
        return sizeof v6;
    }
    return 0;
}

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

uint16_t door_bound_port(int fd)
{
    struct sockaddr_in6 address = { 0 }; /* the port of both families is at the same place */
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        BUG("a listening socket without a name");
    return ntohs(address.sin6_port);
}

/* The listening descriptor or -1. */
static int listen_at(struct door_place *place, uint16_t *port, struct err *err)
{
    struct sockaddr_storage at;
    socklen_t len = address_of(place, &at);
    if (len == 0)
        return err_set(err, ERR_INPUT, "'%s' is not a numeric address", place->addr);
    AUTO_CLOSE int fd = open_socket(at.ss_family);
    if (fd < 0 && strcmp(place->addr, "*") == 0) { /* a machine without IPv6 */
        struct sockaddr_in all = { .sin_family = AF_INET, .sin_port = htons(place->port) };
        memcpy(&at, &all, sizeof all);
        len = sizeof all;
        fd = open_socket(AF_INET);
    }
    if (fd < 0)
        return err_sys(err, "a socket for %s", place->addr);
    if (bind(fd, (const struct sockaddr *)&at, len) != 0 || listen(fd, SOMAXCONN) != 0) {
        place->taken = errno == EADDRINUSE;
        place->foreign = errno == EADDRNOTAVAIL;
        return err_sys(err, "listening at %s port %u", place->addr, place->port);
    }
    *port = door_bound_port(fd);
    return mem_give_fd(&fd);
}

struct door *door_open(uv_loop_t *loop, struct door_place *place, const char *preface,
                       struct door_sink sink, struct err *err)
{
    uint16_t port = 0;
    place->taken = place->foreign = false;
    int fd = listen_at(place, &port, err);
    if (fd < 0)
        return NULL;
    struct door *door = mem_new(sizeof *door);
    door->loop = loop;
    door->sink = sink;
    door->fd = fd;
    door->port = port;
    snprintf(door->preface, sizeof door->preface, "%s", preface);
    if (uv_poll_init(loop, &door->poll, fd) != 0)
        BUG("a socket cannot be polled");
    uv_timer_init(loop, &door->pause);
    door->poll.data = door->pause.data = door;
    door->handles = 2;
    uv_poll_start(&door->poll, UV_READABLE, on_caller);
    return door;
}

static void on_door_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;
    if (--door->handles > 0)
        return;
    vec_fini(&door->knocks);
    free(door);
}

void door_close(struct door *door)
{
    if (!door)
        return;
    while (door->knocks.n > 0)
        close(leave_door(door->knocks.at[door->knocks.n - 1]));
    uv_close((uv_handle_t *)&door->poll, on_door_closed);
    uv_close((uv_handle_t *)&door->pause, on_door_closed);
    close(door->fd);
}

uint16_t door_port(const struct door *door)
{
    return door->port;
}
