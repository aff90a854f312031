/* What the server's owner does with machines once the records have them. */
#ifndef API_MACHINE_CALLS_H
#define API_MACHINE_CALLS_H

#include "base/arena.h"

#include <stdbool.h>

struct machine;
struct text_node;

struct api_machines { /* all NULL: there is no port for them */
    void (*add)(void *arg, const struct machine *);
    void (*remove)(void *arg, const char *name);
    void (*fence)(void *arg, const char *name);
    bool (*reach)(void *arg, const char *name); /* is it connected */
    void (*ids)(void *arg, const char *name, const char **machine, const char **boot);
    void *arg;
    /* "server": [ADDR:PORT, ...], "pin". */
    void (*put_where)(void *arg, struct arena *, struct text_node *map);
    void *where_arg;
};

#endif
