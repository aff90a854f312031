/* Where connections come in. On the TCP port they may be HTTP or HTTPS: a TLS client speaks first
 * and its first byte is 0x16 (a handshake record), which begins no HTTP request; so one byte is
 * looked at without taking it. Most clients have sent it when they are accepted; those that have
 * not wait here, until they say something or are sent away (visits.c). */
#include "http/listener.h"

#include "base/mem.h"
#include "http/visits.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define TLS_HANDSHAKE 0x16
#define ACCEPT_BATCH  64  /* then the loop breathes */
#define PAUSE_MS      100 /* when there is no descriptor, or no room */

struct waiting_client { /* has said nothing yet */
    struct waiting_client *next, *prev;
    struct http_listener *listener;
    uv_poll_t poll;
    int fd;
    struct peer peer;
};

struct http_listener {
    struct incoming to;
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

static void free_listener_at_last(struct http_listener *listener)
{
    if (--listener->open > 0)
        return;
    listener->to.gone(listener->to.arg);
    free(listener);
}

static void on_guest_closed(uv_handle_t *handle)
{
    struct waiting_client *g = handle->data;
    struct http_listener *listener = g->listener;
    free(g);
    free_listener_at_last(listener);
}

/* Out of the list; the descriptor is the caller's again. */
static int let_go(struct waiting_client *g)
{
    struct http_listener *listener = g->listener;
    *(g->prev ? &g->prev->next : &listener->first) = g->next;
    *(g->next ? &g->next->prev : &listener->last) = g->prev;
    listener->waiting--;
    uv_poll_stop(&g->poll);
    uv_close((uv_handle_t *)&g->poll, on_guest_closed);
    return g->fd;
}

/* 1: given to a daemon, or closed; 0: nothing was said yet. */
static int show_in(struct http_listener *listener, int fd, const struct peer *peer)
{
    unsigned char first;
    if (listener->kind != LISTEN_PLAIN) {
        listener->to.add(listener->to.arg, listener->kind, fd, peer);
        return 1;
    }
    ssize_t n = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        listener->to.drop(listener->to.arg, fd);
    else if (first == TLS_HANDSHAKE)
        listener->to.add_tls(listener->to.arg, fd, peer);
    else
        listener->to.add(listener->to.arg, LISTEN_PLAIN, fd, peer);
    return 1;
}

static void on_guest(uv_poll_t *poll, int status, int events)
{
    struct waiting_client *g = poll->data;
    (void)events;
    struct http_listener *listener = g->listener;
    char none;
    if (status == 0 && recv(g->fd, &none, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
        return;
    const struct peer peer = g->peer;
    int fd = let_go(g);
    if (show_in(listener, fd, &peer) == 0)
        listener->to.drop(listener->to.arg, fd);
    listener->to.run(listener->to.arg, listener->kind);
}

static void wait_for(struct http_listener *listener, int fd, const struct peer *peer)
{
    uv_loop_t *loop = listener->to.loop;
    struct waiting_client *g = mem_new(sizeof *g);
    g->listener = listener;
    g->fd = fd;
    g->peer = *peer;
    g->poll.data = g;
    if (uv_poll_init(loop, &g->poll, fd) != 0) {
        listener->to.drop(listener->to.arg, fd);
        free(g);
        return;
    }
    uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, on_guest);
    listener->open++;
    listener->waiting++;
    g->prev = listener->last;
    *(listener->last ? &listener->last->next : &listener->first) = g;
    listener->last = g;
}

/* ---- accepting ---- */

static void on_knock(uv_poll_t *poll, int status, int events);

static void on_pause(uv_timer_t *timer)
{
    struct http_listener *listener = timer->data;
    uv_poll_start(&listener->poll, UV_READABLE, on_knock);
}

/* Those who come meanwhile wait in the socket's backlog. */
static void pause_a_while(struct http_listener *listener)
{
    uv_poll_stop(&listener->poll);
    uv_timer_start(&listener->pause, on_pause, PAUSE_MS, 0);
}

/* false: those who are sent away now are to be gone before others come. */
static bool let_in(struct http_listener *listener, int fd, const struct peer *peer)
{
    bool full;
    if (visit_begin(listener->to.visits, fd, listener->kind != LISTEN_PLAIN, peer, &full) &&
        show_in(listener, fd, peer) == 0)
        wait_for(listener, fd, peer);
    return !full;
}

static void on_knock(uv_poll_t *poll, int status, int events)
{
    struct http_listener *listener = poll->data;
    (void)status;
    (void)events;
    for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
        if (listener->kind == LISTEN_PLAIN && listener->to.is_full(listener->to.arg)) {
            pause_a_while(listener);
            break;
        }
        struct peer peer = { .len = sizeof peer.at };
        int fd = accept4(listener->fd, (struct sockaddr *)&peer.at, &peer.len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (let_in(listener, fd, &peer))
                continue;
            break;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_a_while(listener);
        if (errno != EINTR && errno != ECONNABORTED)
            break;
    }
    listener->to.run(listener->to.arg, listener->kind);
}

/* ---- life ---- */

struct http_listener *http_listener_open(const struct incoming *to, enum listener_kind kind, int fd)
{
    struct http_listener *listener = mem_new(sizeof *listener);
    listener->to = *to;
    listener->kind = kind;
    listener->fd = fd;
    listener->open = 2;
    uv_poll_init(to->loop, &listener->poll, fd);
    uv_timer_init(to->loop, &listener->pause);
    listener->poll.data = listener->pause.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_knock);
    return listener;
}

static void on_own_closed(uv_handle_t *handle)
{
    free_listener_at_last(handle->data);
}

void http_listener_close(struct http_listener *listener)
{
    if (!listener || listener->closing)
        return;
    listener->closing = true;
    while (listener->first)
        listener->to.drop(listener->to.arg, let_go(listener->first));
    uv_close((uv_handle_t *)&listener->poll, on_own_closed);
    uv_close((uv_handle_t *)&listener->pause, on_own_closed);
    close(listener->fd);
}

unsigned http_listener_waiting(const struct http_listener *listener)
{
    return listener ? listener->waiting : 0;
}
