/* A task's root that is made by a program for containers: podman is started once for the task and
 * makes a container of its file system, whose only process waits (container_hold). The task enters
 * the namespaces of that process and is from then on like any other: a child of its agent, with the
 * limits, devices, rights, log and end that tasks have everywhere.
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
 * All that podman keeps lies in root.dir: nothing of the account's own containers is touched. */
#ifndef NODE_RUNTIME_CONTAINER_H
#define NODE_RUNTIME_CONTAINER_H

#include "node/runtime/root.h"

#include <sys/types.h>

struct container {
    const char *holder;       /* muster-node, which needs no library */
    const char *const *binds; /* of /dev, by their names there */
    size_t n_binds;
};

#define CONTAINER_PATH 4096
/* This program's, or what has taken its place since. */
const char *container_holder(char path[CONTAINER_PATH]);
/* Starts it, with root->container, and waits until it stands; *pid is the process that waits. -1:
 * why says why not. */
int container_start(const struct root *, pid_t *pid, char why[ROOT_WHY]);
/* In a process that has entered it: makes what the task has in there alone. 0, or -1 and why. */
int container_fill(const struct root *, char why[ROOT_WHY]);

/* Was one started with that directory? */
bool container_is_of(const char *dir);
/* Ends it; nothing where there is none. Its layer is left in dir. Waits. */
void container_remove(const char *dir);
/* All whose directories lie there. */
void container_sweep(const char *dirs);

/* The process that waits: reaps, and ends when it is told to. */
int container_hold(void);

#endif
