/* Files of a running server in its state directory: made when it starts, read by whoever looks for
 * it. */
#ifndef MAIN_SERVER_FILES_H
#define MAIN_SERVER_FILES_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct server_files {
    /* Paths; token: the secret itself. */
    const char *dir, *db, *runs, *fs, *socket, *token, *info, *gpus;
};
/* Creates the directory (0700), runs/, fs/ and the token. Texts are in arena. */
int server_files_open(struct arena *, const char *dir, struct server_files *, struct err *err);

/* Where the key of the records lies when no setting says it, in arena: identity.key in the
 * directory where an older server made one, else what seal_key.path in it names: a file outside of
 * it, so that a copy of the directory does not open what is sealed. Where neither is there the key
 * is made now, unless it is `needed` (ERR_CANNOT). To be asked by the one server of the directory.
 */
const char *server_files_seal_key(struct arena *, const struct server_files *, bool needed,
                                  struct err *);

struct server_info {
    uint64_t pid, started_ms;
    const char *version, *address; /* address "": no TCP */
    bool detached;                 /* started in the background by the command line */
};
int server_files_announce(const struct server_files *, const struct server_info *, struct err *err);
/* all: nothing of it goes on, and commands on other machines need not know of it either. */
void server_files_withdraw(const struct server_files *, bool all);
struct server_address { /* how others reach it */
    const char *known;  /* address of this machine; NULL: they do not */
    unsigned port;
    const char *authority; /* PEM */
    const char *places;    /* "ADDRESS:PORT,..." for nodes of Slurm; NULL: none */
};
/* Is the directory in the place of one in a home that machines share? Then that says where the
 * server is. */
bool server_files_are_shared(const struct server_files *);
int server_files_share(const struct server_files *, const struct server_address *, struct err *err);
/* The process that server.json names, when it lives and is not this one; 0: none. */
uint64_t server_files_other(const struct server_files *);

#endif
