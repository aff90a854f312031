/* One connection that carries frames, or bytes before them: whoever connected or was called, over
 * whatever transport. It reads while its owner wants to, keeps what the socket does not take up to
 * a bound, and looks after its own deadlines.
 *
 * Events come from the loop only, never from inside a call of the owner, who is in the middle of
 * something. The owner may close the connection inside any of them. */
#ifndef CONN_CONN_H
#define CONN_CONN_H

#include "base/buf.h"
#include "conn/address.h"
#include "conn/transport.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <uv.h>

struct conn;
struct conn_events {
    /* While this is there, input is bytes: as many as it took (those it may change), the others
     * come again with more behind them; -1: not understood. The owner bounds how many it leaves. */
    ssize_t (*bytes)(void *arg, struct conn *, char *at, size_t len);
    int (*frame)(void *arg, struct conn *, const struct wire_frame *); /* -1: not understood */
    /* It is connected, and the transport has agreed. Not told for a socket that was at once. */
    void (*up)(void *arg, struct conn *);
    void (*room)(void *arg, struct conn *); /* conn_has_room again, after it had none */
    /* The last call; it frees itself. why: for people. */
    void (*closed)(void *arg, struct conn *, const char *why);
    void *arg;
};

struct conn_terms {
    struct wire_kinds kinds; /* of frames that it reads */
    size_t out_max;          /* what waits to be sent; beyond it, the connection is closed */
    size_t room;             /* fewer bytes than these wait: it has room */
    /* After connecting, or after having called, until conn_admit; 0: as long as it takes. */
    uint64_t handshake_ms;
    /* Of TCP: the kernel asks a quiet other end, and gives up when it has not answered, or not
     * acknowledged what was sent, for so long; 0: left as it is. A machine that hangs still answers
     * there: that is what conn_keep_alive is for. */
    uint64_t tcp_silence_ms;
    /* NULL: transport_plain. */
    struct transport *(*over)(void *over_arg, int fd);
    void *over_arg;      /* outlives the connection */
    const char *strange; /* why it is closed when it was not understood */
};
#define CONN_AGENT_KINDS                                                                           \
    {                                                                                              \
        WIRE_NONE + 1, WIRE_KIND_N                                                                 \
    }

/* A connected socket, taken over. */
struct conn *conn_create(uv_loop_t *, int fd, const struct conn_terms *, struct conn_events);
/* Bytes that were read from the socket already, handed on from the loop. */
void conn_unread(struct conn *, const void *bytes, size_t len);

struct conn_target { /* path, or a numeric address and port */
    const char *path, *addr;
    uint16_t port;
};
struct conn *conn_connect(uv_loop_t *, const struct conn_target *, const struct conn_terms *,
                          struct conn_events);

/* No further event. What waits to be sent is dropped. NULL-safe. */
void conn_close(struct conn *);
/* Reads no more, sends what waits, says the end and goes when the other end has closed as well:
 * closed is told then, or when none of it is taken or the other end does not close for too long. */
void conn_finish(struct conn *);
/* The socket, with nothing of it read or written any more; the connection is closed without it, and
 * what was sent and still waited is dropped. Only of a plain transport. */
int conn_release(struct conn *);

void conn_set_events(struct conn *, struct conn_events); /* the next input goes there */
void conn_admit(struct conn *);                          /* it is known who that is */

/* What to do about input: take it, leave it in the socket (back-pressure), or leave it and still
 * notice that the other end has gone. */
enum conn_reading { CONN_READS, CONN_HOLDS, CONN_WATCHES };
void conn_read(struct conn *, enum conn_reading);

/* Frames or bytes are appended to conn_out, then flushed. Before it is up they wait. */
struct buf *conn_out(struct conn *);
void conn_flush(struct conn *);
bool conn_has_room(const struct conn *);

/* From now on a frame of this kind, without a body, goes out when nothing was heard for ask_ms; and
 * the connection is closed when nothing was for silence_ms, which is more. The other end answers
 * with any frame. ask_ms 0: off, as in the beginning. */
struct conn_keep_alive_terms {
    unsigned kind;
    uint64_t ask_ms, silence_ms;
};
void conn_keep_alive(struct conn *, const struct conn_keep_alive_terms *);
/* What is due at that time of the loop's clock (uv_now) is done. The connection calls it itself. */
void conn_pass_time(struct conn *, uint64_t now_ms);

uint64_t conn_quiet_ms(const struct conn *); /* since something came, by the loop's clock */
void conn_address(const struct conn *, bool remote, char out[ADDRESS_MAX]);

#endif
