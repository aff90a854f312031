/* The framing of WebSockets (RFC 6455), the server's end: bytes in, messages out, and back. It knows
 * no socket. */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define WEBSOCKET_MESSAGE_MAX (1u << 20)
#define WEBSOCKET_ACCEPT      29

/* Sec-WebSocket-Accept of a client's Sec-WebSocket-Key; false: that is no such key. */
bool websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT]);

enum websocket_kind {
    WEBSOCKET_MORE, /* of a message in pieces; only on the wire */
    WEBSOCKET_TEXT, /* valid UTF-8, checked when it is whole */
    WEBSOCKET_BINARY,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING,
    WEBSOCKET_PONG
};
enum websocket_code { /* why it closes */
    WEBSOCKET_DONE = 1000,
    WEBSOCKET_AWAY = 1001,
    WEBSOCKET_BROKEN = 1002,
    WEBSOCKET_NO_TEXT = 1007,
    WEBSOCKET_TOO_LARGE = 1009
};
struct websocket {
    struct buf pieces; /* of a message whose end is still to come */
    enum websocket_kind begun;
    enum websocket_code fault;
};
struct websocket_message {
    enum websocket_kind kind; /* MORE: a piece was taken, nothing is whole */
    const char *data;         /* inside the input, or of the websocket; until the next call */
    size_t len;
};
void websocket_init(struct websocket *);
void websocket_fini(struct websocket *);
/* One frame from the front of data, which is unmasked in place. 1: *out, *used bytes are done; 0:
 * more bytes are needed; -1: broken, for the reason in fault. */
int websocket_next(struct websocket *, char *data, size_t len, struct websocket_message *out,
                   size_t *used);

/* A frame to the client: whole, not masked. */
void websocket_put(struct buf *, enum websocket_kind, const void *data, size_t len);
void websocket_put_close(struct buf *, enum websocket_code);

#endif
