/* TLS on the TCP port ends here: what a client says is opened and given to a daemon of plain HTTP,
 * what that answers is sealed. Private to http/. */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include "http/config.h"
#include "http/incoming.h"

struct tls;
struct tls *tls_create(const struct incoming *, const struct http_certificate *, struct err *);
/* A client that has begun to speak TLS. Owns fd. */
void tls_add(struct tls *, int fd, const struct peer *);
unsigned tls_waiting(const struct tls *); /* connections that no daemon knows yet; of NULL: none */
/* Sends what the daemon has said, where that is possible at once, and closes. After the daemon's
 * end; frees in its own time. NULL-safe. */
void tls_destroy(struct tls *);

#endif
