/* What a server says in all launches that it makes, and what it makes them from. */
#ifndef LIVE_LAUNCHES_LAUNCH_SERVER_H
#define LIVE_LAUNCHES_LAUNCH_SERVER_H

#include "dialect/task_env.h"
#include "source/storage.h"

#include <stdbool.h>
#include <stdint.h>

struct account;
struct cluster;
struct images;
struct secrets;

struct launch_server { /* all of it holds while a launch is made */
    const struct dialects *dialects;
    const struct cluster *cluster; /* devices of its nodes */
    const struct images *images;
    struct secrets *secrets;
    const unsigned char *key;                     /* TOKEN_LEN: tokens are derived from it */
    struct storage storage;                       /* where URIs lead; its work_dir is the job's */
    const char *state_dir, *users_dir, *runs_dir; /* users_dir: what belongs to other accounts */
    const char *socket, *public_socket;           /* where tasks reach it; public: of others */
    const char *address;                          /* the same by TCP; NULL: none, of all three */
    const char *fs_uri, *program;                 /* of struct site */
    const char *python;  /* of tasks for which none was chosen; NULL: none */
    const char *gpu_mps; /* setting of MPS daemons; NULL or "": none */
    enum torchrun torchrun;
    bool sandbox;                             /* tasks have the rights of a container */
    uint32_t task_pids;                       /* processes of a task; 0: no limit */
    uint64_t images_size, log_head, log_tail; /* bytes */
};
/* Where the programs of a job of this account (NULL: the server's own) reach it, in arena; NULL:
 * nowhere. */
const char *launch_address(const struct launch_server *, struct arena *, const struct account *);

#endif
