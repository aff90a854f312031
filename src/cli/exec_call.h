/* A command inside a task, over an upgraded connection: as exec types it and cp needs it. */
#ifndef CLI_EXEC_CALL_H
#define CLI_EXEC_CALL_H

#include "base/arena.h"
#include "cli/cmd.h"
#include "cli/session.h"

struct exec_call {
    const char *job;      /* as typed */
    const char *task;     /* "worker/0"; NULL: its only one */
    struct words command; /* empty: a shell */
    uint16_t port;        /* in its place: a connection to it; 0: none */
};
/* Through a session that was made ready, until the command ends: its exit status is the session's.
 * -1: there is no such job or task, or the connection broke. */
int exec_call_run(struct cli *, const struct exec_call *, struct session *, struct err *err);

#endif
