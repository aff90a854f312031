/* A listening socket that hands out who calls. */
#ifndef CONN_LISTENER_H
#define CONN_LISTENER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* addr: numeric, "localhost" (127.0.0.1) or "*" (all). port 0: any. Set on failure: somebody else
 * listens there; the address is not of this machine. */
struct listen_place {
    const char *addr;
    uint16_t port;
    bool taken, foreign;
};
/* A listening descriptor, or -1. */
int listener_open_tcp(struct listen_place *, struct err *);
/* At a path of any length, mode 0600. Whatever lies there is removed. */
int listener_open_unix(const char *path, struct err *);

struct listener_sink {
    void (*caller)(void *arg, int fd); /* does not block, closes at exec; the receiver's now */
    void *arg;
};
struct listener;
struct listener *listener_create(uv_loop_t *, int fd, struct listener_sink); /* takes fd over */
void listener_destroy(struct listener *);                                    /* NULL-safe */
/* On hold it accepts nobody: who calls waits in the socket's queue. Also inside the sink. */
void listener_hold(struct listener *, bool);
uint16_t listener_port(const struct listener *); /* of TCP */

#endif
