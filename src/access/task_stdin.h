/* Clients at the stdin of running tasks. */
#ifndef ACCESS_TASK_STDIN_H
#define ACCESS_TASK_STDIN_H

#include "access/job_access.h"
#include "base/err.h"
#include "engine/engine.h"

/* A client at a task's stdin. to->fd -1 asks only whether it could be; a client that came back
 * gives its attempt, so that it is not let at the next one. What it asked for itself (session,
 * offset, size, fd) is in to, the rest is filled here. */
struct stdin_request {
    const char *owner;
    uint64_t job;
    const char *task; /* role or role/0; NULL: the first that keeps a stdin */
    uint32_t attempt; /* 0: the one that runs */
    const char *role; /* out, with to->task; until the loop turns */
    bool tty;         /* out: the task is on a terminal */
};
int task_attach(const struct job_access *, struct stdin_request *, struct engine_attach *to,
                struct err *);

#endif
