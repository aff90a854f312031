/* A child process beside the loop: what it prints, how it ends, and a time by which it has to. */
#ifndef API_CHILD_H
#define API_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct child;

struct child_line {
    const char *program;
    char *const *args; /* [0] is its name; ends with NULL */
    bool no_environment;
    int input;       /* descriptor that is its stdin; < 0: none. Not taken */
    size_t text_max; /* of what it prints; the rest is dropped */
    /* Each whole line as it comes, without its end; then it is no part of the text any more. It may
     * not end the child. NULL: nobody listens. */
    void (*heard)(void *arg, char *line);
    uint64_t limit_ms; /* then it is killed */
};
struct child_end {
    char *text; /* what it printed, with a 0 behind; it may be changed, and goes after the call */
    size_t len;
    bool good;   /* it ended by itself, with 0 */
    bool killed; /* by a signal: ours when its time was up, or another */
};
/* Called from the loop, once, when the child and its output have both ended. */
typedef void child_done(void *arg, const struct child_end *);

/* NULL: it could not be started, and done is not called. The line may go as soon as it returns. */
struct child *child_start(uv_loop_t *, const struct child_line *, child_done *, void *arg,
                          struct err *);
/* Kills it and forgets it: done is not called any more. Not from within done, not after it.
 * NULL-safe. */
void child_drop(struct child *);

#endif
