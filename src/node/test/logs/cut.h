/* The wire of a scene: between the agent and the server, and cut. */
#ifndef NODE_TEST_LOGS_CUT_H
#define NODE_TEST_LOGS_CUT_H

#include "node/test/logs/scene.h"

pid_t cut_fork(void);                              /* one that ends with its parent */
int cut_listen(const char *path);                  /* a Unix socket */
_Noreturn void cut_run(const struct scene *, int); /* until it is killed */

#endif
