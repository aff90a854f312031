/* The ranks of this node in one round: started together (cold by fork and exec, warm by fork of the
 * parked interpreter), watched by SIGCHLD, stopped with everything they left. A rank leads its own
 * session, dies with the launcher (parent-death signal), and carries GUARD_COOKIE. */
#ifndef LAUNCH_RANKS_H
#define LAUNCH_RANKS_H

#include "base/err.h"
#include "launch/settings.h"
#include "launch/streams.h"
#include "launch/warm_interpreter.h"

#include <uv.h>

struct ranks_sink {
    /* In the order the kernel told; also those that end well (code 0, signal 0). Texts of death
     * live until the next round starts. more: of the same wake-up, whose ends are a tie, follow. */
    void (*ended)(void *arg, const struct rdzv_death *death, bool more);
    /* Nothing of the round runs any more: once per round, after the last `ended`, also when all
     * ended by themselves. A ranks_stop after that has one more as its answer. */
    void (*gone)(void *arg);
    void *arg;
};
struct ranks;
struct ranks *ranks_create(uv_loop_t *, const struct settings *, struct streams *,
                           struct warm_interpreter *, const char *cookie, struct ranks_sink);
void ranks_destroy(struct ranks *); /* NULL-safe; kills what runs */

/* Calls of the sink come from the loop, never from inside a call here; `ended` may call ranks_stop,
 * `gone` anything. Tells warm of the round (warm_watch). */

/* Starts all ranks of round; own_restarts: of this launcher. -1: nothing runs (err); a program that
 * cannot be started at all is a death with `spared`, not an error of this call. */
int ranks_start(struct ranks *, const struct rdzv_round *, uint32_t own_restarts, struct err *);
/* signal first (0: SIGTERM), after grace_ms SIGKILL; then what daemonised is swept. gone follows,
 * also when nothing ran. */
void ranks_stop(struct ranks *, int signal, uint64_t grace_ms);
bool ranks_running(const struct ranks *);
pid_t ranks_pid(const struct ranks *, uint32_t local_rank); /* 0: ended */
bool ranks_were_warm(const struct ranks *);                 /* this round was forked */

#endif
