/* A process namespace of a task's own. Three processes stand for it then: one outside, which ends
 * as the program does; the first inside (pid 1), which reaps orphans and hands on the signals that
 * it gets; the program. Whoever ends one of the first two ends all of them, and outside all are
 * seen by the numbers that they have there. */
#ifndef NODE_RUNTIME_PIDS_H
#define NODE_RUNTIME_PIDS_H

#include "base/fs_user.h"

#include <stdbool.h>

/* Can one be made here, by this user or for others, and the /proc of it be seen? Tried once. */
bool pids_work(void);

/* In a child that is about to exec and is to die with its parent, after unshare(CLONE_NEWPID):
 * returns in a process inside whose parent is pid 1, with a session of its own. -1 and errno, maybe
 * in another process than was called: there is none. user: of whom pid 1 takes signals; NULL: of
 * the caller. */
int pids_begin(const struct fs_user *user);
/* The same after setns() to one that there is: no other pid 1 is made, and it dies with the process
 * outside. */
int pids_join(void);
/* In a process inside: has the process outside ended before this one was to die with it? */
bool pids_left(void);

/* In a mount namespace of its own: their /proc at that path; 0, or -1 and errno. */
int pids_show(const char *at);

#endif
