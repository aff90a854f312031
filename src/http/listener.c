/* Where connections come in. On the TCP port they may be HTTP or HTTPS: a TLS client speaks first
 * and its first byte is 0x16 (a handshake record), which begins no HTTP request; so one byte is
 * looked at without taking it. Most clients have sent it when they are accepted; those that have
 * not wait here, until they say something or are sent away (visits.c). */
#include "http/listener.h"

#include "base/mem.h"
#include "http/visits.h"

#include <errno.h>
#include <sys/socket.h>

#define TLS_HANDSHAKE 0x16
#define ACCEPT_BATCH  64  /* then the loop breathes */
#define PAUSE_MS      100 /* when there is no descriptor, or no room */

struct waiting_client { /* has said nothing yet */
    struct waiting_client *next, *prev;
    struct http_listener *door;
    uv_poll_t poll;
    int fd;
    struct peer peer;
};

struct http_listener {
    struct http_server *server;
    enum listener_kind kind;
    uv_poll_t poll;
    uv_timer_t pause;
    int fd;
    struct waiting_client *first, *last;
    unsigned waiting;
    unsigned open; /* handles that must close before freeing */
    bool closing;
};

/* ---- guests ---- */

static void free_door_at_last(struct http_listener *door)
{
    if (--door->open > 0)
        return;
    http_listener_gone(door->server);
    free(door);
}

static void on_guest_closed(uv_handle_t *handle)
{
    struct waiting_client *g = handle->data;
    struct http_listener *door = g->door;
    free(g);
    free_door_at_last(door);
}

/* Out of the list; the descriptor is the caller's again. */
static int let_go(struct waiting_client *g)
{
    struct http_listener *door = g->door;
    *(g->prev ? &g->prev->next : &door->first) = g->next;
    *(g->next ? &g->next->prev : &door->last) = g->prev;
    door->waiting--;
    uv_poll_stop(&g->poll);
    uv_close((uv_handle_t *)&g->poll, on_guest_closed);
    return g->fd;
}

/* 1: given to a daemon, or closed; 0: nothing was said yet. */
static int show_in(struct http_listener *door, int fd, const struct peer *peer)
{
    unsigned char first;
    if (door->kind != LISTEN_PLAIN) {
        server_add(door->server, door->kind, fd, peer);
        return 1;
    }
    ssize_t n = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        server_drop(door->server, fd);
    else if (first == TLS_HANDSHAKE)
        server_add_tls(door->server, fd, peer);
    else
        server_add(door->server, LISTEN_PLAIN, fd, peer);
    return 1;
}

static void on_guest(uv_poll_t *poll, int status, int events)
{
    struct waiting_client *g = poll->data;
    (void)events;
    struct http_listener *door = g->door;
    char none;
    if (status == 0 && recv(g->fd, &none, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
        return;
    const struct peer peer = g->peer;
    int fd = let_go(g);
    if (show_in(door, fd, &peer) == 0)
        server_drop(door->server, fd);
    server_run(door->server, door->kind);
}

static void wait_for(struct http_listener *door, int fd, const struct peer *peer)
{
    uv_loop_t *loop = door->server->config.loop;
    struct waiting_client *g = mem_new(sizeof *g);
    g->door = door;
    g->fd = fd;
    g->peer = *peer;
    g->poll.data = g;
    if (uv_poll_init(loop, &g->poll, fd) != 0) {
        server_drop(door->server, fd);
        free(g);
        return;
    }
    uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, on_guest);
    door->open++;
    door->waiting++;
    g->prev = door->last;
    *(door->last ? &door->last->next : &door->first) = g;
    door->last = g;
}

/* ---- accepting ---- */

static void on_knock(uv_poll_t *poll, int status, int events);

static void on_pause(uv_timer_t *timer)
{
    struct http_listener *door = timer->data;
    uv_poll_start(&door->poll, UV_READABLE, on_knock);
}

/* Those who come meanwhile wait in the socket's backlog. */
static void pause_a_while(struct http_listener *door)
{
    uv_poll_stop(&door->poll);
    uv_timer_start(&door->pause, on_pause, PAUSE_MS, 0);
}

/* false: those who are sent away now are to be gone before others come. */
static bool let_in(struct http_listener *door, int fd, const struct peer *peer)
{
    bool full;
    if (visit_begin(door->server->visits, fd, door->kind != LISTEN_PLAIN, peer, &full) &&
        show_in(door, fd, peer) == 0)
        wait_for(door, fd, peer);
    return !full;
}

static void on_knock(uv_poll_t *poll, int status, int events)
{
    struct http_listener *door = poll->data;
    (void)status;
    (void)events;
    for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
        if (door->kind == LISTEN_PLAIN && server_is_full(door->server)) {
            pause_a_while(door);
            break;
        }
        struct peer peer = { .len = sizeof peer.at };
        int fd =
            accept4(door->fd, (struct sockaddr *)&peer.at, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (let_in(door, fd, &peer))
                continue;
            break;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_a_while(door);
        if (errno != EINTR && errno != ECONNABORTED)
            break;
    }
    server_run(door->server, door->kind);
}

/* ---- life ---- */

struct http_listener *http_listener_open(struct http_server *server, enum listener_kind kind,
                                         int fd)
{
    struct http_listener *door = mem_new(sizeof *door);
    door->server = server;
    door->kind = kind;
    door->fd = fd;
    door->open = 2;
    uv_poll_init(server->config.loop, &door->poll, fd);
    uv_timer_init(server->config.loop, &door->pause);
    door->poll.data = door->pause.data = door;
    uv_poll_start(&door->poll, UV_READABLE, on_knock);
    return door;
}

static void on_own_closed(uv_handle_t *handle)
{
    free_door_at_last(handle->data);
}

void http_listener_close(struct http_listener *door)
{
    if (!door || door->closing)
        return;
    door->closing = true;
    while (door->first)
        server_drop(door->server, let_go(door->first));
    uv_close((uv_handle_t *)&door->poll, on_own_closed);
    uv_close((uv_handle_t *)&door->pause, on_own_closed);
    close(door->fd);
}

unsigned http_listener_waiting(const struct http_listener *door)
{
    return door ? door->waiting : 0;
}
