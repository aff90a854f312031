/* A caller is not read before the server has agreed. When it cannot be reached at any of its
 * addresses the caller is hung up on, as by a server that is not there: programs ask again. */
#include "node/gateway.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/socket_path.h"
#include "conn/listener.h"
#include "conn/splice.h"
#include "node/conf.h"
#include "node/route.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLERS_MAX 64u
#define HEAD_MAX    4096u
#define OUT_MAX     (1u << 20)
#define ROOM        (256u << 10)

/* Connections go by it until they end; a server with another certificate is called by another. */
struct shared_route {
    struct route *route;
    unsigned users;
    char pin[sizeof((struct conf *)NULL)->pin];
};
struct caller {
    struct gateway *of;
    struct caller *prev, *next;
    struct conn *near, *far; /* until they are joined */
    struct splice *splice;   /* then */
    struct shared_route *way;
    size_t tries; /* further addresses */
    char token[sizeof((struct conf *)NULL)->token];
};
struct gateway {
    uv_loop_t *loop;
    char *path, *conf_dir;
    struct listener *listener;
    struct shared_route *way; /* newest; NULL: nobody has called */
    struct caller first;      /* of the ring; no caller */
    unsigned callers;
};

/* ---- the way ---- */

static void leave_way(struct shared_route *way)
{
    if (!way || --way->users > 0)
        return;
    route_destroy(way->route);
    free(way);
}

static struct shared_route *take_way(struct gateway *gateway, const struct conf *conf)
{
    if (!gateway->way || strcmp(gateway->way->pin, conf->pin) != 0) {
        leave_way(gateway->way);
        gateway->way = mem_new(sizeof *gateway->way);
        *gateway->way = (struct shared_route){ .route = route_create(), .users = 1 };
        memcpy(gateway->way->pin, conf->pin, sizeof conf->pin);
    }
    route_set(gateway->way->route, conf);
    gateway->way->users++;
    return gateway->way;
}

/* ---- the end ---- */

static void forget(void *arg)
{
    struct caller *c = arg;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->of->callers--;
    leave_way(c->way);
    explicit_bzero(c->token, sizeof c->token);
    free(c);
}

static void hang_up(struct caller *c)
{
    conn_close(c->near);
    conn_close(c->far);
    forget(c);
}

static void on_near_closed(void *arg, struct conn *conn, const char *why)
{
    struct caller *c = arg;
    (void)conn;
    (void)why;
    c->near = NULL;
    hang_up(c);
}

/* ---- to the server ---- */

static void call_server(struct caller *c);

static void on_far_closed(void *arg, struct conn *conn, const char *why)
{
    struct caller *c = arg;
    (void)conn;
    c->far = NULL;
    (void)route_lost(c->way->route, false, why);
    if (c->tries > 0) {
        c->tries--;
        call_server(c);
    } else {
        hang_up(c);
    }
}

static ssize_t on_answer(void *arg, struct conn *conn, char *text, size_t len)
{
    static const char agreed[] = "HTTP/1.1 101 ";
    struct caller *c = arg;
    const char *end = memmem(text, len, "\r\n\r\n", 4);
    if (!end)
        return len < HEAD_MAX ? 0 : -1;
    if (strncmp(text, agreed, sizeof agreed - 1) != 0) {
        log_warn("caller.refused", "answer=\"%.*s\"", (int)strcspn(text, "\r"), text);
        hang_up(c);
        return 0;
    }
    conn_admit(conn);
    c->splice = splice_create(TAKE(c->near), TAKE(c->far),
                              (struct splice_sink){ .ended = forget, .arg = c });
    return end + 4 - text;
}

static void call_server(struct caller *c)
{
    c->far = route_connect(
        c->way->route, c->of->loop,
        (struct conn_events){ .bytes = on_answer, .closed = on_far_closed, .arg = c });
    buf_addf(conn_out(c->far),
             "GET /v1/agents HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\n"
             "Authorization: Bearer %s\r\nUpgrade: muster-http/1\r\n\r\n",
             c->token);
    conn_flush(c->far);
}

/* ---- callers ---- */

static ssize_t on_early(void *arg, struct conn *conn, char *at, size_t len)
{
    (void)arg;
    (void)conn;
    (void)at;
    (void)len;
    return 0; /* it is watched only */
}

static void on_caller(void *arg, int fd)
{
    static const struct conn_terms terms = { .out_max = OUT_MAX, .room = ROOM };
    struct gateway *gateway = arg;
    struct conf conf;
    struct err err;
    if (gateway->callers >= CALLERS_MAX || conf_read(gateway->conf_dir, &conf, &err) != 0 ||
        conf.n_places == 0) {
        close(fd);
        return;
    }
    struct caller *c = mem_new(sizeof *c);
    *c = (struct caller){ .of = gateway,
                          .prev = gateway->first.prev,
                          .next = &gateway->first,
                          .way = take_way(gateway, &conf),
                          .tries = conf.n_places - 1 };
    c->prev->next = c->next->prev = c;
    gateway->callers++;
    memcpy(c->token, conf.token, sizeof c->token);
    explicit_bzero(&conf, sizeof conf);
    c->near =
        conn_create(gateway->loop, fd, &terms,
                    (struct conn_events){ .bytes = on_early, .closed = on_near_closed, .arg = c });
    conn_read(c->near, CONN_WATCHES);
    call_server(c);
}

/* ---- life ---- */

struct gateway *gateway_create(uv_loop_t *loop, const char *dir, const char *conf_dir,
                               struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, GATEWAY_SOCKET);
    if (socket_path_check(path, err) < 0)
        return NULL;
    int fd = listener_open_unix(path, err);
    if (fd < 0)
        return NULL;
    struct gateway *gateway = mem_new(sizeof *gateway);
    gateway->loop = loop;
    gateway->path = TAKE(path);
    gateway->conf_dir = mem_strdup(conf_dir);
    gateway->first.prev = gateway->first.next = &gateway->first;
    gateway->listener =
        listener_create(loop, fd, (struct listener_sink){ .caller = on_caller, .arg = gateway });
    return gateway;
}

void gateway_destroy(struct gateway *gateway)
{
    if (!gateway)
        return;
    for (struct caller *c = gateway->first.next, *next; c != &gateway->first; c = next) {
        next = c->next;
        splice_destroy(c->splice);
        hang_up(c);
    }
    listener_destroy(gateway->listener);
    (void)unlink(gateway->path);
    leave_way(gateway->way);
    free(gateway->path);
    free(gateway->conf_dir);
    free(gateway);
}
