/* A task's root in a container: a program for containers is started once for the task and makes one
 * whose only process waits (container_hold). The task enters the namespaces of that process and is
 * from then on like any other: a child of its agent, with the limits, devices, rights, log and end
 * that tasks have everywhere.
 *
 * What a root says and how podman is told:
 *   tree                     --rootfs TREE:O, a layer of its own over it
 *   binds, devices           --volume FROM:AT:ro|rw, with `dev` below /dev
 *   shm                      --shm-size
 *   names, network           --network host, --uts host, the job's /etc/hosts by --volume
 *   processes                --pid host: the agent has to see them
 *   users                    root's: those of the machine; else podman's own namespace, with the
 *                            account's ranges in /etc/subuid where it finds them
 *   environment, program     neither: the task brings its own, podman is told no word of it
 *   memory, work_dir         made in there, before the program starts
 * All that podman keeps lies in root.dir: nothing of the account's own containers is touched.
 *
 * Docker's daemon makes containers of its own images only, and takes no file system. It makes an
 * empty one, in which all that the root is made of is shown below CONTAINER_BELOW: the task makes
 * its root there, by root_enter() as it does without a container, and lets go of the rest.
 *   tree, dir, at, binds     --mount type=bind, each at its own path below CONTAINER_BELOW
 *   devices                  --mount type=bind, in the container's own /dev
 *   names, network           --network host, --uts host
 *   processes                --pid host: the agent has to see them; the task begins its own there
 *   users                    --user, without rights: who waits makes a namespace of users, which
 *                            the agent fills (ids_give) as without a container
 * What the daemon keeps of it is the container, by a name that root.dir gives. */
#ifndef NODE_RUNTIME_CONTAINER_H
#define NODE_RUNTIME_CONTAINER_H

#include "node/runtime/holder.h"
#include "node/runtime/root.h"

#include <sys/types.h>

#define CONTAINER_PATH 4096
/* This program's, or what has taken its place since. */
const char *container_holder(char path[CONTAINER_PATH]);
/* Starts it, with root->container, and waits until it stands; *pid is the process that waits. -1:
 * why says why not. */
int container_start(const struct root *, pid_t *pid, char why[ROOT_WHY]);
/* Is the task to make its root in there itself? */
bool container_is_bare(const struct container *);
/* In a process that has entered one that is not: makes what the task has in there alone. 0, or -1
 * and why. */
int container_fill(const struct root *, char why[ROOT_WHY]);

/* Was one started with that directory? */
bool container_is_of(const char *dir);
/* Ends it; nothing where there is none. Its layer is left in dir. Waits. */
void container_remove(const char *dir);
/* All whose directories lie there. */
void container_sweep(const char *dirs);

/* The process that waits: reaps, and ends when it is told to. ready: a pipe of that name gets its
 * number when it can be entered, in a mount namespace of its user's; -errno: there is none. NULL:
 * nobody is told. */
int container_hold(const char *ready);

#endif
