/* What programs in an image need of the node's NVIDIA driver: its libraries belong to the kernel's
 * module of the same version, so no image has them. */
#ifndef NODE_DRIVER_H
#define NODE_DRIVER_H

#include "base/arena.h"
#include "node/runtime/root.h"

#define DRIVER_BINDS 12

/* Fills out, at most DRIVER_BINDS; how many. 0: there is no driver. tree: the image's, where the
 * libraries are shown beside its C library. Texts are in arena. */
size_t driver_binds(struct arena *, const char *tree, struct root_bind *out);

#endif
