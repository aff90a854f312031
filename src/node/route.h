/* How the agent reaches its server: over a Unix socket on the same machine, else over TLS to one of
 * the server's addresses; and how long it waits before it tries again. */
#ifndef NODE_ROUTE_H
#define NODE_ROUTE_H

#include "conn/conn.h"
#include "node/conf.h"

#define ROUTE_ROOM (256u << 10) /* conn_has_room below it */

struct route;
struct route *route_create(void);
void route_destroy(struct route *); /* NULL-safe; after its last connection was closed */

/* What agent.conf says now: other addresses, another certificate. Between two connections. */
void route_set(struct route *, const struct conf *);
/* The session with the server, for the route of another process of this machine (tls/client.h), and
 * that route's: it is taken when the first certificate is set. */
size_t route_save_session(const struct route *, void *at, size_t size);
void route_load_session(struct route *, const void *at, size_t len);
struct conn *route_connect(struct route *, uv_loop_t *, struct conn_events);
/* The server has agreed to this connection: it is asked by frame whether it lives. */
void route_agreed(struct route *, struct conn *);
/* The connection is over; good: it had held for a while. The next try goes to the next address,
 * unless it was good. Milliseconds until then: at once, then in growing steps. */
uint64_t route_lost(struct route *, bool good, const char *why);

#endif
