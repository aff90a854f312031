/* Inside of the store server: one connection, and what connections share. Private to store*.c. */
#ifndef LAUNCH_STORE_CONN_H
#define LAUNCH_STORE_CONN_H

#include "base/buf.h"
#include "launch/store_scan.h"
#include "launch/store_table.h"

#include <sys/queue.h>
#include <uv.h>

#define STORE_SCRATCH 65536u

struct store_conn;
TAILQ_HEAD(store_conns, store_conn);

/* What all connections of one store share. */
struct store_core {
    uv_loop_t *loop;
    struct store_limits limits;
    struct store_table *table;
    struct store_conns all;   /* oldest first */
    struct store_conns fresh; /* the magic has not come yet; oldest first */
    struct store_conns due;   /* something to send, or to be closed */
    unsigned n_conns;
    size_t buffers; /* bytes in buffers of connections */
    char scratch[STORE_SCRATCH];
    /* Does a whole request: answers go to the connection, which may be doomed by it. */
    void (*request)(struct store_conn *, const char *bytes);
    void (*gone)(struct store_core *); /* libuv has let go of one connection's handle */
    unsigned handles;                  /* of connections, known to libuv */
};
/* Bytes that may still be stored or buffered. */
size_t store_room(const struct store_core *);

struct store_conn {
    struct store_core *core;
    TAILQ_ENTRY(store_conn) in_all, in_fresh, in_due;
    uv_poll_t poll;
    int fd, watched;
    struct store_scan scan; /* of the request that is not whole yet */
    struct store_await await;
    uint64_t since_ms;
    char *in; /* a request that is not whole yet; requests that wait for room to answer */
    size_t in_len, in_cap;
    struct buf out;
    size_t sent;
    bool greeted, is_due;
    bool stalled; /* reads no further requests until answers were taken */
    bool doomed;
};

/* Takes the socket; bytes that were read from it already come first. */
void store_conn_open(struct store_core *, int fd, struct store_span bytes);
void store_conn_close(struct store_conn *);
/* An answer; one that does not fit dooms the connection. */
void store_conn_put(struct store_conn *, const void *bytes, size_t len);
void store_conn_doom(struct store_conn *, const char *why);
void store_conn_greeted(struct store_conn *);
struct store_conn *store_conn_of(struct store_await *);
/* Sends what is to be sent and closes what is to be closed: the end of every callback. */
void store_settle(struct store_core *);

#endif
