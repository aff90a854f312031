/* A c10d TCP store server: what torch.distributed.TCPStore clients talk to (reference: the
 * protocol facts of torch 2.13, both servers; where they differ, the libuv one). One store is one
 * name space; each round has a new one on a new port. Bounded: keys, values, connections, bytes in
 * all. */
#ifndef LAUNCH_STORE_H
#define LAUNCH_STORE_H

#include "base/err.h"
#include "launch/store_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct store_server;
extern const struct store_limits store_default_limits;

/* Listens on addr (numeric; "" or "*": all, both families; "localhost": 127.0.0.1 and ::1),
 * port 0: a free one. */
struct store_server *store_open(uv_loop_t *, const char *addr, uint16_t port,
                                const struct store_limits *, struct err *);
/* Without a listener: connections come by store_adopt (the leader's port of a static rendezvous).
 */
struct store_server *store_open_unbound(uv_loop_t *, const struct store_limits *);
void store_close(struct store_server *); /* NULL-safe; connections are closed, memory goes later */
uint16_t store_port(const struct store_server *);
/* Takes a connected socket over, with bytes already read. */
void store_adopt(struct store_server *, int fd, const void *bytes, size_t len);
size_t store_connections(const struct store_server *);
size_t store_keys(const struct store_server *);

#endif
