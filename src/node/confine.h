/* What the processes of a task may do on this machine: whose they are, which capabilities, devices
 * and system calls they have. Applied in a new process between fork and exec, in three steps,
 * because mounting needs the rights that the second one gives up, and the filter of system calls is
 * the last thing before the program. */
#ifndef NODE_CONFINE_H
#define NODE_CONFINE_H

#include "job/account.h"
#include "node/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct confine {
    bool sandbox;                  /* else only the account is changed */
    const struct account *account; /* NULL: the agent's own */
    bool root_inside;              /* in a user namespace of its own, where it is root, unless it is
                                    * root outside: for images */
    struct ids ids;                /* of that namespace, besides the account */
    const int *user_ns;            /* that namespace, of somebody who is in it; NULL: a new one */
    const uint32_t *more_groups;   /* besides the account's, where the agent is root */
    size_t n_more_groups;
};
/* The account's user and groups; with a sandbox the capabilities of a container (none for an
 * ordinary account) and no core file unless it asks for one. 0, or -1 and errno. */
int confine_drop(const struct confine *);
/* No more rights by any program it starts, and the filter of system calls; where its namespace has
 * one user, changing users and owners seems to work from then on. 0, or -1 and errno. */
int confine_seal(const struct confine *);

#endif
