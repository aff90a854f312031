/* The store as its owner sees it: listening sockets, accepting, limits, the time a connection has
 * to say the magic. Over the limit of connections it takes and closes. */
#include "launch/store.h"

#include "base/log.h"
#include "base/mem.h"
#include "conn/address.h"
#include "conn/listener.h"
#include "launch/store_conn.h"
#include "launch/store_ops.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define LISTENERS  2
#define PORT_TRIES 16

const struct store_limits store_default_limits = {
    .key_max = 8192,
    .value_max = 8u << 20,
    .keys_per_call = 131072,
    .total_bytes = 1u << 30,
    .connections = 65536,
    .hello_ms = 10000,
};

struct store_server {
    struct store_core core;
    struct listener *listeners[LISTENERS]; /* NULL: not there */
    uv_timer_t hello;                      /* runs while there are fresh connections */
    uint16_t port;
    bool ended; /* libuv has let go of the timer, too */
};

static struct store_server *server_of(struct store_core *core)
{
    return (struct store_server *)(void *)((char *)core - offsetof(struct store_server, core));
}

static void free_if_done(struct store_server *server)
{
    if (!server->ended || server->core.handles > 0)
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
    server->ended = true;
    free_if_done(server);
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

static void on_caller(void *arg, int fd)
{
    struct store_server *server = arg;
    take_socket(server, fd, (struct store_span){ "", 0 });
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

/* 127.0.0.1 and, where there is IPv6, ::1 with the same port. */
static int listen_locally(int fds[LISTENERS], struct listen_place *place, struct err *err)
{
    uint16_t port = place->port;
    for (int tries = 0; tries < PORT_TRIES; tries++) {
        *place = (struct listen_place){ .addr = "127.0.0.1", .port = port };
        fds[0] = listener_open_tcp(place, err);
        if (fds[0] < 0)
            return -1;
        *place = (struct listen_place){ .addr = "::1", .port = address_port(fds[0]) };
        fds[1] = listener_open_tcp(place, err);
        if (fds[1] >= 0 || !place->taken)
            return 0;
        close(fds[0]);
        fds[0] = -1;
        if (port != 0)
            return -1;
    }
    return -1;
}

static int listen_as_said(int fds[LISTENERS], const char *addr, uint16_t port, struct err *err)
{
    struct listen_place place = { .addr = *addr ? addr : "*", .port = port };
    int rc = 0;
    if (strcmp(addr, "localhost") == 0)
        rc = listen_locally(fds, &place, err);
    else if ((fds[0] = listener_open_tcp(&place, err)) < 0)
        rc = -1;
    if (rc != 0 && place.taken)
        return err_set(err, ERR_CONFLICT, "store: port %u of %s is in use", port,
                       *addr ? addr : "*");
    return rc == 0 ? 0 : err_in(err, "store");
}

/* ---- life ---- */

struct store_server *store_open_unbound(uv_loop_t *loop, const struct store_limits *limits)
{
    struct store_server *server = mem_new(sizeof *server);
    struct store_core *core = &server->core;
    core->loop = loop;
    core->limits = *limits;
    core->table = store_table_create(on_wait_over);
    core->request = store_do;
    core->gone = on_conn_gone;
    TAILQ_INIT(&core->all);
    TAILQ_INIT(&core->fresh);
    TAILQ_INIT(&core->due);
    uv_timer_init(loop, &server->hello);
    server->hello.data = server;
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
    for (size_t i = 0; i < LISTENERS; i++)
        if (fds[i] >= 0)
            server->listeners[i] = listener_create(
                loop, fds[i], (struct listener_sink){ .caller = on_caller, .arg = server });
    return server;
}

void store_close(struct store_server *server)
{
    struct store_conn *conn;
    if (!server)
        return;
    while ((conn = TAILQ_FIRST(&server->core.all)) != NULL)
        store_conn_close(conn);
    for (size_t i = 0; i < LISTENERS; i++)
        listener_destroy(server->listeners[i]);
    uv_close((uv_handle_t *)&server->hello, on_handle_closed);
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
