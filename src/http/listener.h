/* A listening socket: accepts and gives connections to their daemon; on the TCP port it looks at
 * their first byte for that, and whose is TLS goes to tls.c. Private to http/. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include "http/incoming.h"

struct http_listener;
/* Takes the listening socket. kind: LISTEN_PLAIN is the TCP port. */
struct http_listener *http_listener_open(const struct incoming *, enum listener_kind kind, int fd);
/* Closes the socket and every connection that has said nothing yet; frees in its own time, and then
 * calls gone. NULL-safe. */
void http_listener_close(struct http_listener *);
unsigned http_listener_waiting(
    const struct http_listener *); /* connections that have said nothing yet */

#endif
