/* Directories and files that had to be made outside the agent's own directory (mount points):
 * remembered in <dir>/made, so that whoever ends the agent can take them away again.
 *
 * Agents of several jobs may mount at the same place of a machine, each in its own namespace, and
 * removing a mount point detaches what is mounted there in all of them. So who uses one holds it,
 * and what is held when its maker ends goes with the last that held it.
 *
 * All of it is done with the file access rights of the caller (base/fs_user.h); `user` is whose
 * they are. */
#ifndef NODE_MOUNT_POINTS_H
#define NODE_MOUNT_POINTS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* mkdir -p of an absolute path, remembering every level that was not there. */
int mount_points_make_dirs(const char *agent_dir, const char *path, struct err *);
/* The same for the directories above, then an empty file. */
int mount_points_make_file(const char *agent_dir, const char *path, struct err *);
/* One of both, and holds it until *hold is closed (by the end of the agent at the latest). *hold is
 * -1 where the file system knows no locks: it goes with its maker. */
int mount_points_hold(const char *agent_dir, const char *path, bool dir, int *hold, struct err *);
/* Removes in reverse order what is still empty and that nobody holds; also what other agents of
 * this user left because it was held then. Repeating is harmless. */
void mount_points_undo(const char *agent_dir, uid_t user);

#endif
