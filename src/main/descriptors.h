/* How the descriptors that the process may have are divided: what the store, spawning and reading
 * need is kept free, agents have their part, connections the rest. */
#ifndef MAIN_DESCRIPTORS_H
#define MAIN_DESCRIPTORS_H

#include "base/err.h"

#include <stdint.h>

struct descriptors {
    uint64_t limit;  /* of the process */
    int bound;       /* connections and agents have lower numbers */
    unsigned agents; /* at most */
    uint64_t connections;
};
/* For so many in all. -1: they are too few for a server. */
int descriptors_divide(uint64_t limit, struct descriptors *, struct err *);
/* Raises this process's limit as far as it may go. */
int descriptors_open(struct descriptors *, struct err *);

#endif
