/* Containers of Docker's daemon (node/runtime/container.h says what it is told), through its client
 * `docker`, which finds the daemon as it always does (DOCKER_HOST ...). */
#ifndef NODE_RUNTIME_DOCKER_H
#define NODE_RUNTIME_DOCKER_H

#include "base/err.h"

#include "node/runtime/root.h"

#include <sys/types.h>

#define DOCKER "docker"
/* mark: a path; there is a file from when docker is asked, and takes what it says. Waits; 0, or -1
 * and why. */
int docker_start(const struct root *, const char *mark, pid_t *pid, char why[ROOT_WHY]);
/* Ends the one that was started with that directory, which may be gone. 0, or -1: to be tried
 * again. */
int docker_remove(const char *dir);
/* Does the daemon take calls of this user? At a socket of this machine only; elsewhere 0. -1 with
 * what to do. */
int docker_answers(struct err *);

#endif
