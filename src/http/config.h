/* What an HTTP server is told when it begins: where it listens, what it takes, who handles
 * requests. */
#ifndef HTTP_CONFIG_H
#define HTTP_CONFIG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uv_loop_s;
struct http_request;

struct http_certificate {
    const char *chain, *key; /* PEM, held during the call */
};
struct http_config {
    struct uv_loop_s *loop;
    const char *socket_path; /* NULL: none; mode 0600; a stale file is replaced, a live one is
                                ERR_CONFLICT */
    const char *public_path; /* another one, mode 0666: for every user of the machine. NULL: none */
    const char *host;        /* NULL: no TCP */
    uint16_t port;           /* 0: any */
    uint16_t port_tries;     /* when taken: the next so many ports */
    size_t max_body; /* larger: 413 problem document, the connection is drained within a bound */
    unsigned max_connections;    /* over it: 503 problem document */
    unsigned idle_timeout_s;     /* slow or idle clients */
    unsigned stranger_timeout_s; /* those over TCP none of whose requests had a credential yet; 0:
                                    as idle_timeout_s */
    int files;                   /* descriptors from this number on are not for connections; 0: all
                                    are */
    /* Is a request served although its user has too many connections over the Unix socket? NULL:
     * none is. */
    bool (*spared)(void *arg, struct http_request *);
    void (*handle)(void *arg, struct http_request *);
    void *arg;
    /* Answers, before it returns, a request that never gets to `handle`: its body or the
     * connections are too many, its target holds a NUL, its head leaves open where it ends or whose
     * it is (the connection is closed then). NULL: a problem document does. */
    void (*refused)(void *arg, struct http_request *, const struct err *);
    /* TLS on the same TCP port, told by a connection's first byte. Asked at the first TLS hello,
     * and again at the next one when it gave -1 (the connection is closed then). NULL: no TLS. */
    int (*certificate)(void *arg, struct http_certificate *, struct err *);
    void *certificate_arg;
};

#endif
