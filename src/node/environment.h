/* The environment of a task's processes. */
#ifndef NODE_ENVIRONMENT_H
#define NODE_ENVIRONMENT_H

#include "base/arena.h"
#include "base/pairs.h"
#include "image/document.h"
#include "job/account.h"

#include <stdbool.h>

struct environment {
    const struct pairs *own;          /* what the launch says; wins over what is passed on */
    const char *cookie;               /* MUSTER_COOKIE */
    const char *attempt;              /* MUSTER_ATTEMPT_COOKIE */
    const char *launch_socket;        /* MUSTER_LAUNCH_SOCKET; NULL: none */
    const char *programs;             /* where muster-node lies; NULL: not known */
    const char *work_dir;             /* PWD, and every value that is "@WORK_DIR@" */
    const char *python;               /* directory of the job's Python environment, or NULL */
    const char *base;                 /* the interpreter that it is made from, or NULL */
    const char *own_dir;              /* of the job on this node, for shares (node/gpu_share.h) */
    const struct image_config *image; /* it runs in one: what that says takes the place of what is
                                       * passed on; NULL: on the host */
    const struct words *devices;   /* "NAME=value" that its devices bring, in an image; or NULL */
    const char *client;            /* muster's package for Python, or NULL */
    bool secret;                   /* own has values of secrets: no copy is left behind */
    bool tty;                      /* the task is on a terminal: TERM is that of one */
    const struct account *account; /* whose HOME, USER, LOGNAME and SHELL; NULL: this process's */
    char *const *before; /* another task's list, to share its texts; same arena; or NULL */
};
#define ENVIRONMENT_WORK_DIR  "@WORK_DIR@"
/* Words of this variable put directories below `programs` in front of PATH, so that the commands of
 * these names are muster's: "torchrun" torchrun/, "dlrover" launch/. */
#define ENVIRONMENT_LAUNCHERS "MUSTER_LAUNCHERS"

/* NULL-terminated "NAME=value" list in the arena. HOME, USER, PATH, LANG and the like come from
 * this process where `own` has none; the Python environment's programs come first in PATH, before
 * them the launchers that the task is promised. */
char **environment_make(struct arena *, const struct environment *);
/* The value in such a list, or NULL. */
const char *environment_get(char *const *env, const char *name);

#endif
