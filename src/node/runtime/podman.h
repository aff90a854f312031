/* Containers of podman's (node/runtime/container.h says what it is told). */
#ifndef NODE_RUNTIME_PODMAN_H
#define NODE_RUNTIME_PODMAN_H

#include "node/runtime/root.h"

#include <stdbool.h>
#include <sys/types.h>

#define PODMAN         "podman"
#define PODMAN_CGROUPS "/sys/fs/cgroup"
/* Are controllers of both versions of cgroups in use below that directory? crun, which podman asks
 * by itself, refuses such a machine ("hybrid mode"), and runc takes it. */
bool podman_needs_runc(const char *cgroups);
/* mark: a path; there is a file from when podman is asked, and takes what it says. Waits; 0, or -1
 * and why. */
int podman_start(const struct root *, const char *mark, pid_t *pid, char why[ROOT_WHY]);
/* Ends the one that was started with that directory, which may be gone. 0, or -1: to be tried
 * again. */
int podman_remove(const char *dir);

#endif
