/* Connections as they come in: by which way, from whom, and where they go once they were accepted.
 * Private to http/. */
#ifndef HTTP_INCOMING_H
#define HTTP_INCOMING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A daemon of libmicrohttpd: of the Unix socket, of plain TCP, of what came over TLS. */
enum listener_kind { LISTEN_UNIX, LISTEN_PUBLIC, LISTEN_PLAIN, LISTEN_TLS, LISTEN_KINDS };
struct peer { /* of a connection */
    struct sockaddr_storage at;
    socklen_t len;
};

struct uv_loop_s;
struct visits;
/* The server that they go to. */
struct incoming {
    struct uv_loop_s *loop;
    struct visits *visits;
    unsigned idle_timeout_s;
    /* A connection for that daemon. Owns fd. */
    void (*add)(void *arg, enum listener_kind, int fd, const struct peer *);
    /* One that begins with a TLS hello. Owns fd. */
    void (*add_tls)(void *arg, int fd, const struct peer *);
    /* Accepted, and not given to anybody. Owns fd. */
    void (*drop)(void *arg, int fd);
    /* That daemon looks at what it was given. */
    void (*run)(void *arg, enum listener_kind);
    /* Has as many connections as it takes. */
    bool (*is_full)(const void *arg);
    void (*gone)(void *arg); /* a listener that was closed is freed */
    void *arg;
};

#endif
