/* A server for tests of façades: one façade and its dialects on a core of the tests' own, asked
 * over TCP. Where its loop turns, clients are in a thread of their own (beside_run). */
#ifndef API_TEST_SERVED_H
#define API_TEST_SERVED_H

#include "api/facade.h"
#include "ctl/test/world.h"
#include "http/client.h"
#include "http/test/beside.h"
#include "text/tree.h"

#include <stdatomic.h>

#define SERVED_TOKEN "0123456789abcdef0123456789abcdef" /* of the server's own user, an admin */

struct served_config { /* what its pointers lead to outlives the server */
    const struct dialects *dialects;
    const struct facade *facade;
    const struct api_setting *settings;
    size_t n_settings;
};
struct served {
    struct world world; /* first */
    struct beside beside;
    uv_prepare_t turn;
    uv_timer_t beat; /* agents do one thing at a beat */
    const struct facade *facade;
    struct api *api;
    struct http_server *server;
    char address[64];   /* http://127.0.0.1:PORT */
    atomic_uint slices; /* turns of the loop between which a long answer was made */
};
void served_init(struct served *, const struct served_config *);
void served_fini(struct served *);

struct reply { /* reply_fini; root is NULL when the body is not JSON */
    struct http_response http;
    struct arena *arena;
    struct text_node *root;
};
struct row {                                 /* a request and what it is answered with */
    const char *who;                         /* what that is, the tests of each façade say */
    const char *method, *path, *body, *type; /* type: of the body, without one what is accepted */
    unsigned status;
    const char *part; /* of the answer; NULL: whatever it is */
};
/* token NULL: nobody asks. A body without a type is JSON. */
struct reply served_ask(struct served *, const char *token, const struct row *);
void reply_fini(struct reply *);
/* Fails the test when status or part are not as the row says. */
void served_check(const struct row *, const struct reply *);

#endif
