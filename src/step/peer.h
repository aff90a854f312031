/* One connection of srun to this node: its claim, or its tasks. */
#ifndef STEP_PEER_H
#define STEP_PEER_H

#include "step/claims.h"

#include <sys/types.h>
#include <uv.h>

struct peer;
struct peers {
    uv_loop_t *loop;
    const char *secret;
    char *const *env;      /* of this node */
    struct claims *claims; /* NULL: this node is not the script's */
    uint32_t next_step;
    struct peer *first, *last; /* in the order in which they came */
};
void peers_add(struct peers *, int fd);        /* takes the socket over */
void peers_signal(struct peers *, int number); /* to the tasks of all steps */
bool peers_reap(struct peers *, pid_t, int status);
void peers_end(struct peers *); /* kills all tasks */

extern const struct conn_terms step_terms;
extern const struct conn_keep_alive_terms step_keep_alive; /* of srun: it asks, the node answers */

#endif
