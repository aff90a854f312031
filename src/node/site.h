/* What all tasks of an agent share, and the launch they came with. */
#ifndef NODE_SITE_H
#define NODE_SITE_H

#include "job/launch.h"
#include "node/cgroup.h"
#include "node/confine.h"
#include "node/secrets.h"
#include "node/view.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct images;
struct removals;
struct site {
    uv_loop_t *loop;
    const char *dir;      /* the agent's own */
    const char *user_dir; /* of launch.user_dir */
    struct confine confine;
    const char *cookie;
    const char *code;      /* path of an archive that is fetched when it is not there; NULL: none */
    uint64_t code_room;    /* bytes of all archives beside it */
    const char *code_tree; /* what archives are unpacked to, for this agent alone */
    const char *server;    /* its socket: no other's on the machine */
    const char *images_dir;    /* the store of images of the tasks' account */
    bool away;                 /* it shares no disk with the server, which may have packed images */
    uint64_t images_room;      /* bytes it may have; 0: a default */
    struct images *images;     /* of the tasks; NULL: not made yet */
    struct removals *removals; /* of their layers */
    struct secrets *secrets;   /* of the job's tasks */
    pid_t keeper;              /* whatever loses its parent ends up as its child */
    struct view view;
    struct cgroup_site cgroups;
    const char *no_server;     /* why programs of tasks cannot ask it; NULL: they can */
    const char *launch_socket; /* where launchers find this agent; NULL: nowhere */
    const char *programs;      /* directory of muster-node; NULL: not known */
    const char *program;       /* to which names of launchers in there lead; NULL: it lies there */
    const char *client;        /* muster's package for Python, for images; NULL: it is not here */
    char *scratch;             /* OUTPUT_SCRATCH bytes */
    uint64_t wakeups;          /* of the loop, from 1: ends that one of them saw are a tie */
    bool in_allocation;        /* whose end is SIGTERM to all processes of the node */
    bool told_no_cgroup, told_no_shm;
};

/* The directory that PYTHONPATH is to name for muster's package, as it was installed with the
 * program in `programs`, or lies in the tree that it was built from; malloc'ed, NULL: neither. */
char *site_find_client(const char *programs);

/* The file that names of launchers in `programs` lead to, outside of it; malloc'ed, NULL: none. */
char *site_find_program(const char *programs);

/* A launch with the memory it lives in; tasks hold it. */
struct batch {
    struct arena *arena;
    struct launch launch;
    char **last_env; /* of the task made last */
    unsigned holders;
    bool secret; /* values of secrets lie in the arena */
};
void batch_hold(struct batch *);
void batch_drop(struct batch *); /* the last one frees it; NULL-safe */

#endif
