/* Directories and files that had to be made outside the agent's own directory (mount points):
 * remembered in <dir>/made, so that whoever ends the agent can take them away again. */
#ifndef NODE_MADE_H
#define NODE_MADE_H

#include "base/err.h"

/* mkdir -p of an absolute path, remembering every level that was not there. */
int made_dirs(const char *agent_dir, const char *path, struct err *);
/* The same for the directories above, then an empty file. */
int made_file(const char *agent_dir, const char *path, struct err *);
/* Removes in reverse order what is still empty. Repeating is harmless. */
void made_undo(const char *agent_dir);

#endif
