/* What ranks leave behind, found through /proc: by the launcher's mark in the environment, and as
 * orphans that the kernel handed to this process (a child subreaper). */
#ifndef LAUNCH_STRAY_PROCESS_H
#define LAUNCH_STRAY_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GUARD_COOKIE "MUSTER_LAUNCH_COOKIE" /* name in the environment of every rank */

/* Does the process carry GUARD_COOKIE with this cookie in it? (A launcher inside a rank of another
 * launcher has both, with a colon between.) Nothing to see: while it execs or exits, of zombies and
 * of other users' processes, and where the environment is really empty. */
enum stray_process_mark { STRAY_STRANGER, STRAY_OURS, STRAY_NOTHING_TO_SEE };
enum stray_process_mark leftover_mark(pid_t, const char *cookie);
bool stray_carries(pid_t, const char *cookie); /* STRAY_OURS */

struct stray_child {
    pid_t pid, session;
    bool ended;   /* every thread of it: only its status is left */
    bool leaving; /* on its way there, without an environment any more */
};
#define STRAY_CHILDREN_MAX 1024u /* the rest is found by the next look */
/* The children of this process, adopted ones too. How many are in out. */
size_t stray_children(struct stray_child out[STRAY_CHILDREN_MAX]);

/* Calls each with every process of this user that carries the cookie. */
void stray_each(const char *cookie, void (*each)(void *arg, pid_t), void *arg);

#endif
