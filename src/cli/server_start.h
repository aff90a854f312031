/* Starting a server of this user in the background. */
#ifndef CLI_SERVER_START_H
#define CLI_SERVER_START_H

#include "base/pairs.h"
#include "cli/cmd.h"

/* Starts this program as `server run` with the given --name=value arguments (NULL-terminated, may
 * be NULL), detached, its log in the state directory; returns when it answers. *ours is false when
 * another start was faster. */
int server_start(struct cli *, const char *const *args, bool *ours, struct err *err);
/* Where no server answers, one is started that ends by itself; says so. */
int server_ensure(struct cli *, struct err *err);
/* A server with these settings (by key): the one that runs when it has them, else a new one, in the
 * place of the one that runs; jobs go on. Keeps them for the servers after it. */
int server_set(struct cli *, const struct pairs *given, struct err *err);

#endif
