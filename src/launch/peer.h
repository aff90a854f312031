/* A connection that carries rendezvous frames: TCP (with the preface) or the agent's socket. */
#ifndef LAUNCH_PEER_H
#define LAUNCH_PEER_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/rendezvous.h"

#include <uv.h>

struct peer;
struct peer_sink {
    int (*frame)(void *arg, struct peer *, const struct rdzv_frame_in *); /* -1: not understood */
    void (*up)(void *arg, struct peer *);                                 /* connected */
    void (*lost)(void *arg, struct peer *, const char *why); /* last call; it frees itself */
    void *arg;
};
/* Numeric address and port; connecting takes at most timeout_ms, then lost. */
struct peer *peer_connect(uv_loop_t *, const char *addr, uint16_t port, const char *preface,
                          uint64_t timeout_ms, struct peer_sink);
/* The agent's socket: first bytes are the attempt's cookie and a newline. */
struct peer *peer_connect_unix(uv_loop_t *, const char *path, const char *cookie, struct peer_sink);
/* connect() of a Unix socket. Its name holds 107 bytes; longer paths are reached through a
 * descriptor of their directory. 0 or errno. */
int peer_connect_path(int fd, const char *path);
/* An accepted socket whose preface was read already; extra bytes count as read. */
struct peer *peer_adopt(uv_loop_t *, int fd, const void *extra, size_t len, struct peer_sink);
void peer_close(struct peer *); /* NULL-safe; no further call of the sink */
struct buf *peer_out(struct peer *);
void peer_flush(struct peer *);
const char *peer_local_addr(const struct peer *); /* of this end, numeric; "" before up */
const char *peer_remote_addr(const struct peer *);

#endif
