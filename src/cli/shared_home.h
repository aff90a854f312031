/* A home that several machines have, as login nodes of a cluster do. Records do not lie in it, but
 * on each machine's own disk; a file in it says on which machine the server is and how it is
 * reached, so that commands on the others find it. */
#ifndef CLI_SHARED_HOME_H
#define CLI_SHARED_HOME_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* -1: MUSTER_SHARED_HOME is set, and not to "yes". */
int shared_home_check(struct err *err);
/* Is that directory in such a home? On a network file system, or MUSTER_SHARED_HOME says yes. */
bool shared_home_has(const char *dir);
/* In its place on this machine: /var/tmp/muster-UID, malloc'ed. NULL: somebody else has made it. */
char *shared_home_local(struct err *err);

struct shared_server {     /* where the server is */
    const char *host;      /* as the machine calls itself */
    const char *address;   /* "https://10.0.0.1:6878"; "": others do not reach it */
    const char *authority; /* what its certificate is by, PEM; as it is read the path of a file */
    const char *token;
};
/* dir: the directory that the records are not in. -1: it is on another machine, among others. */
int shared_home_write(const char *dir, const struct shared_server *, struct err *err);
/* It is on another machine; texts in arena. false: it is on this one, or none is known. */
bool shared_home_read(struct arena *, const char *dir, struct shared_server *);
bool shared_home_is_here(const char *dir); /* it is to be on this machine */
/* The one of that machine, which does not answer any more. */
void shared_home_give_up(const char *dir, const char *host);
void shared_home_forget(const char *dir); /* of this one: nothing of it goes on */
/* Of this machine; malloc'ed. */
char *shared_home_host(void);

#endif
