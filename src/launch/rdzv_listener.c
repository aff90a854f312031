/* Telling callers apart. A caller has KNOCK_MS to say who it is, and so many may wait meanwhile;
 * beyond that the oldest has to go, so that strangers cannot lock others out. */
#include "launch/rdzv_listener.h"

#include "base/mem.h"
#include "base/vec.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define KNOCK_MS   10000u
#define KNOCKS_MAX 4096u
#define TOKEN_MAX  128u
#define OUT_MAX    (64u << 20)

const struct conn_terms launcher_terms = {
    .kinds = RDZV_KINDS,
    .out_max = OUT_MAX,
    .room = OUT_MAX,
    .handshake_ms = KNOCK_MS,
    .strange = "it says what no launcher of this version says",
};

struct knock {
    struct rdzv_listener *listener;
    struct conn *conn;
};

struct rdzv_listener {
    uv_loop_t *loop;
    struct rdzv_listener_sink sink;
    VEC(struct knock *) knocks; /* oldest first */
    char preface[RDZV_PREFACE_MAX + 1];
    struct listener *listener;
};

int rdzv_listener_preface(char out[RDZV_PREFACE_MAX + 1], const char *token, struct err *err)
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

/* Gives the connection to the caller of this. */
static struct conn *take_caller(struct knock *knock)
{
    struct rdzv_listener *listener = knock->listener;
    struct conn *conn = knock->conn;
    for (size_t i = 0; i < listener->knocks.n; i++)
        if (listener->knocks.at[i] == knock) {
            vec_remove(&listener->knocks, i);
            break;
        }
    free(knock);
    return conn;
}

/* All bytes are looked at whatever the first difference is. */
static bool same(const char *a, const char *b, size_t n)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

static ssize_t on_said(void *arg, struct conn *conn, char *said, size_t n)
{
    struct knock *knock = arg;
    struct rdzv_listener *listener = knock->listener;
    const size_t head = sizeof RDZV_PREFACE - 1;
    (void)conn;
    if (said[0] == '\0') {
        listener->sink.c10d(listener->sink.arg, conn_release(take_caller(knock)), said, n);
        return 0;
    }
    if (memcmp(said, RDZV_PREFACE, n < head ? n : head) != 0)
        return -1;
    const char *end = memchr(said, '\n', n < RDZV_PREFACE_MAX ? n : RDZV_PREFACE_MAX);
    if (!end)
        return n < RDZV_PREFACE_MAX ? 0 : -1;
    size_t line = (size_t)(end + 1 - said);
    bool good = line == strlen(listener->preface) && same(said, listener->preface, line);
    listener->sink.caller(listener->sink.arg, take_caller(knock), good);
    return (ssize_t)line;
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    (void)why;
    (void)take_caller(arg);
}

static void on_knock(void *arg, int fd)
{
    struct rdzv_listener *listener = arg;
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (listener->knocks.n >= KNOCKS_MAX)
        conn_close(take_caller(listener->knocks.at[0]));
    struct knock *knock = mem_new(sizeof *knock);
    knock->listener = listener;
    knock->conn =
        conn_create(listener->loop, fd, &launcher_terms,
                    (struct conn_events){ .bytes = on_said, .closed = on_closed, .arg = knock });
    vec_push(&listener->knocks, knock);
}

/* ---- the listener ---- */

struct rdzv_listener *rdzv_listener_open(uv_loop_t *loop, struct listen_place *place,
                                         const char *preface, struct rdzv_listener_sink sink,
                                         struct err *err)
{
    int fd = listener_open_tcp(place, err);
    if (fd < 0)
        return NULL;
    struct rdzv_listener *listener = mem_new(sizeof *listener);
    listener->loop = loop;
    listener->sink = sink;
    snprintf(listener->preface, sizeof listener->preface, "%s", preface);
    listener->listener =
        listener_create(loop, fd, (struct listener_sink){ .caller = on_knock, .arg = listener });
    return listener;
}

void rdzv_listener_close(struct rdzv_listener *listener)
{
    if (!listener)
        return;
    while (listener->knocks.n > 0)
        conn_close(take_caller(listener->knocks.at[listener->knocks.n - 1]));
    vec_fini(&listener->knocks);
    listener_destroy(listener->listener);
    free(listener);
}

uint16_t rdzv_listener_port(const struct rdzv_listener *listener)
{
    return listener_port(listener->listener);
}
