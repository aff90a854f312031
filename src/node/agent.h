/* The agent: starts the tasks of one (job, generation, node) as the server says, and reports what
 * happens to them. */
#ifndef NODE_AGENT_H
#define NODE_AGENT_H

#include <sys/types.h>

/* Runs until the server releases it or its token is refused (0). Anything else is a failure (1).
 * Dies with keeper, its parent. session: KEEPER_SESSION (run/run.h), which is closed; -1: none. */
int agent_run(const char *dir, pid_t keeper, int session);

#endif
