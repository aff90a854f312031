/* In which ways tasks can be run on this node, each tried for real. */
#ifndef NODE_RUNTIMES_H
#define NODE_RUNTIMES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct runtime {
    const char *name;
    /* 0, or -1 with what is missing and what to do. */
    int (*is_there)(struct err *);
    /* Tried for real. dir: where images would be kept. *many: tasks have more users in there than
     * root. */
    int (*works)(const char *dir, bool *many, struct err *);
};
extern const struct runtime runtimes[];
extern const size_t n_runtimes;

/* muster-node runtimes DIR tries all: a line for each, "NAME works" or "NAME no REASON"; behind
 * "works" the words RUNTIMES_ONE_USER and RUNTIMES_SHARES_PIDS where that is so. 0. */
#define RUNTIMES_ONE_USER    "one-user"
#define RUNTIMES_SHARES_PIDS "shares-pids"
int runtimes_main(const char *dir);
/* The same in less time: of those behind the first that runs images only whether they are there. */
int runtimes_first_main(const char *dir);

#endif
