/* The TCP port: accepts, looks at a connection's first byte, and gives it to the daemon of plain
 * HTTP or to who speaks TLS. Private to http/. */
#ifndef HTTP_DOOR_H
#define HTTP_DOOR_H

#include "http/request.h"

/* Takes the listening socket. */
struct door *door_open(struct http_server *, int fd);
/* Closes the socket and every connection that has said nothing yet; frees in its own time, and then
 * calls door_gone. NULL-safe. */
void door_close(struct door *);
void door_gone(struct http_server *);       /* server.c */
unsigned door_waiting(const struct door *); /* connections that have said nothing yet */

#endif
