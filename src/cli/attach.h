/* A client at the stdin of a running task, through restarts of the server: what was typed comes
 * once and all of the output is shown. Shared by attach and run -i. */
#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "cli/cmd.h"
#include "cli/log_print.h"
#include "cli/session.h"

struct attach {
    struct cli *cli;
    const char *job;  /* as in paths */
    const char *task; /* "worker/0" */
    uint64_t attempt;
    uint64_t id; /* of this client at the task */
    struct session session;
    struct session_place place;
    FILE *out;              /* the task's stdout, from its log */
    struct log_print print; /* what was shown of the log */
    bool joined, quiet;     /* quiet: says nothing of a server that is gone */
};
/* tty: the task is on a terminal, and so is this client as far as it is on one. to: where stdout of
 * the task goes. */
void attach_init(struct attach *, struct cli *, bool tty, int to);
void attach_fini(struct attach *);
/* {task, attempt, tty} of the task that runs (task NULL: the first that keeps a stdin; attempt 0:
 * any); NULL with err when nobody can be let at it. */
struct text_node *attach_where(struct cli *, const char *job, const char *task, uint64_t attempt,
                               struct err *err);
/* Shows what the attempt wrote, from the place reached on; at first the last so many lines of it,
 * NULL: all. */
int attach_show(struct attach *, const char *tail, struct err *err);

enum attach_end {
    ATTACH_ENDED,    /* the program did: session.status */
    ATTACH_DETACHED, /* the user left */
    ATTACH_OVER,     /* the attempt had ended before: err says it */
};
int attach_run(struct attach *, enum attach_end *, struct err *err);

#endif
