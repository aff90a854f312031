/* Daemons on the loop: libmicrohttpd gives one epoll descriptor per daemon, we poll it, run it when
 * it is ready, when its own timeout says so, and once more after answers were given in the same
 * turn. What it has left to do at once comes with the next turn: a client that reads fast would be
 * sent all of a long answer before anybody else is looked at. The one of the Unix socket listens
 * itself; those of the TCP port get their connections from the listener: plain ones as they are,
 * those over TLS by way of tls.c, which opens what comes. */
#include "http/server.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/socket_path.h"
#include "http/exchange.h"
#include "http/listener.h"
#include "http/tls.h"
#include "http/visits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define CONNECTIONS_SPARE 64u /* over the limit: they are told so */

static void run_all(struct http_server *s);

static void on_timer(uv_timer_t *timer)
{
    run_all(timer->data);
}

static void on_more(uv_idle_t *more)
{
    run_all(more->data);
}

/* A timer of 0 that is started by its own callback is called again before the turn ends; an idle
 * handle is called once a turn. */
static void arm(struct http_server *s)
{
    MHD_UNSIGNED_LONG_LONG least = UINT64_MAX;
    for (unsigned i = 0; i < LISTEN_KINDS; i++) {
        MHD_UNSIGNED_LONG_LONG ms;
        if (s->at[i].daemon && MHD_get_timeout(s->at[i].daemon, &ms) == MHD_YES && ms < least)
            least = ms;
    }
    if (least == 0)
        uv_idle_start(&s->more, on_more);
    else
        uv_idle_stop(&s->more);
    if (least == 0 || least == UINT64_MAX)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timer, least, 0);
}

static void run_all(struct http_server *s)
{
    s->kick = false;
    for (unsigned i = 0; i < LISTEN_KINDS; i++)
        if (s->at[i].daemon)
            MHD_run(s->at[i].daemon);
    arm(s);
}

static void run_daemon(void *arg, enum listener_kind kind)
{
    struct http_server *s = arg;
    if (s->at[kind].daemon)
        MHD_run(s->at[kind].daemon);
    arm(s);
}

static void on_epoll(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;
    (void)status;
    (void)events;
    MHD_run(l->daemon);
    arm(l->server);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct http_server *s = prepare->data;
    if (s->kick)
        run_all(s);
}

void server_kick(struct http_server *s)
{
    s->kick = true;
}

static void connection_cb(void *cls, struct MHD_Connection *connection, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct listener *l = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        int on = 1; /* fails on a Unix socket, which needs none */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *c = mem_new(sizeof *c);
        c->visit = visit_share(l->server->visits, fd);
        l->server->connections++;
        *slot = c;
    } else {
        struct connection *c = *slot;
        l->server->connections--;
        visit_end(c->visit);
        free(c);
    }
}

/* ---- sockets ---- */

static int unix_listen(const char *path, mode_t mode, struct err *err)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    if (socket_path_check(path, err) < 0)
        return -1;
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "socket");
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0) {
        close(fd);
        return err_set(err, ERR_CONFLICT, "another server answers on %s", path);
    }
    unlink(path); /* nobody listens: a leftover of a killed server */
    mode_t mask = umask(0777 & ~mode);
    int rc = bind(fd, (struct sockaddr *)&addr, sizeof addr);
    umask(mask);
    if (rc == 0 && listen(fd, 1024) == 0)
        return fd;
    err_sys(err, "listening on %s", path);
    close(fd);
    return -1;
}

static int tcp_listen(const struct http_config *c, uint16_t *port, struct err *err)
{
    struct sockaddr_in addr = { .sin_family = AF_INET };
    if (inet_pton(AF_INET, c->host, &addr.sin_addr) != 1) {
        err_set(err, ERR_INPUT, "\"%s\" is not an IPv4 address to listen on", c->host);
        return err_hint(err, "127.0.0.1 for this machine only, 0.0.0.0 for every network");
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "socket");
    int on = 1, rc = -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    for (unsigned k = 0; rc < 0 && k <= c->port_tries && c->port + k <= 65535; k++) {
        addr.sin_port = htons((uint16_t)(c->port + k));
        rc = bind(fd, (struct sockaddr *)&addr, sizeof addr);
        if (rc == 0)
            rc = listen(fd, 1024); /* a port somebody else listens on fails here or at bind */
    }
    socklen_t len = sizeof addr;
    if (rc == 0 && getsockname(fd, (struct sockaddr *)&addr, &len) == 0) {
        *port = ntohs(addr.sin_port);
        return fd;
    }
    err_sys(err, "listening on %s:%u", c->host, c->port);
    close(fd);
    return -1;
}

/* ---- life ---- */

static int start(struct http_server *s, enum listener_kind kind, struct err *err)
{
    struct listener *l = &s->at[kind];
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_UPGRADE | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
    l->server = s;
    l->kind = kind;
    l->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, request_access_cb, l, MHD_OPTION_CONNECTION_LIMIT,
        s->config.max_connections + CONNECTIONS_SPARE, MHD_OPTION_CONNECTION_TIMEOUT,
        s->config.idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(32 << 10),
        MHD_OPTION_URI_LOG_CALLBACK, request_target_cb, l, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed_cb, l, MHD_OPTION_NOTIFY_CONNECTION, connection_cb, l, MHD_OPTION_END);
    if (!l->daemon)
        return err_set(err, ERR_SYSTEM, "libmicrohttpd does not start");
    int epoll = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    uv_poll_init(s->config.loop, &l->poll, epoll);
    l->poll.data = l;
    uv_poll_start(&l->poll, UV_READABLE, on_epoll);
    s->open++;
    return 0;
}

static void add_accepted(void *arg, enum listener_kind kind, int fd, const struct peer *peer);
static void add_tls(void *arg, int fd, const struct peer *peer);
static void drop_accepted(void *arg, int fd);
static bool is_full(const void *arg);
static void listener_gone(void *arg);

static struct incoming incoming_of(struct http_server *s)
{
    return (struct incoming){ .loop = s->config.loop,
                              .visits = s->visits,
                              .idle_timeout_s = s->config.idle_timeout_s,
                              .add = add_accepted,
                              .add_tls = add_tls,
                              .drop = drop_accepted,
                              .run = run_daemon,
                              .is_full = is_full,
                              .gone = listener_gone,
                              .arg = s };
}

/* At the first hello, so that a server nobody speaks TLS to has no certificate to make. */
static int start_tls(struct http_server *s, struct err *err)
{
    struct http_certificate certificate;
    const struct incoming to = incoming_of(s);
    if (s->config.certificate(s->config.certificate_arg, &certificate, err) < 0)
        return -1;
    if (!s->at[LISTEN_TLS].daemon && start(s, LISTEN_TLS, err) < 0)
        return -1;
    s->tls = tls_create(&to, &certificate, err);
    return s->tls ? 0 : -1;
}

static void add_tls(void *arg, int fd, const struct peer *peer)
{
    struct http_server *s = arg;
    struct err err = { 0 };
    if (!s->tls && s->config.certificate && start_tls(s, &err) < 0)
        log_error("http.tls", "%s", err.what);
    if (s->tls)
        tls_add(s->tls, fd, peer);
    else
        drop_accepted(s, fd);
}

/* The daemon closes the descriptor when it does not take it. */
static void add(struct http_server *s, enum listener_kind kind, int fd, const struct peer *peer,
                bool ends_visit)
{
    if (MHD_add_connection(s->at[kind].daemon, fd, (const struct sockaddr *)&peer->at, peer->len) !=
            MHD_YES &&
        ends_visit)
        visit_end(visit_share(s->visits, fd));
}

static void add_accepted(void *arg, enum listener_kind kind, int fd, const struct peer *peer)
{
    struct http_server *s = arg;
    add(s, kind, fd, peer, kind != LISTEN_TLS); /* the visit of a TLS line ends with the line */
}

void http_server_take(struct http_server *s, int fd, const char *address)
{
    struct peer peer = { .len = sizeof(struct sockaddr_in) };
    struct sockaddr_in *at = (void *)&peer.at;
    struct err err = { 0 };
    bool full;
    at->sin_family = AF_INET;
    if (inet_pton(AF_INET, address, &at->sin_addr) != 1)
        at->sin_addr.s_addr = INADDR_ANY;
    if (!s->at[LISTEN_TLS].daemon && start(s, LISTEN_TLS, &err) < 0) {
        log_error("http.taken", "%s", err.what);
        close(fd);
        return;
    }
    if (!visit_begin(s->visits, fd, false, &peer, &full))
        return;
    add(s, LISTEN_TLS, fd, &peer, true);
    run_daemon(s, LISTEN_TLS);
}

static void drop_accepted(void *arg, int fd)
{
    struct http_server *s = arg;
    visit_end(visit_share(s->visits, fd));
    close(fd);
}

static bool is_full(const void *arg)
{
    const struct http_server *s = arg;
    return s->connections + http_listener_waiting(s->doors[LISTEN_PLAIN]) + tls_waiting(s->tls) >=
           s->config.max_connections + CONNECTIONS_SPARE;
}

static int open_door(struct http_server *s, enum listener_kind kind, int fd, struct err *err)
{
    if (start(s, kind, err) < 0) {
        close(fd);
        return -1;
    }
    const struct incoming to = incoming_of(s);
    s->doors[kind] = http_listener_open(&to, kind, fd);
    s->open++;
    return 0;
}

static int open_unix(struct http_server *s, enum listener_kind kind, const char *path, mode_t mode,
                     struct err *err)
{
    int fd = path ? unix_listen(path, mode, err) : -1;
    if (!path)
        return 0;
    if (fd < 0)
        return -1;
    s->paths[kind] = mem_strdup(path);
    return open_door(s, kind, fd, err);
}

static int open_all(struct http_server *s, struct err *err)
{
    int fd;
    if (open_unix(s, LISTEN_UNIX, s->config.socket_path, 0600, err) < 0 ||
        open_unix(s, LISTEN_PUBLIC, s->config.public_path, 0666, err) < 0)
        return -1;
    if (!s->config.host)
        return 0;
    if ((fd = tcp_listen(&s->config, &s->port, err)) < 0)
        return -1;
    return open_door(s, LISTEN_PLAIN, fd, err);
}

#define FILES_ALL   (1 << 20)
#define FILES_LEAST 24 /* for connections and agents */

/* The number that the kernel gives next tells how many are in use. */
static int open_visits(struct http_server *s, struct err *err)
{
    int bound = s->config.files ? s->config.files : FILES_ALL,
        first = dup(uv_backend_fd(s->config.loop));
    if (first < 0)
        return err_sys(err, "a descriptor");
    close(first);
    if (bound - first < FILES_LEAST) {
        err_set(err, ERR_CANNOT, "the limit of open files leaves %d for connections and agents",
                bound > first ? bound - first : 0);
        return -1;
    }
    s->visits =
        visits_create(&(struct visits_config){ .loop = s->config.loop,
                                               .stranger_timeout_s = s->config.stranger_timeout_s,
                                               .first = first,
                                               .bound = bound });
    return 0;
}

struct http_server *http_server_create(const struct http_config *config, struct err *err)
{
    struct http_server *s = mem_new(sizeof *s);
    s->config = *config;
    if (!s->config.stranger_timeout_s)
        s->config.stranger_timeout_s = s->config.idle_timeout_s;
    uv_timer_init(config->loop, &s->timer);
    uv_prepare_init(config->loop, &s->prepare);
    uv_prepare_start(&s->prepare, on_prepare);
    uv_idle_init(config->loop, &s->more);
    s->timer.data = s->prepare.data = s->more.data = s;
    s->open = 3;
    if (open_visits(s, err) < 0 || open_all(s, err) < 0) {
        http_server_destroy(s);
        return NULL;
    }
    return s;
}

static void closed(struct http_server *s)
{
    if (--s->open > 0)
        return;
    for (unsigned i = 0; i < LISTEN_KINDS; i++)
        free(s->paths[i]);
    visits_destroy(s->visits);
    free(s);
}

static void on_closed(uv_handle_t *handle)
{
    closed(handle->type == UV_POLL ? ((struct listener *)handle->data)->server : handle->data);
}

static void listener_gone(void *arg)
{
    struct http_server *s = arg;
    closed(s);
}

/* A suspended connection must be resumed before its daemon stops; its request then ends without an
 * answer. */
void http_server_destroy(struct http_server *s)
{
    if (!s || s->closing)
        return;
    s->closing = true;
    for (unsigned i = 0; i < LISTEN_KINDS; i++)
        if (s->paths[i])
            unlink(s->paths[i]);
    for (struct http_request *r = s->requests; r; r = r->next) {
        r->ended = true;
        request_wake(r);
    }
    for (unsigned i = 0; i < LISTEN_KINDS; i++)
        http_listener_close(TAKE(s->doors[i]));
    for (unsigned i = 0; i < LISTEN_KINDS; i++) {
        if (!s->at[i].daemon)
            continue;
        uv_poll_stop(&s->at[i].poll);
        MHD_stop_daemon(TAKE(s->at[i].daemon));
        uv_close((uv_handle_t *)&s->at[i].poll, on_closed);
    }
    tls_destroy(TAKE(s->tls));
    uv_close((uv_handle_t *)&s->timer, on_closed);
    uv_close((uv_handle_t *)&s->prepare, on_closed);
    uv_close((uv_handle_t *)&s->more, on_closed);
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

unsigned http_server_connections(const struct http_server *s)
{
    return s->connections;
}
