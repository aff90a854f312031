/* The server's end of TLS, as a transport: GnuTLS on the socket itself, so that ten thousand agents
 * cost one descriptor each. TLS 1.2, which is what tls/client.h speaks. */
#ifndef TLS_SERVER_H
#define TLS_SERVER_H

#include "base/err.h"
#include "conn/transport.h"

#include <stdbool.h>
#include <stdint.h>

enum { TLS_TICKET_KEY = 64 };

struct tls_server_config {   /* copied */
    const char *chain, *key; /* PEM */
    /* Seals the tickets by which clients resume a session. A server that starts with the key of the
     * one before it spares all of them the long handshake. */
    uint8_t ticket_key[TLS_TICKET_KEY];
};
/* What its connections share; it lives as long as they do. */
struct tls_server;
struct tls_server *tls_server_create(const struct tls_server_config *, struct err *);
void tls_server_destroy(struct tls_server *); /* NULL-safe */

/* Takes the socket of somebody who called over. server: a struct tls_server (conn_terms.over_arg).
 */
struct transport *tls_server_transport(void *server, int fd);
bool tls_server_resumed(
    const struct transport *); /* it is READY, and its handshake was a short one */

#endif
