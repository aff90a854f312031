/* Programs of tasks ask a server on another machine through their agent: a Unix socket in the
 * agent's directory. Each caller has a connection of its own to the port for agents, which the
 * agent's token opens; what is said there is the server's HTTP, and passes through unread. */
#ifndef NODE_GATEWAY_H
#define NODE_GATEWAY_H

#include "base/err.h"
#include "wire/gateway.h"

#include <uv.h>

struct gateway;
/* Listens at once. dir: of the socket; conf_dir: where agent.conf lies, read for each caller. NULL
 * with err: programs will not find a socket. */
struct gateway *gateway_create(uv_loop_t *, const char *dir, const char *conf_dir, struct err *);
void gateway_destroy(struct gateway *); /* hangs up on everybody. NULL-safe */

#endif
