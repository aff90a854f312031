/* A listening socket: accepts and gives connections to their daemon; on the TCP port it looks at
 * their first byte for that, and whose is TLS goes to tls.c. Private to http/. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include "http/request.h"

/* Takes the listening socket. kind: LISTEN_PLAIN is the TCP port. */
struct http_listener *http_listener_open(struct http_server *, enum listener_kind kind, int fd);
/* Closes the socket and every connection that has said nothing yet; frees in its own time, and then
 * calls http_listener_gone. NULL-safe. */
void http_listener_close(struct http_listener *);
void http_listener_gone(struct http_server *); /* server.c */
unsigned http_listener_waiting(
    const struct http_listener *); /* connections that have said nothing yet */

#endif
