/* HTTP client behind libcurl, blocking, for the command line: a Unix socket, or a URL. Over https
 * the authorities in the file $SSL_CERT_FILE are trusted, without it the system's. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct http_client;
struct http_client_config {
    const char *socket_path; /* or NULL and url */
    const char *url;         /* "http://127.0.0.1:6878", "https://..." */
    const char *token;       /* bearer, NULL none */
    const char *authority;   /* a file that is trusted in the place of others; NULL: as above */
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
/* Upgrades a fresh connection, which outlives the client; bytes already read go to *extra. NULL:
 * *err says why not. */
struct http_duplex;
struct http_duplex *http_client_upgrade(struct http_client *, const char *path,
                                        const char *protocol, struct buf *extra, struct err *err);
int http_duplex_fd(
    const struct http_duplex *); /* for poll(); then to be read until nothing comes */
/* As read() and send() without blocking: EAGAIN when there is nothing, or nothing is taken. What
 * was not taken comes first the next time. */
ssize_t http_duplex_read(struct http_duplex *, void *, size_t);
ssize_t http_duplex_write(struct http_duplex *, const void *, size_t);
void http_duplex_close(struct http_duplex *); /* NULL-safe */
/* Percent-encodes one query value or path segment. */
void http_escape(struct buf *out, const char *text);

#endif
