/* HTTP client behind libcurl, blocking, for the command line: a Unix socket or host:port. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>
#include <stdint.h>

struct http_client;
struct http_client_config {
    const char *socket_path; /* or NULL and url */
    const char *url;         /* "http://127.0.0.1:6878" */
    const char *token;       /* bearer, NULL none */
    uint64_t timeout_ms;     /* whole call; 0: none (streams) */
};
struct http_client *http_client_create(const struct http_client_config *, struct err *);
void http_client_destroy(struct http_client *);

struct http_response {
    unsigned status;
    char type[64];
    struct buf body; /* caller: buf_fini */
};
struct http_ask {
    const char *method, *path;   /* path with its query, encoded */
    const struct pairs *headers; /* or NULL */
    const void *body;
    size_t len;
    /* Streams: called for every piece as it arrives; false ends the call cleanly. NULL: the body is
     * collected. A status of 400 and above is always collected. No timeout while data is set. */
    bool (*data)(void *arg, const void *piece, size_t len);
    void *arg;
};
/* 0 whenever an answer came, whatever its status; ERR_UNAVAILABLE when no server answers (any
 * more), ERR_TIMEOUT. */
int http_call(struct http_client *, const struct http_ask *, struct http_response *, struct err *);
/* Upgrades a fresh connection; *fd is the connected socket (caller closes), extra bytes already
 * read go to *extra. */
int http_client_upgrade(struct http_client *, const char *path, const char *protocol, int *fd,
                        struct buf *extra, struct err *);
/* Percent-encodes one query value or path segment. */
void http_escape(struct buf *out, const char *text);

#endif
