/* Operations as their handlers see them, without HTTP and signatures: a core of the tests' own that
 * knows DLC's format, requests and answers as texts. It fails with BUG(), so that fuzz targets can
 * have it. */
#ifndef API_DLC_TEST_DESK_H
#define API_DLC_TEST_DESK_H

#include "api/dlc/op.h"
#include "ctl/test/world.h"

struct desk {
    struct world world; /* first */
    struct api api;
    void *state; /* the façade's */
};
void desk_init(struct desk *); /* the admin is root; users: ada in team, bob, eve who reads */
void desk_fini(struct desk *);
void desk_declare(struct desk *, const char *text); /* to the catalogue, by root */

/* An operation without a core, for what only reads what was asked. In the arena. */
struct dlc_call *desk_call(struct arena *, const struct dlc_op *, const char *query,
                           const char *body);
const struct dlc_op *desk_op(const char *name); /* NULL: there is none */

struct desk_ask {
    const char *who, *op;
    const char *param[DLC_PARAMS];
    const char *query, *body; /* "a=b&c=%20", JSON; NULL: none */
};
struct desk_reply { /* desk_reply_fini */
    struct arena *arena;
    unsigned status;
    const struct text_node *root; /* a map */
};
/* Time goes on by a second for each. */
struct desk_reply desk_ask(struct desk *, const struct desk_ask *);
void desk_reply_fini(struct desk_reply *);

#endif
