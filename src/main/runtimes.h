/* Can this machine run tasks in images? muster-node is asked, because it would do it. */
#ifndef MAIN_RUNTIMES_H
#define MAIN_RUNTIMES_H

#include "base/arena.h"

#include <stdbool.h>

/* program: muster-node; dir: where images would be kept, or a directory beside that. NULL: it can;
 * else why not, by runtime ("bwrap: ..."), in arena. *one_user, where it can: tasks have no other
 * user in there than root; may be NULL. Waits for it: some milliseconds. */
const char *runtimes_ask(struct arena *, const char *program, const char *dir, bool *one_user);

#endif
