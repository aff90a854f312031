/* Clients at the stdin of running tasks. */
#ifndef CTL_ATTACH_H
#define CTL_ATTACH_H

#include "ctl/ctl.h"
#include "engine/engine.h"

/* A client at a task's stdin. to->fd -1 asks only whether it could be; a client that came back
 * gives its attempt, so that it is not let at the next one. What it asked for itself (session,
 * offset, size, fd) is in to, the rest is filled here. */
struct ctl_attach {
    const char *owner;
    uint64_t job;
    const char *task; /* role or role/0; NULL: the first that keeps a stdin */
    uint32_t attempt; /* 0: the one that runs */
    const char *role; /* out, with to->task; until the loop turns */
    bool tty;         /* out: the task is on a terminal */
};
int ctl_attach(struct ctl *, struct ctl_attach *, struct engine_attach *to, struct err *);

#endif
