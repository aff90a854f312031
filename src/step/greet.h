/* How the two ends of a connection between srun and a node know each other: both have the secret of
 * the job, and show it without saying it. */
#ifndef STEP_GREET_H
#define STEP_GREET_H

#include "base/buf.h"

#include <stdbool.h>

#define GREET_NONCE 33 /* hexadecimal digits and NUL */

struct greet {
    const char *secret;
    bool node;       /* this end is the node's */
    bool challenged; /* the other end's nonce is known */
    char ours[GREET_NONCE], theirs[GREET_NONCE];
};

/* Begins; the node's end speaks first, into out. */
void greet_init(struct greet *, const char *secret, bool node, struct buf *out);
/* Takes what came, *used bytes of it, and answers into out. 1: it is one of this job; 0: more has
 * to come; -1: it is none. */
int greet_take(struct greet *, const char *at, size_t len, size_t *used, struct buf *out);

#endif
