/* Requests to the server: paths, JSON answers, problem documents, streams of JSON lines. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/cmd.h"

struct call {
    const char *method, *path;
    const void *body; /* NULL none */
    size_t len;
    const char *key;  /* idempotency key, NULL none */
    const char *type; /* of what is sent; NULL: not said */
    const char *sent; /* sent in the place of body, with sent_len; NULL: body is */
    size_t sent_len;
    const char *file; /* shown in field errors of body; NULL: they are not printed */
};

/* The answer's tree in cli->arena. Problem documents become err (and field errors go to stderr).
 * NULL with err. */
struct text_node *call_send(struct cli *, const struct call *, struct err *err);
struct text_node *call_get(struct cli *, const char *path, struct err *err);
/* Path pieces: "/v1/jobs/" + escaped text, then "?a=b&c=d". NULL values are left out. */
void call_path(struct buf *path, const char *fixed, const char *segment, const char *rest);
void call_query(struct buf *path, const char *key, const char *value);
void call_query_number(struct buf *path, const char *key, uint64_t value);

/* A stream of JSON lines; line returns false when it has enough. Nodes live during the call. */
struct call_stream {
    const char *path, *body; /* body NULL: GET */
    bool (*line)(void *arg, const struct text_node *);
    void *arg;
};
int call_stream(struct cli *, const struct call_stream *, struct err *err);

/* An answer as bytes, handed on as they come; data returns false when it has enough. No bound of
 * time. */
struct call_bytes {
    const char *method, *path;
    bool (*data)(void *arg, const void *piece, size_t len);
    void *arg;
};
int call_bytes(struct cli *, const struct call_bytes *, struct err *err);

/* This user's own server on another machine, as the home that machines share says now. */
void call_find_server(struct cli *);
/* Where to type what is not done to a server elsewhere; -1. */
int call_hint_local(const struct cli *, struct err *err);
void call_drop(struct cli *);         /* forgets the connection */
bool call_server_lives(struct cli *); /* it answers now */

#endif
