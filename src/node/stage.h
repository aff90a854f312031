/* The exec stage: what happens in a new process between fork and the user's program. */
#ifndef NODE_STAGE_H
#define NODE_STAGE_H

#include "base/err.h"
#include "cdi/edits.h"
#include "job/ending.h"
#include "node/cgroup.h"
#include "node/confine.h"
#include "node/devices.h"
#include "node/view.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct stage {
    char **argv;       /* argv[0] is looked for in the PATH of env */
    const char *shell; /* text for a shell instead of argv; NULL: argv */
    char **env;
    const char *work_dir;
    const struct view *view;
    const struct root *root; /* "/" of a view that is made on the way, instead; NULL: view */
    bool own_pids;           /* in a process namespace of its own: of that root, or of the view */
    bool ended;              /* that of the view has ended: in another one */
    /* In that root, with the agent's rights, before the program; NULL: nothing is to be done. */
    int (*fill)(void *arg, struct err *);
    void *fill_arg;
    struct view_code code;
    const struct cgroup *cgroup;
    const struct confine *confine;
    struct devices devices;
    const char *image; /* its name when it runs in one: what is missing is missing there */
    bool libraries;    /* some are shown in its image that the image does not know */
    const struct cdi_edits *edits; /* that a specification makes in there, or NULL */
    bool no_core;                  /* it has secrets: no core file, whatever it asks for */
    bool or_sh;                    /* where argv[0] is not there, sh is started */
    bool own_program;              /* this program's own file is run, wherever that lies outside */
    const cpu_set_t *cpus;         /* it may use only these; NULL: any */
};
struct stage_ends {   /* descriptors of the new process */
    int in, out, err; /* in -1: /dev/null */
    bool tty;         /* in is a terminal: it becomes the controlling one */
};

/* Why the program could not be started, as the new process saw it. */
struct stage_failure {
    enum end_origin by;
    enum end_cause cause;
    char reason[200];
};
/* Forks and execs. The new process leads a session of its own and dies with its parent; with
 * own_pids it is not the program, but ends as that does. *status is
 * a socket that ends when the program runs; before that it gives the view, when stage.root made
 * one, and may give one struct stage_failure. Returns the pid, or -1. */
pid_t stage_start(const struct stage *, const struct stage_ends *, int *status, struct err *);
/* Reads *status: 0 the program runs, 1 *failure says why not, -1 not known yet (only for a
 * non-blocking descriptor). *made: the view that came, where one was made; NULL: none is. */
int stage_outcome(int status, struct view *made, struct stage_failure *failure);

/* Makes the ends those of the account that the program runs as, so that it can open them again by
 * name (/dev/stdout). */
void stage_give_ends(const struct stage *, const struct stage_ends *);
/* A new terminal of the usual size: its master, and the side of the new process in *theirs. */
int stage_terminal(int *theirs, struct err *err);

/* Whose fault an errno of starting a program is: what will be the same at the next try is the job's
 * own. */
enum end_origin stage_blame(int number);

#endif
