/* Can this machine run tasks in images? muster-node is asked, because it would do it. */
#ifndef MAIN_RUNTIMES_H
#define MAIN_RUNTIMES_H

#include "base/arena.h"
#include "job/runtime.h"

/* program: muster-node, NULL: there is none; dir: where images would be kept, or a directory beside
 * that. One that says nothing works in no way, and that is the reason. Texts are in arena. Both
 * wait for it: runtimes_ask tries runtimes until one works, and of the others looks only whether
 * they are there, which takes some milliseconds; runtimes_try tries each, podman and docker
 * for about a second. */
void runtimes_ask(struct arena *, const char *program, const char *dir, struct runtime_checks *);
void runtimes_try(struct arena *, const char *program, const char *dir, struct runtime_checks *);

#endif
