/* A request and its answer between libmicrohttpd's callbacks and the handler. Private to http/. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/pairs.h"
#include "http/config.h"
#include "http/incoming.h"

#include <microhttpd.h>
#include <uv.h>

#define DRAIN_MAX                                                                                  \
    ((size_t)256 << 20) /* a refused body is read up to here so that the client sees the answer */

struct listener {
    struct http_server *server;
    enum listener_kind kind;
    struct MHD_Daemon *daemon; /* NULL: not started */
    uv_poll_t poll;
};
struct http_listener;
struct tls;
struct visit;
struct visits;
struct connection {   /* what libmicrohttpd keeps of ours with one */
    uint64_t kept[2]; /* http_kept() */
    struct visit *visit;
};

struct http_server {
    struct http_config config;
    uv_timer_t timer;
    uv_idle_t more;       /* daemons have something left for the next turn */
    uv_prepare_t prepare; /* runs the daemons once more after answers were given */
    struct listener at[LISTEN_KINDS];
    struct http_listener *doors[LISTEN_KINDS]; /* NULL: none */
    struct tls *tls;                           /* NULL: nobody has spoken TLS yet */
    struct visits *visits;
    unsigned open; /* handles that must close before freeing */
    unsigned connections;
    uint16_t port;
    char *paths[LISTEN_KINDS]; /* of Unix sockets, to be removed; NULL */
    struct http_request *requests;
    bool kick, closing;
};

enum answer_state { ANSWER_NONE, ANSWER_READY, ANSWER_QUEUED };

struct http_request {
    struct http_request *next, *prev; /* of the server's open ones */
    struct http_server *server;
    struct listener *listener;
    struct MHD_Connection *connection;
    struct arena *arena;
    const char *method, *path, *target;
    struct pairs query, headers; /* headers: of the answer */
    struct pairs asked;          /* the request's headers, made at first use */
    bool bad_target;             /* a NUL in it */
    const char *bad_head;        /* why the request is refused before its body, NULL: it is not */
    struct buf body;
    size_t drained;
    bool too_large, handed, suspended;
    enum answer_state answer;
    unsigned status;
    struct MHD_Response *response;
    void *arg;
    void (*gone)(void *arg);
    /* streams */
    bool streaming, ended;
    struct buf out;
    size_t out_max;
    bool was_full;
    void (*drained_cb)(void *arg);
    uv_poll_t *watch; /* notices a client that leaves while nothing is written */
    /* upgrade */
    const char *protocol;
    void (*taken)(void *arg, int fd, const void *extra, size_t len);
    void *taken_arg;
};

/* libmicrohttpd's callbacks (their signatures are its own). */
void *request_target_cb(void *cls, const char *target, struct MHD_Connection *);
enum MHD_Result request_access_cb(void *cls, struct MHD_Connection *, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **slot);
void request_completed_cb(void *cls, struct MHD_Connection *, void **slot,
                          enum MHD_RequestTerminationCode);
/* Lets a suspended request go on (before its daemon stops). */
void request_wake(struct http_request *);
/* Answers are seen by the daemon at its next run: asks for one. */
void server_kick(struct http_server *);

#endif
