/* The store as its owner sees it: listening sockets, accepting, limits, the time a connection has
 * to say the magic. Out of descriptors it stops accepting for a moment and tries again; over the
 * limit of connections it takes and closes. */
#include "launch/store.h"

#include "base/log.h"
#include "base/mem.h"
#include "conn/address.h"
#include "launch/store_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define LISTENERS        2
#define ACCEPTS_PER_TURN 64
#define ACCEPT_AGAIN_MS  100u
#define BACKLOG          4096
#define PORT_TRIES       16

const struct store_limits store_default_limits = {
    .key_max = 8192,
    .value_max = 8u << 20,
    .keys_per_call = 131072,
    .total_bytes = 1u << 30,
    .connections = 65536,
    .hello_ms = 10000,
};

struct listener {
    struct store_server *server;
    int fd; /* -1: not open */
    uv_poll_t poll;
};

struct store_server {
    struct store_core core;
    struct listener listeners[LISTENERS];
    uv_timer_t hello; /* runs while there are fresh connections */
    uv_timer_t again; /* accepting */
    unsigned handles; /* timers and listeners known to libuv */
    uint16_t port;
    bool doomed;
};

static void on_acceptable(uv_poll_t *poll, int status, int events);

static struct store_server *server_of(struct store_core *core)
{
    return (struct store_server *)(void *)((char *)core - offsetof(struct store_server, core));
}

static void free_if_done(struct store_server *server)
{
    if (!server->doomed || server->handles > 0 || server->core.handles > 0)
        return;
    store_table_destroy(server->core.table);
    free(server);
}

static void on_conn_gone(struct store_core *core)
{
    free_if_done(server_of(core));
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct store_server *server = handle->data;
    server->handles--;
    free_if_done(server);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    listener->server->handles--;
    free_if_done(listener->server);
}

static void on_wait_over(struct store_await *await)
{
    store_conn_put(store_conn_of(await), STORE_WAKE, 1);
}

/* ---- the magic in time ---- */

static void on_hello_late(uv_timer_t *timer);

static void watch_fresh(struct store_server *server)
{
    const struct store_conn *oldest = TAILQ_FIRST(&server->core.fresh);
    if (!oldest) {
        uv_timer_stop(&server->hello);
        return;
    }
    if (uv_is_active((uv_handle_t *)&server->hello))
        return;
    uint64_t at = oldest->since_ms + server->core.limits.hello_ms, now = uv_now(server->core.loop);
    uv_timer_start(&server->hello, on_hello_late, at > now ? at - now : 0, 0);
}

static void on_hello_late(uv_timer_t *timer)
{
    struct store_server *server = timer->data;
    struct store_core *core = &server->core;
    struct store_conn *conn;
    while ((conn = TAILQ_FIRST(&core->fresh)) != NULL &&
           uv_now(core->loop) - conn->since_ms >= core->limits.hello_ms) {
        log_debug("store.close", "fd=%d why=\"no magic in time\"", conn->fd);
        store_conn_close(conn);
    }
    watch_fresh(server);
}

/* ---- coming in ---- */

static void take_socket(struct store_server *server, int fd, struct store_span bytes)
{
    int one = 1;
    if (server->core.n_conns >= server->core.limits.connections) {
        log_warn("store.crowded", "connections=%u", server->core.n_conns);
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    store_conn_open(&server->core, fd, bytes);
}

static void on_accept_again(uv_timer_t *timer)
{
    struct store_server *server = timer->data;
    for (size_t i = 0; i < LISTENERS; i++)
        if (server->listeners[i].fd >= 0)
            uv_poll_start(&server->listeners[i].poll, UV_READABLE, on_acceptable);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    struct store_server *server = listener->server;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno != EAGAIN) {
            log_warn("store.accept", "why=\"%s\"", strerror(errno));
            uv_poll_stop(poll);
            uv_timer_start(&server->again, on_accept_again, ACCEPT_AGAIN_MS, 0);
        }
        if (fd < 0)
            break;
        take_socket(server, fd, (struct store_span){ "", 0 });
    }
    store_settle(&server->core);
    watch_fresh(server);
}

void store_adopt(struct store_server *server, int fd, const void *bytes, size_t len)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    take_socket(server, fd, (struct store_span){ bytes, len });
    store_settle(&server->core);
    watch_fresh(server);
}

/* ---- listening ---- */

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    /* The port is at the same place in both families. */
    ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

static int listen_at(const struct sockaddr_storage *address, bool both)
{
    int one = 1, only = !both;
    socklen_t len =
        address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    if (bind(fd, (const struct sockaddr *)address, len) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static bool no_such_family(void)
{
    return errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL || errno == EPROTONOSUPPORT;
}

/* 127.0.0.1 and, where there is IPv6, ::1 with the same port. */
static int listen_locally(int fds[LISTENERS], uint16_t port)
{
    struct sockaddr_storage four = { 0 }, six = { 0 };
    uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in *)(void *)&four);
    uv_ip6_addr("::1", 0, (struct sockaddr_in6 *)(void *)&six);
    for (int tries = 0; tries < PORT_TRIES; tries++) {
        set_port(&four, port);
        fds[0] = listen_at(&four, false);
        if (fds[0] < 0)
            return -1;
        set_port(&six, address_port(fds[0]));
        fds[1] = listen_at(&six, false);
        if (fds[1] >= 0 || no_such_family())
            return 0;
        int why = errno;
        close(fds[0]);
        fds[0] = -1;
        errno = why;
        if (port != 0 || why != EADDRINUSE)
            return -1;
    }
    return -1;
}

static int listen_everywhere(int fds[LISTENERS], uint16_t port)
{
    struct sockaddr_storage any = { 0 };
    uv_ip6_addr("::", port, (struct sockaddr_in6 *)(void *)&any);
    fds[0] = listen_at(&any, true);
    if (fds[0] < 0 && no_such_family()) {
        uv_ip4_addr("0.0.0.0", port, (struct sockaddr_in *)(void *)&any);
        fds[0] = listen_at(&any, false);
    }
    return fds[0] < 0 ? -1 : 0;
}

static int listen_as_said(int fds[LISTENERS], const char *addr, uint16_t port, struct err *err)
{
    struct sockaddr_storage one = { 0 };
    int rc;
    if (!*addr || strcmp(addr, "*") == 0) {
        rc = listen_everywhere(fds, port);
    } else if (strcmp(addr, "localhost") == 0) {
        rc = listen_locally(fds, port);
    } else if (uv_ip4_addr(addr, port, (struct sockaddr_in *)(void *)&one) == 0 ||
               uv_ip6_addr(addr, port, (struct sockaddr_in6 *)(void *)&one) == 0) {
        fds[0] = listen_at(&one, false);
        rc = fds[0] < 0 ? -1 : 0;
    } else {
        return err_set(err, ERR_INPUT, "store: %s is no numeric address", addr);
    }
    if (rc == 0)
        return 0;
    if (errno == EADDRINUSE)
        return err_set(err, ERR_CONFLICT, "store: port %u of %s is in use", port,
                       *addr ? addr : "*");
    return err_sys(err, "store: listening on %s port %u", *addr ? addr : "*", port);
}

/* ---- life ---- */

struct store_server *store_open_unbound(uv_loop_t *loop, const struct store_limits *limits)
{
    struct store_server *server = mem_new(sizeof *server);
    struct store_core *core = &server->core;
    core->loop = loop;
    core->limits = *limits;
    core->table = store_table_create(on_wait_over);
    core->gone = on_conn_gone;
    TAILQ_INIT(&core->all);
    TAILQ_INIT(&core->fresh);
    TAILQ_INIT(&core->due);
    for (size_t i = 0; i < LISTENERS; i++) {
        server->listeners[i].server = server;
        server->listeners[i].fd = -1;
    }
    uv_timer_init(loop, &server->hello);
    uv_timer_init(loop, &server->again);
    server->hello.data = server->again.data = server;
    server->handles = 2;
    return server;
}

struct store_server *store_open(uv_loop_t *loop, const char *addr, uint16_t port,
                                const struct store_limits *limits, struct err *err)
{
    int fds[LISTENERS] = { -1, -1 };
    if (listen_as_said(fds, addr, port, err) != 0)
        return NULL;
    struct store_server *server = store_open_unbound(loop, limits);
    server->port = address_port(fds[0]);
    for (size_t i = 0; i < LISTENERS; i++) {
        struct listener *listener = &server->listeners[i];
        if (fds[i] < 0)
            continue;
        listener->fd = fds[i];
        if (uv_poll_init(loop, &listener->poll, fds[i]) != 0)
            BUG("a socket cannot be polled");
        listener->poll.data = listener;
        server->handles++;
        uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    }
    return server;
}

void store_close(struct store_server *server)
{
    struct store_conn *conn;
    if (!server)
        return;
    server->doomed = true;
    while ((conn = TAILQ_FIRST(&server->core.all)) != NULL)
        store_conn_close(conn);
    for (size_t i = 0; i < LISTENERS; i++) {
        struct listener *listener = &server->listeners[i];
        if (listener->fd < 0)
            continue;
        uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
        close(listener->fd);
        listener->fd = -1;
    }
    uv_close((uv_handle_t *)&server->hello, on_handle_closed);
    uv_close((uv_handle_t *)&server->again, on_handle_closed);
}

uint16_t store_port(const struct store_server *server)
{
    return server->port;
}

size_t store_connections(const struct store_server *server)
{
    return server->core.n_conns;
}

size_t store_keys(const struct store_server *server)
{
    return store_table_keys(server->core.table);
}
