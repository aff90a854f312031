/* The server's end of nodes that want to join: each comes with the token of its allocation, which
 * all its nodes have and others may read, and leaves with an answer. Who may join is decided
 * elsewhere, and may take as long as a commit. */
#ifndef LINK_JOINS_H
#define LINK_JOINS_H

#include "link/link.h"
#include "wire/host.h"

struct joins;
struct joins_ask { /* texts last as long as the call */
    uint64_t ticket;
    const char *name;              /* of joins_allow */
    const char *node, *allocation; /* node "": which one is to be started again? Its name is the
                                    * answer, and as the reason what it is known by */
    unsigned char own_hash[32];    /* of the token that it made */
};
struct joins_sink {
    /* From the loop. Who asks again has a ticket of its own. */
    void (*ask)(void *arg, const struct joins_ask *);
    void *arg;
};
/* Those of the hub, which outlives them; at most one for a hub. */
struct joins *joins_create(struct link_hub *, struct joins_sink);
void joins_destroy(struct joins *); /* who waits comes again */

void joins_allow(struct joins *, const char *name, const unsigned char token_hash[32]);
void joins_forbid(struct joins *, const char *name); /* who waits is sent away */
/* node NULL: it may not, and reason says why. Nothing happens when it has gone. */
void joins_answer(struct joins *, uint64_t ticket, const char *node, const char *reason);

#endif
