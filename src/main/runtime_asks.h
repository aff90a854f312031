/* Can this machine run tasks in images? muster-node is asked, because it would do it. */
#ifndef MAIN_RUNTIME_ASKS_H
#define MAIN_RUNTIME_ASKS_H

#include "base/arena.h"
#include "job/runtime.h"

/* program: muster-node, NULL: there is none; dir: where images would be kept, or a directory beside
 * that. One that says nothing works in no way, and that is the reason. Texts are in arena. Both
 * wait for it: runtime_asks_first tries runtimes until one works, and of the others looks only
 * whether they are there, which takes some milliseconds; runtime_asks_all tries each, podman and
 * docker for about a second. */
void runtime_asks_first(struct arena *, const char *program, const char *dir,
                        struct runtime_checks *);
void runtime_asks_all(struct arena *, const char *program, const char *dir,
                      struct runtime_checks *);

#endif
