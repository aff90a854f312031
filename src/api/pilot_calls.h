/* Allocations of Slurm that the server holds, as its owner knows them. */
#ifndef API_PILOT_CALLS_H
#define API_PILOT_CALLS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

struct text_node;

/* name: of the new one; NULL: err says why there is none. */
typedef void api_pilot_done(void *arg, const char *name, const struct err *);
struct api_pilots { /* all NULL: this server can have none */
    /* {nodes, partition, time_ms, cpus, gpus, idle_ms, flags}; done: once, after a commit or at
     * once. */
    void (*start)(void *arg, const struct text_node *ask, const char *by, api_pilot_done *done,
                  void *done_arg);
    int (*stop)(void *arg, const char *name, const char *by, bool now, struct err *);
    /* "pilots": [...] and "slurm": why it cannot be asked. name NULL: all; else that one, as the
     * map itself; -1: there is none. */
    int (*put)(void *arg, struct arena *, const char *name, struct text_node *map, struct err *);
    void *arg;
};

#endif
