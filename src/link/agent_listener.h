/* Where agents of other machines connect: TCP, TLS on the connection itself, then the request that
 * an agent of this machine sends over HTTP. Who has shown no token is a stranger, with a small
 * budget and a short clock. */
#ifndef LINK_AGENT_LISTENER_H
#define LINK_AGENT_LISTENER_H

#include "base/err.h"
#include "link/link.h"

#include <stdint.h>

struct tls_server;
struct agent_listener_config {
    const char *addr;       /* see conn/listener.h */
    uint16_t port;          /* 0: any */
    struct tls_server *tls; /* outlives it */
    unsigned strangers;     /* at most; more wait in the queue of the socket. 0: a default */
    uint64_t stranger_ms;   /* from accept to HELLO. 0: a default */
    /* A program of a task there asks the server's HTTP: takes one end of a pair of sockets that
     * carries what it says. Whom a request is from only its credential says. NULL: none may. */
    void (*caller)(void *arg, int fd, const char *address);
    void *caller_arg;
    unsigned callers; /* at most; further ones are told to come again. 0: a default */
};
struct agent_listener;
/* After every agent that may come back is expected: who is not known is told to leave. */
struct agent_listener *agent_listener_create(struct link_hub *,
                                             const struct agent_listener_config *, struct err *err);
/* Ends strangers; connections of agents are the hub's. Before the hub. NULL-safe. */
void agent_listener_destroy(struct agent_listener *);

uint16_t agent_listener_port(const struct agent_listener *);
struct agent_listener_counts {
    uint64_t joined, resumed,
        refused;                 /* since it listens; resumed: of joined, by short handshakes */
    unsigned strangers, callers; /* now */
};
struct agent_listener_counts agent_listener_counts(const struct agent_listener *);

#endif
