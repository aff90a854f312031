/* Connect, ask for the upgrade, then frames both ways on the same socket. Every failure leads to
 * the same place: close, tell the owner, try again (route.c says where and when).
 * Only an answer that says "this token is no more" ends it. Nothing is
 * remembered across connections: the owner repeats what the server may not have. */
#include "node/uplink.h"

#include "base/log.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "node/conf.h"
#include "node/route.h"
#include "tls/client.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define STEADY_MS 1000u /* a connection that held so long was a good one */
#define HEAD_MAX  8192u /* of the answer */
#define DIR_GONE  410   /* as if the server had said so */

struct uplink {
    char *dir;
    int (*read_conf)(const char *dir, struct conf *, struct err *);
    struct uplink_sink sink;
    uv_loop_t *loop;
    struct conn *conn; /* NULL: it waits for the next try */
    bool up;
    struct route *route;
    uv_timer_t retry;
    uint64_t up_since;  /* loop time */
    struct buf nowhere; /* what is written while there is no connection */
    bool has_known;
    struct conf known; /* as it was read last */
};

static void try_later(struct uplink *link, uint64_t wait_ms);
static void try_now(struct uplink *link);

struct uplink *uplink_create(uv_loop_t *loop, const char *dir, struct uplink_sink sink)
{
    struct uplink *link = mem_new(sizeof *link);
    link->dir = mem_strdup(dir);
    link->read_conf = conf_read;
    link->sink = sink;
    link->loop = loop;
    link->route = route_create();
    uv_timer_init(loop, &link->retry);
    link->retry.data = link;
    return link;
}

struct uplink *uplink_create_host(uv_loop_t *loop, const char *dir, struct uplink_sink sink)
{
    struct uplink *link = uplink_create(loop, dir, sink);
    link->read_conf = conf_read_host;
    return link;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct uplink *link = handle->data;
    route_destroy(link->route);
    free(link->dir);
    free(link);
}

static void disconnect(struct uplink *link)
{
    conn_close(TAKE(link->conn));
    link->up = false;
}

void uplink_destroy(struct uplink *link)
{
    if (!link)
        return;
    disconnect(link);
    uv_close((uv_handle_t *)&link->retry, on_timer_closed);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct uplink *link = arg;
    bool was_up = link->up;
    /* A server that takes the connection and drops it at once is not hurried. */
    bool good = was_up && uv_now(link->loop) - link->up_since >= STEADY_MS;
    (void)conn;
    link->conn = NULL;
    link->up = false;
    if (was_up)
        link->sink.lost(link->sink.arg);
    try_later(link, route_lost(link->route, good, why));
}

/* ---- out ---- */

void uplink_flush(struct uplink *link)
{
    if (link->conn)
        conn_flush(link->conn);
}

uv_loop_t *uplink_loop(const struct uplink *link)
{
    return link->loop;
}

struct route *uplink_route(struct uplink *link)
{
    return link->route;
}

void uplink_take_session(struct uplink *link, int fd)
{
    unsigned char session[TLS_SESSION_MAX];
    if (fd < 0)
        return;
    ssize_t n = pread(fd, session, sizeof session, 0);
    close(fd);
    if (n > 0)
        route_load_session(link->route, session, (size_t)n);
    explicit_bzero(session, sizeof session);
}

bool uplink_is_up(const struct uplink *link)
{
    return link->up;
}

struct buf *uplink_out(struct uplink *link)
{
    return link->conn ? conn_out(link->conn) : &link->nowhere;
}

bool uplink_has_room(const struct uplink *link)
{
    return link->up && conn_has_room(link->conn);
}

/* ---- in ---- */

static void refuse(struct uplink *link, int status)
{
    disconnect(link);
    link->sink.refused(link->sink.arg, status);
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct uplink *link = arg;
    (void)conn;
    if (link->sink.frame(link->sink.arg, frame) == 0)
        return 0;
    log_error("frame.bad", "kind=%d bytes=%zu", (int)frame->kind, frame->len);
    return -1;
}

static void on_room(void *arg, struct conn *conn)
{
    struct uplink *link = arg;
    (void)conn;
    link->sink.writable(link->sink.arg);
}

/* The answer to the request. */
static ssize_t on_answer(void *arg, struct conn *conn, char *text, size_t len)
{
    static const char head[] = "HTTP/1.1 ";
    struct uplink *link = arg;
    const char *end = memmem(text, len, "\r\n\r\n", 4);
    if (!end)
        return len < HEAD_MAX ? 0 : -1;
    if (strncmp(text, head, sizeof head - 1) != 0)
        return -1;
    long status = strtol(text + sizeof head - 1, NULL, 10);
    if (status == 401 || status == 403 || status == 404 || status == 410) {
        refuse(link, (int)status);
        return 0;
    }
    if (status != 101)
        return -1;
    conn_set_events(conn,
                    (struct conn_events){
                        .frame = on_frame, .room = on_room, .closed = on_closed, .arg = link });
    route_agreed(link->route, conn);
    link->up = true;
    link->up_since = uv_now(link->loop);
    link->sink.connected(link->sink.arg, conn_out(conn));
    conn_flush(conn);
    return end + 4 - text;
}

/* ---- connecting ---- */

static void on_retry(uv_timer_t *timer)
{
    try_now(timer->data);
}

static void try_later(struct uplink *link, uint64_t wait_ms)
{
    uv_timer_start(&link->retry, on_retry, wait_ms, 0);
}

static void try_now(struct uplink *link)
{
    struct conf conf;
    struct err err;
    if (link->read_conf(link->dir, &conf, &err) == 0) {
        link->known = conf;
        link->has_known = true;
    } else if (access(link->dir, F_OK) != 0 && errno == ENOENT) {
        refuse(link, DIR_GONE); /* its directory was removed: nobody will ever call again */
        return;
    } else if (!link->has_known) {
        log_warn("conf.unreadable", "%s", err.what);
        try_later(link, route_lost(link->route, false, err.what));
        return;
    }
    route_set(link->route, &link->known);
    link->conn =
        route_connect(link->route, link->loop,
                      (struct conn_events){ .bytes = on_answer, .closed = on_closed, .arg = link });
    buf_addf(conn_out(link->conn),
             "GET /v1/agents HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\n"
             "Upgrade: muster/%d\r\nAuthorization: Bearer %s\r\n\r\n",
             WIRE_VERSION, link->known.token);
    conn_flush(link->conn);
}

void uplink_start(struct uplink *link)
{
    try_now(link);
}
