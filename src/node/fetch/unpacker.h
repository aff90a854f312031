/* A process that applies one layer to the tree while its bytes still come. */
#ifndef NODE_FETCH_UNPACKER_H
#define NODE_FETCH_UNPACKER_H

#include "base/err.h"
#include "node/fetch/layer.h"

#include <sys/types.h>

struct unpacker {
    pid_t pid; /* 0: none */
    int to;    /* the packed bytes, not waiting; -1: closed */
    int told;  /* readable once it has ended */
};
/* layer->fd is not used. root and limits are as of layer_apply. */
int unpacker_start(struct unpacker *, const struct layer *, int root, const struct layer_limits *,
                   struct err *err);
/* Waits for it to end, which it does at the latest when `to` is closed. As layer_apply; *limits is
 * what it left of them. */
int unpacker_end(struct unpacker *, struct layer_limits *, struct err *err);
void unpacker_kill(struct unpacker *); /* nothing when there is none */

#endif
