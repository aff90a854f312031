/* A node of an allocation of Slurm: what the batch script starts once on each (engine/slurm). */
#ifndef NODE_PILOT_H
#define NODE_PILOT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct pilot_site {               /* as the environment says it */
    const char *tcp, *pin, *join; /* of host.conf; join: the token of the allocation */
    const char *follow;           /* of host.conf, too; NULL: the server stays where it is */
    const char *dirs;             /* where its directory may lie, apart by colons, the first that
                                   * lets programs run */
    const char *node, *allocation;
    const char *cpus, *memory, *memory_per_cpu, *gpus; /* of Slurm; NULL: it does not say */
    const char *left; /* of the allocation's time, as squeue says it; NULL: it does not */
    const char *copy; /* its program, which was brought and goes with it; NULL: not so */
    const char
        *again; /* there was a pilot here, by a token of that SHA-256; NULL: it is the first */
};
/* Names the variable that is missing. */
int pilot_read(struct pilot_site *, struct err *);
/* host.conf for a node of that name and token, with what the allocation has there. */
void pilot_configure(const struct pilot_site *, const char *name, const char *token, struct buf *);

/* The copy, as a file in that directory: others may share the folder where it was brought to, and
 * remove it. malloc'ed; NULL: it cannot be. */
char *pilot_take_program(const char *dir, const char *copy);

/* Seconds after which this ends by itself. */
int64_t pilot_bound(const char *left);
/* All that was started below this process, when it is the subreaper of that. */
void pilot_end_children(void);

/* Runs until the allocation ends, or the server does not want the node. One that is started again
 * takes over what the one before it left, and ends at once while that lives, or may. The exit
 * status. */
int pilot_run(void);
/* Prints which node of the allocation is to be started again, and what MUSTER_PILOT_AGAIN is to be
 * there. The exit status: 0, also when there is none. */
int pilot_print_again(void);

#endif
