/* The hang watchdog of torch.distributed.elastic.timer (FileTimerClient in the ranks): a process
 * says through a named pipe until when it will have done something, and is ended when it has not.
 * The launcher itself goes on, where torchrun ends itself with the same signal: the death of the
 * rank is a failure like any other. */
#ifndef LAUNCH_WATCHDOG_H
#define LAUNCH_WATCHDOG_H

#include "base/err.h"

#include <sys/types.h>
#include <uv.h>

#define WATCHDOG_SCOPE_MAX 200u
struct watchdog;
/* Makes the pipe at path; what lies there goes. Only processes that carry the cookie are ended. */
struct watchdog *watchdog_create(uv_loop_t *, const char *path, const char *cookie, struct err *);
void watchdog_destroy(struct watchdog *); /* NULL-safe; removes the pipe */
void watchdog_clear(struct watchdog *);   /* NULL-safe; the processes of a round are gone */
/* Why it ended that process, for people; NULL: it did not. Lives until watchdog_clear. */
const char *watchdog_reason(const struct watchdog *, pid_t);

#endif
