/* Starts the interpreter that is to be parked. */
#ifndef LAUNCH_WARM_START_H
#define LAUNCH_WARM_START_H

#include "base/arena.h"
#include "base/err.h"

#include <sys/resource.h>
#include <sys/types.h>

struct warm_start {
    char *const *argv, *const *env; /* of the ranks */
    const char *modules;            /* "numpy,torch"; "": none */
    const char *cookie;
    const struct rlimit *files; /* as for rank_spawn */
};
/* Its pid (it leads its own session and group and dies with this process), *control: the socket to
 * it; -1. arena: for what is only needed during the call. */
pid_t warm_start(struct arena *, const struct warm_start *, int *control, struct err *);

#endif
