/* The parked interpreter: a Python that has imported what the ranks import and forks them on
 * demand. Started while a round runs; used for the next one; never in the way: when it is not
 * ready, or not safe to fork (threads of unknown pools, CUDA in use), ranks start cold and the
 * reason is told once. Only for PROGRAM_SCRIPT and PROGRAM_MODULE. */
#ifndef LAUNCH_WARM_INTERPRETER_H
#define LAUNCH_WARM_INTERPRETER_H

#include "launch/settings.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct warm_interpreter;
/* say: one sentence for people and events ("warm: torch, numpy parked, 61 MB"; "cold start: ...").
 */
struct warm_interpreter *warm_create(uv_loop_t *, const struct settings *, const char *cookie,
                                     void (*say)(void *arg, const char *text), void *arg);
void warm_destroy(struct warm_interpreter *); /* NULL-safe; ends the parked one */

/* A round runs with this first rank: from now on look (without waiting) at what it has imported
 * (its mapped libraries), and park an interpreter with the same, environment env. */
void warm_watch(struct warm_interpreter *, pid_t rank, char *const *env);
bool warm_ready(const struct warm_interpreter *);

struct warm_rank {
    char *const *argv, *const *env; /* as for exec: interpreter, -u, script ... */
    int in, out, err;
    const char *cwd; /* NULL: the launcher's */
};
/* Forks all ranks from the parked interpreter; they become children of this process (which must be
 * a child subreaper). Fills pids. Waits at most 500 ms. 0; -1: none was started, start them cold.
 */
int warm_fork(struct warm_interpreter *, const struct warm_rank *, size_t n, pid_t *pids);
/* Is that process the parked interpreter or one of the ranks it holds ready? They are children of
 * this process and no leftovers. (They do not show GUARD_COOKIE before they are begun.) */
bool warm_owns(const struct warm_interpreter *, pid_t);

#endif
