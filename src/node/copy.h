/* Copies of trees, for places where nothing can be mounted. */
#ifndef NODE_COPY_H
#define NODE_COPY_H

#include "base/err.h"

/* Copies a file or a directory tree (links as links; devices, sockets and pipes are left out) and
 * takes the write permission away. A copy that is there already is left as it is. */
int copy_read_only(const char *from, const char *to, struct err *);

#endif
