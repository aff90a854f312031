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

/* In that directory: where nodes of Slurm find the server, a line tcp= of its addresses. */
#define SHARED_HOME_PLACES "elsewhere.tcp"
/* The home's directory of a server that has an allocation of Slurm to itself (cli/in_job.h), as its
 * batch script says it to this process: "ID DIR" in MUSTER_IN_JOB; malloc'ed, id too unless that is
 * NULL. NULL: it has none. */
char *shared_home_of_job(char **id);

/* DIR/in-job, where that says that the server of this home is such a one; malloc'ed. NULL: not. */
char *shared_home_job_dir(const char *dir);

struct shared_server {     /* where the server is */
    const char *host;      /* as the machine calls itself */
    const char *address;   /* "https://10.0.0.1:6878"; "": others do not reach it */
    const char *authority; /* what its certificate is by, PEM; as it is read the path of a file */
    const char *token;
    const char *allocation; /* of Slurm, that it runs in; NULL or "": it is in none of its own */
    const char *places;     /* to be written: "10.0.0.1:6879,...", for nodes; NULL: none */
};
/* dir: the directory that the records are not in. -1: it is on another machine, among others. */
int shared_home_write(const char *dir, const struct shared_server *, struct err *err);
/* It is on another machine, or in an allocation; texts in arena. false: it is on this one, or none
 * is known. */
bool shared_home_read(struct arena *, const char *dir, struct shared_server *);
bool shared_home_is_here(const char *dir); /* it is to be on this machine */
/* The one of that machine, which does not answer any more. */
void shared_home_give_up(const char *dir, const char *host);
void shared_home_forget(const char *dir); /* of this one: nothing of it goes on */
/* Of this machine; malloc'ed. */
char *shared_home_host(void);

#endif
