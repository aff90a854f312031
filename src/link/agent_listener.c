/* A server that was restarted is called by all of its agents at once, and handshakes take longer
 * than accepts: while as many strangers as may be are there, others wait in the queue of the socket
 * (their kernel has connected them) instead of pushing each other out. Only a stranger that has
 * been there for STALE_MS makes room, so that those who never say a word hold nobody up for long.
 */
#include "link/agent_listener.h"

#include "base/log.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "conn/splice.h"
#include "tls/server.h"

#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#define STRANGERS      512u
#define STRANGER_MS    10000u
#define STALE_MS       2000u
#define CALLERS        256u
#define CALLER_OUT_MAX (1u << 20)
#define CALLER_ROOM    (256u << 10)
#define REQUEST_MAX    4096u
#define TCP_SILENCE_MS 10000u
#define REQUEST        "GET /v1/agents HTTP/1.1\r\n"
#define TOKEN          "\r\nAuthorization: Bearer "
#define UPGRADE        "\r\nUpgrade: muster/1\r\n"
#define UPGRADE_HTTP   "\r\nUpgrade: muster-http/1\r\n"
#define TOKEN_MAX      160u

/* An agent says something every second. One that hangs with its machine is noticed after so long
 * (doc/machines.md), and comes again when it was only slow. */
static const struct conn_keep_alive_terms beat = { .kind = WIRE_PING,
                                                   .ask_ms = 1500,
                                                   .silence_ms = 3000 };

struct stranger {
    struct agent_listener *of;
    struct stranger *prev, *next; /* in the order of their coming */
    struct conn *conn;
    struct transport *transport;
    uint64_t since;
};
struct caller { /* a program of a task, on its way to the server's HTTP */
    struct agent_listener *of;
    struct caller *prev, *next;
    struct splice *splice;
};
struct agent_listener {
    struct link_hub *hub;
    struct agent_listener_config config;
    struct listener *listener;
    struct stranger first; /* of the ring; no stranger */
    struct caller callers; /* the same */
    struct agent_listener_counts counts;
    uv_timer_t stale;
};

static void forget(struct stranger *s)
{
    struct agent_listener *l = s->of;
    s->prev->next = s->next;
    s->next->prev = s->prev;
    l->counts.strangers--;
    free(s);
    uv_timer_stop(&l->stale);
    listener_hold(l->listener, false);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    log_debug("agent.stranger", "reason=\"%s\"", why);
    forget(arg);
}

/* ---- what they say ---- */

static ssize_t ignore(void *arg, struct conn *conn, char *at, size_t len)
{
    (void)arg;
    (void)conn;
    (void)at;
    return (ssize_t)len;
}

static void answer(struct stranger *s, const char *status)
{
    s->of->counts.refused++;
    conn_set_events(s->conn,
                    (struct conn_events){ .bytes = ignore, .closed = on_closed, .arg = s });
    buf_addf(conn_out(s->conn), "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
             status);
    conn_flush(s->conn);
    conn_finish(s->conn);
}

static bool read_token(const char *head, char token[TOKEN_MAX])
{
    const char *at = strstr(head, TOKEN);
    size_t len = at ? strcspn(at + strlen(TOKEN), "\r") : 0;
    if (len == 0 || len >= TOKEN_MAX)
        return false;
    memcpy(token, at + strlen(TOKEN), len);
    token[len] = '\0';
    return true;
}

static void join(struct stranger *s, const char *token)
{
    struct agent_listener *l = s->of;
    struct conn *conn = s->conn;
    l->counts.joined++;
    l->counts.resumed += tls_server_resumed(s->transport);
    buf_puts(conn_out(conn), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                             "Upgrade: muster/1\r\n\r\n");
    link_adopt(l->hub, token, conn);
    conn_keep_alive(conn, &beat);
    conn_flush(conn);
    forget(s);
}

/* ---- programs of tasks ---- */

static void forget_caller(void *arg)
{
    struct caller *c = arg;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->of->counts.callers--;
    free(c);
}

/* What it says goes to the server's HTTP over a pair of sockets. */
static void connect_caller(struct stranger *s)
{
    struct agent_listener *l = s->of;
    struct conn *conn = s->conn;
    const struct conn_terms terms = { .out_max = CALLER_OUT_MAX, .room = CALLER_ROOM };
    char address[ADDRESS_MAX];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        answer(s, "503 Service Unavailable");
        return;
    }
    conn_address(conn, true, address);
    buf_puts(conn_out(conn), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                             "Upgrade: muster-http/1\r\n\r\n");
    conn_admit(conn);
    struct caller *c = mem_new(sizeof *c);
    *c = (struct caller){ .of = l, .prev = l->callers.prev, .next = &l->callers };
    c->prev->next = c->next->prev = c;
    l->counts.callers++;
    struct conn *inner = conn_create(link_loop(l->hub), ends[0], &terms, (struct conn_events){ 0 });
    c->splice =
        splice_create(conn, inner, (struct splice_sink){ .ended = forget_caller, .arg = c });
    conn_flush(conn);
    forget(s);
    l->config.caller(l->config.caller_arg, ends[1], address);
}

/* ---- requests ---- */

static void serve(struct stranger *s, const char *head, const char *token)
{
    const struct agent_listener *l = s->of;
    const struct link_hub *hub = l->hub;
    bool calls = l->config.caller && strstr(head, UPGRADE_HTTP);
    if (!calls && link_holds(hub, token))
        answer(s, "503 Service Unavailable");
    else if (!link_knows(hub, token))
        answer(s, "401 Unauthorized");
    else if (calls && l->counts.callers >= l->config.callers)
        answer(s, "503 Service Unavailable");
    else if (calls)
        connect_caller(s);
    else if (!strstr(head, UPGRADE))
        answer(s, "426 Upgrade Required");
    else
        join(s, token);
}

static ssize_t on_request(void *arg, struct conn *conn, char *at, size_t len)
{
    struct stranger *s = arg;
    char token[TOKEN_MAX], head[REQUEST_MAX];
    const char *end = memmem(at, len, "\r\n\r\n", 4);
    size_t used = end ? (size_t)(end - at) + 4 : len;
    (void)conn;
    if (used >= sizeof head || memchr(at, '\0', used) ||
        strncmp(at, REQUEST, used < strlen(REQUEST) ? used : strlen(REQUEST)) != 0)
        return -1;
    if (!end)
        return 0;
    memcpy(head, at, used);
    head[used] = '\0';
    if (read_token(head, token))
        serve(s, head, token);
    else
        answer(s, "401 Unauthorized");
    memset(token, 0, sizeof token);
    memset(head, 0, sizeof head);
    return (ssize_t)used;
}

/* ---- coming ---- */

static struct transport *over_tls(void *arg, int fd)
{
    struct stranger *s = arg;
    return s->transport = tls_server_transport(s->of->config.tls, fd);
}

static void make_room(struct agent_listener *l);

static void on_stale(uv_timer_t *timer)
{
    make_room(timer->data);
}

/* Who has been there for longest goes when it has had its time; else the others wait until then. */
static void make_room(struct agent_listener *l)
{
    if (l->counts.strangers < l->config.strangers)
        return;
    struct stranger *oldest = l->first.next;
    uint64_t now = uv_now(link_loop(l->hub)), until = oldest->since + STALE_MS;
    if (until <= now) {
        conn_close(oldest->conn);
        forget(oldest);
        return;
    }
    listener_hold(l->listener, true);
    uv_timer_start(&l->stale, on_stale, until - now, 0);
}

static void on_caller(void *arg, int fd)
{
    struct agent_listener *l = arg;
    struct stranger *s = mem_new(sizeof *s);
    const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                      .out_max = LINK_OUT_MAX,
                                      .room = LINK_OUT_ROOM,
                                      .handshake_ms = l->config.stranger_ms,
                                      .tcp_silence_ms = TCP_SILENCE_MS,
                                      .over = over_tls,
                                      .over_arg = s };
    *s = (struct stranger){
        .of = l, .since = uv_now(link_loop(l->hub)), .prev = l->first.prev, .next = &l->first
    };
    s->prev->next = s->next->prev = s;
    l->counts.strangers++;
    s->conn =
        conn_create(link_loop(l->hub), fd, &terms,
                    (struct conn_events){ .bytes = on_request, .closed = on_closed, .arg = s });
    make_room(l);
}

/* ---- life ---- */

struct agent_listener *agent_listener_create(struct link_hub *hub,
                                             const struct agent_listener_config *config,
                                             struct err *err)
{
    struct listen_place place = { .addr = config->addr, .port = config->port };
    int fd = listener_open_tcp(&place, err);
    if (fd < 0)
        return NULL;
    struct agent_listener *l = mem_new(sizeof *l);
    l->hub = hub;
    l->config = *config;
    l->config.addr = NULL; /* not kept */
    l->config.strangers = config->strangers ? config->strangers : STRANGERS;
    l->config.stranger_ms = config->stranger_ms ? config->stranger_ms : STRANGER_MS;
    l->config.callers = config->callers ? config->callers : CALLERS;
    l->first.prev = l->first.next = &l->first;
    l->callers.prev = l->callers.next = &l->callers;
    uv_timer_init(link_loop(hub), &l->stale);
    l->stale.data = l;
    l->listener = listener_create(link_loop(hub), fd,
                                  (struct listener_sink){ .caller = on_caller, .arg = l });
    return l;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void agent_listener_destroy(struct agent_listener *l)
{
    if (!l)
        return;
    for (struct stranger *s = l->first.next, *next; s != &l->first; s = next) {
        next = s->next;
        conn_close(s->conn);
        forget(s);
    }
    for (struct caller *c = l->callers.next, *next; c != &l->callers; c = next) {
        next = c->next;
        splice_destroy(c->splice);
        forget_caller(c);
    }
    listener_destroy(l->listener);
    uv_close((uv_handle_t *)&l->stale, on_timer_closed);
}

uint16_t agent_listener_port(const struct agent_listener *l)
{
    return listener_port(l->listener);
}

struct agent_listener_counts agent_listener_counts(const struct agent_listener *l)
{
    return l->counts;
}
