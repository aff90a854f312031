/* What a container is made with: the program that makes it, the one that waits in it, and where in
 * there it and what the root is made of lie. */
#ifndef NODE_RUNTIME_HOLDER_H
#define NODE_RUNTIME_HOLDER_H

#include <stddef.h>

enum container_program { CONTAINER_PODMAN, CONTAINER_DOCKER };
struct container {
    enum container_program program;
    const char *holder;       /* muster-node, which needs no library */
    const char *const *binds; /* of /dev, by their names there */
    size_t n_binds;
};

#define CONTAINER_HOLDER_AT "/run/.muster"
#define CONTAINER_BELOW     "/.muster"

#endif
