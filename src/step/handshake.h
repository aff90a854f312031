/* How the two ends of a connection between srun and a node know each other: both have the secret of
 * the job, and show it without saying it. */
#ifndef STEP_HANDSHAKE_H
#define STEP_HANDSHAKE_H

#include "base/buf.h"

#include <stdbool.h>

#define HANDSHAKE_NONCE 33 /* hexadecimal digits and NUL */

struct handshake {
    const char *secret;
    bool node;       /* this end is the node's */
    bool challenged; /* the other end's nonce is known */
    char ours[HANDSHAKE_NONCE], theirs[HANDSHAKE_NONCE];
};

/* Begins; the node's end speaks first, into out. */
void handshake_init(struct handshake *, const char *secret, bool node, struct buf *out);
/* Takes what came, *used bytes of it, and answers into out. 1: it is one of this job; 0: more has
 * to come; -1: it is none. */
int handshake_take(struct handshake *, const char *at, size_t len, size_t *used, struct buf *out);

#endif
