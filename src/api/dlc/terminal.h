/* Terminals in pods for browsers: a WebSocket whose text frames are JSON, joined to a shell of the
 * engine. The vendor's protocol: {"operation": "stdin", "data": "..."} in, {"operation": "stdout",
 * "data": "..."} out; {"operation": "resize", "rows": 24, "cols": 80} is ours. */
#ifndef API_DLC_TERMINAL_H
#define API_DLC_TERMINAL_H

#include "api/call.h"

#define TERMINAL_PATH    "/api/v1/webterminals/" /* then the token; behind any prefix */
#define TERMINAL_LIFE_MS 30000

/* The open ones, and the key that tokens are sealed with: neither outlives the server. */
struct terminals;
struct terminals *terminals_create(void);
void terminals_destroy(struct terminals *); /* hangs up on all; memory goes with the loop */

struct terminal_pass {       /* what a token says */
    const char *owner;       /* who asked for it, and whose rights count when it is used */
    const char *token, *key; /* what said so, or NULL */
    uint64_t job;
    const char *task; /* "worker/0" */
    uint64_t until_ms;
    const char *nonce; /* each token's own */
};
const char *terminals_seal(const struct terminals *, struct arena *, struct terminal_pass);
/* false: it is not one of ours. The caller looks at until_ms, and that the nonce is new. */
bool terminals_open(const struct terminals *, struct arena *, const char *token,
                    struct terminal_pass *);

/* Answers 101 and joins the call's connection to a shell; false with *why: the request is no
 * WebSocket's, and not answered. */
bool terminal_begin(struct terminals *, struct call *, const struct terminal_pass *,
                    const char **why);

#endif
