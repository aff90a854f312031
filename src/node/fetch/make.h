/* What the child of a pull does, from a name to a tree in the store. It waits, and tells its steps
 * as it goes on. */
#ifndef NODE_FETCH_MAKE_H
#define NODE_FETCH_MAKE_H

#include "node/fetch/pull.h"

struct make_sink {
    void (*tell)(void *arg, const struct pull_news *);
    void *arg;
};
/* auth as in registry.h. *news says which image it is, also after a failure. */
int image_make(const struct pull_ask *, int auth, struct make_sink, struct pull_news *news,
               struct err *);

#endif
