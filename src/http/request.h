/* A request as its handler sees it, and the ways to answer: at once, as a stream, by another
 * protocol. */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request; /* valid until answered (http_answer, http_stream_end, http_upgrade) or its
                        `gone` was called */
const char *http_method(const struct http_request *);
/* Decoded, without the query. Holds no NUL: a request whose target has one gets 400. ".." is not
 * resolved, and "%2F" is a slash here: who needs the difference reads the target. */
const char *http_path(const struct http_request *);
/* As on the wire: still percent-encoded, with its query: "/v1/jobs/a%2Fb?x=1&y". What signatures
 * are made over. */
const char *http_target(const struct http_request *);
/* k-th value of a query parameter (decoded), NULL when there are fewer. */
const char *http_query(const struct http_request *, const char *name, size_t k);
/* Query pairs in wire order, decoded (+ is a blank); "x" and "x=" have the value "". false: no i-th
 * one. */
bool http_query_at(const struct http_request *, size_t i, const char **name, const char **value);
const char *http_header(const struct http_request *, const char *name); /* NULL when absent */
/* k-th value of a header that is sent several times, NULL when there are fewer. */
const char *http_header_value(const struct http_request *, const char *name, size_t k);
/* Headers in wire order, names as sent. */
bool http_header_at(const struct http_request *, size_t i, const char **name, const char **value);
const char *http_body(const struct http_request *, size_t *len); /* "" when none; NUL-terminated */
bool http_over_tls(const struct http_request *);
bool http_peer_uid(const struct http_request *, uint32_t *uid); /* Unix socket only */
/* The process that opened the connection, of a Unix socket. */
struct http_process {
    uint32_t pid, uid; /* pid 0: one that is not seen from here */
    int fd; /* its pidfd, to be closed; readable once it has ended; -1: the kernel has none */
};
bool http_peer_process(const struct http_request *, struct http_process *);
/* The request has a credential of that user: its connection is no stranger's any more. */
void http_known(struct http_request *, const char *user);
/* Is there room for an answer that lasts (a stream, an upgrade)? */
bool http_may_last(const struct http_request *);
/* Two numbers that the handler keeps with the connection; 0 at its beginning. */
uint64_t *http_kept(const struct http_request *);
/* Where it comes from, as one source among others: a user of this machine ("uid 1000", over TCP
 * too) or an address. Reads /proc for a client on this machine. */
#define HTTP_SOURCE 48
void http_source(const struct http_request *, char out[HTTP_SOURCE]);
/* Where it is from: "uid 1000 pid 42" over the Unix socket, else the address; in out. */
#define HTTP_PEER_MAX 64
const char *http_peer(const struct http_request *, char out[HTTP_PEER_MAX]);

void http_set_arg(struct http_request *, void *arg,
                  void (*gone)(void *arg)); /* gone: the client left before the end */

void http_add_header(struct http_request *, const char *name,
                     const char *value); /* before answering */
/* Copies data. */
void http_answer(struct http_request *, unsigned status, const char *type, const void *data,
                 size_t len);
/* Owns the pieces. */
struct pieces;
void http_answer_pieces(struct http_request *, unsigned status, const char *type, struct pieces *);
/* Owns data, which malloc gave. */
void http_answer_own(struct http_request *, unsigned status, const char *type, char *data,
                     size_t len);

/* Chunked answers without a known end (events, logs). Writes are buffered up to `max` bytes:
 * http_stream_room says how much may be written now, `drained` is called when there is room again.
 */
void http_stream_begin(struct http_request *, unsigned status, const char *type, size_t max,
                       void (*drained)(void *arg));
size_t http_stream_room(const struct http_request *);
void http_stream_write(struct http_request *, const void *data, size_t len);
void http_stream_end(struct http_request *);

/* 101 to the named protocol; then takes over: the connected socket (non-blocking, owned by the
 * callee; over TLS one that carries the plain bytes) and bytes already read. */
void http_upgrade(struct http_request *, const char *protocol,
                  void (*taken)(void *arg, int fd, const void *extra, size_t len), void *arg);

#endif
