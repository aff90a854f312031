/* How an attempt ended as a code of an exit specification; which code each has, its version says.
 * Internal to this folder. */
#ifndef DIALECT_OPENPAI_ENDS_H
#define DIALECT_OPENPAI_ENDS_H

#include "dialect/openpai/openpai.h"

enum { SIGNALS_FROM = 128 }; /* the exit code of a program that signal n ended: this + n */

struct openpai_ends {
    int stopped;           /* on request */
    int completed;         /* because the job was over */
    int port;              /* of its own was taken */
    int oom, time;         /* over a limit: of memory, of run time */
    int node_lost;         /* nobody saw its end */
    int node_full, launch; /* the node could not start it: out of disk space, otherwise */
    int wrong;             /* cannot be started as the job describes it */
    int unknown;
    /* Of one that ended with a code or by a signal, and nothing else is known. */
    int (*own)(const struct ending *);
};
int openpai_end_code(const struct openpai_ends *, const struct ending *);

/* The row of code, NULL when there is none. */
const struct openpai_exit *openpai_exit_listed(const struct openpai_exit *rows, size_t n, int code);

#endif
