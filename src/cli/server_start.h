/* Starting a server of this user in the background. */
#ifndef CLI_SERVER_START_H
#define CLI_SERVER_START_H

#include "cli/cmd.h"

/* Starts this program as `server run` with the given --name=value arguments (NULL-terminated, may
 * be NULL), detached, its log in the state directory; returns when it answers. *ours is false when
 * another start was faster. */
int server_start(struct cli *, const char *const *args, bool *ours, struct err *err);

#endif
