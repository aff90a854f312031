/* All layers of an image, from a skopeo that is asked for them to the tree: they come several at a
 * time and are unpacked one after the other, the lowest first, while they come. */
#ifndef NODE_FETCH_ARRIVAL_H
#define NODE_FETCH_ARRIVAL_H

#include "base/err.h"
#include "image/document.h"
#include "node/fetch/layer.h"
#include "node/fetch/layers.h"
#include "node/fetch/proxy.h"

#include <stdbool.h>
#include <stdint.h>

struct arrival_sink {
    /* Several times a second: of all layers. Less than 0: no more is to come, *err says why. */
    int (*came)(void *arg, uint64_t bytes, struct err *err);
    void (*unpacks)(void *arg, size_t number); /* the first is 1 */
    void *arg;
};
struct arrival_ask {
    struct proxy *proxy; /* opened */
    const struct registry *registry;
    const struct layers_ask *layers;
    const char *const *kept; /* as layers_claim says: these are asked for by nobody */
    const char *dir;         /* where layers are kept until it is their turn */
    int root;                /* the tree's directory */
    bool owners;             /* as in layer.h */
};
/* Errors as in registry.h and layer.h. A layer counts when its bytes have the SHA-256 of their
 * name, skopeo says that all of it came, and what was unpacked has the SHA-256 that the
 * configuration says; after a failure the tree is of no use. SIGPIPE is ignored meanwhile. */
int arrival_take(const struct arrival_ask *, struct layer_limits *, struct arrival_sink,
                 struct err *err);

#endif
