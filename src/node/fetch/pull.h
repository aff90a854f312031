/* An image comes onto this node: asked for at its registry, fetched, checked and unpacked into the
 * store, once for all that ask at the same time. All of it happens in a child that has the rights
 * of the account whose store it is. */
#ifndef NODE_FETCH_PULL_H
#define NODE_FETCH_PULL_H

#include "node/fetch/make.h"

#include <uv.h>

struct pull_sink {
    void (*news)(void *arg,
                 const struct pull_progress *); /* PULL_DONE or PULL_FAILED is the last */
    void *arg;
};
struct pull;
/* NULL when it cannot start. ask is only read in the call. */
struct pull *pull_start(uv_loop_t *, const struct pull_ask *, struct pull_sink, struct err *);
void pull_destroy(struct pull *); /* NULL-safe; ends it when it still runs */

#endif
