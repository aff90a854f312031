/* A node of an allocation becomes one of the server's: by the token of the allocation it asks once,
 * and has one of its own from then on. */
#ifndef NODE_JOINING_H
#define NODE_JOINING_H

#include "base/err.h"

#include <stddef.h>

#define JOINING_TOKEN 32u /* bytes */
struct joining {
    const char *dir;          /* with a host.conf whose token is that of the allocation */
    const char *node;         /* as the engine of the allocation calls it */
    const char *allocation;   /* the same of the allocation */
    const unsigned char *own; /* JOINING_TOKEN bytes: the token that it made */
};
/* Waits for a server that does not answer as long as it takes. 0: it is called name (size bytes)
 * from now on; -1: the server does not want it. */
int joining_run(const struct joining *, char *name, size_t size, struct err *);

#endif
