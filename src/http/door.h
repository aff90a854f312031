/* A listening socket: accepts and gives connections to their daemon; on the TCP port it looks at
 * their first byte for that, and whose is TLS goes to tls.c. Private to http/. */
#ifndef HTTP_DOOR_H
#define HTTP_DOOR_H

#include "http/request.h"

/* Takes the listening socket. kind: LISTEN_PLAIN is the TCP port. */
struct http_listener *door_open(struct http_server *, enum listener_kind kind, int fd);
/* Closes the socket and every connection that has said nothing yet; frees in its own time, and then
 * calls door_gone. NULL-safe. */
void door_close(struct http_listener *);
void door_gone(struct http_server *);                /* server.c */
unsigned door_waiting(const struct http_listener *); /* connections that have said nothing yet */

#endif
