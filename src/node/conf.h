/* What the engine wrote for this agent: <dir>/agent.conf, lines of key=value. Read again at every
 * reconnect. */
#ifndef NODE_CONF_H
#define NODE_CONF_H

#include "base/err.h"
#include "conn/address.h"
#include "job/account.h"
#include "job/ids.h"

#include <stdbool.h>

/* What the environment of every process of this agent carries as MUSTER_COOKIE, and its cgroups in
 * their names: no other's on the machine, whichever server it has. */
#define COOKIE_MAX 320

#define CONF_PLACES_MAX 8
struct conf_place { /* where the server listens for agents of other machines */
    char addr[ADDRESS_MAX];
    uint16_t port;
};

struct conf {
    char socket[1024]; /* the server's Unix socket; "": it is reached over TCP */
    struct conf_place places[CONF_PLACES_MAX]; /* tried in turn */
    size_t n_places;
    char follow[1024]; /* "": file of a home that machines share, whose line tcp= has the places of
                        * now: the server moves; of host.conf */
    char pin[65];      /* SHA-256 of the server's certificate there, hex */
    char token[160];   /* bearer token, hex */
    char node[256];    /* node name */
    char cookie[COOKIE_MAX];
    struct generation generation;
    bool sandbox;
    bool outlive_term;   /* its node belongs to an allocation: whoever ends that tells all processes
                          * there, and what has come so far is still to be brought home */
    bool send_logs;      /* the server does not read this disk: logs go to it */
    uint64_t leave_ms;   /* how long it waits for the last acknowledgements; 0: as they take */
    char user_dir[1024]; /* "": the directory of the agent */
    char archive[1024];  /* "": the job has none, or it is to be fetched */
    char code[65];       /* SHA-256 of what the server is asked for; "": nothing */
    char shared[1200];   /* "TEXT PATH": where that file has that text, so lies the code */
    char programs[1024]; /* with the launchers' folders; "": beside the program */
    char cache[1024];    /* where it is kept for all agents of the node; "": the agent's own */
    char images[1024];   /* where images are kept; "": below the agent's own */
    uint64_t images_size;  /* bytes at most; 0: a default */
    uint64_t cache_size;   /* bytes at most; 0: a default */
    uint64_t cpus, memory; /* what an allocation has of the machine; 0: all that can be seen */
    char gpus[512];        /* numbers of its devices, "0,1"; "": all that can be seen, "none" */
    /* The account of the tasks; user "": the agent's own. */
    char user[256], home[1024], shell[256];
    uint32_t uid, gid, groups[ACCOUNT_GROUPS_MAX];
    size_t n_groups;
};

const char *conf_server(const struct conf *); /* which server, as a text: socket or pin */
int conf_read(const char *dir, struct conf *, struct err *);
/* <dir>/host.conf of the host of a machine: where the server is, token and node alone. Places are
 * those of the file that it follows, where that has some and is this user's own. */
int conf_read_host(const char *dir, struct conf *, struct err *);
/* Filled from conf, which must stay; NULL: the agent's own. */
const struct account *conf_account(const struct conf *, struct account *space);

#endif
