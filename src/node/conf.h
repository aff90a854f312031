/* What the engine wrote for this agent: <dir>/agent.conf, lines of key=value. Read again at every
 * reconnect. */
#ifndef NODE_CONF_H
#define NODE_CONF_H

#include "base/err.h"
#include "job/ids.h"

struct conf {
    char socket[1024]; /* the server's Unix socket */
    char token[160];   /* bearer token, hex */
    char job[40];      /* the job's id as written; part of the cookie */
    char node[256];    /* node name */
    struct generation generation;
};

int conf_read(const char *dir, struct conf *, struct err *);

/* "<job>.<generation>.<node>": what the environment of every process of this agent carries as
 * MUSTER_COOKIE. */
#define COOKIE_MAX 320
const char *conf_cookie(char out[COOKIE_MAX], const struct conf *);

#endif
