/* HTTP/1.1 server behind libmicrohttpd, driven by a libuv loop: a Unix socket and, when wanted, a
 * TCP port. Knows no jobs. One handler gets every complete request; the answer may come later (any
 * turn of the loop). */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/err.h"
#include "http/config.h"
#include "http/request.h"

#include <stdint.h>

struct http_server;

struct http_server *http_server_create(const struct http_config *, struct err *);
void http_server_destroy(struct http_server *);        /* ends every request */
uint16_t http_server_port(const struct http_server *); /* 0 without TCP */
/* A client whom somebody else has brought, over TLS of their own: fd carries the plain bytes.
 * address: numeric, where it comes from. Takes fd over, and closes it when there is no room. */
void http_server_take(struct http_server *, int fd, const char *address);
unsigned http_server_connections(const struct http_server *);

#endif
