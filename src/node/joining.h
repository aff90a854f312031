/* A node of an allocation becomes one of the server's: by the token of the allocation it asks once,
 * and has one of its own from then on. By the same token the allocation asks which of its nodes is
 * to be started again. */
#ifndef NODE_JOINING_H
#define NODE_JOINING_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define JOINING_TOKEN 32u /* bytes */
#define JOINING_NAME  257u
struct joining {
    const char *dir;          /* with a host.conf whose token is that of the allocation */
    const char *node;         /* as the engine of the allocation calls it; "": which is it? */
    const char *allocation;   /* the same of the allocation */
    const unsigned char *own; /* JOINING_TOKEN bytes: the token that it made */
    uint64_t limit_ms;        /* for an answer; 0: it waits as long as it takes */
};
struct joining_answer { /* of the server's, as in wire/host.h */
    char name[JOINING_NAME], reason[JOINING_NAME];
};
/* 0: name is not empty; -1: the server does not want it, or there is none. */
int joining_run(const struct joining *, struct joining_answer *, struct err *);

#endif
