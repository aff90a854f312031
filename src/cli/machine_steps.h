/* What is done on a machine over ssh, one step after the other, by the functions of machine.sh. */
#ifndef CLI_MACHINE_STEPS_H
#define CLI_MACHINE_STEPS_H

#include "base/opt.h"
#include "cli/ssh.h"

struct machine {
    struct arena *arena;
    struct ssh *ssh;
    bool any_architecture; /* not compared with the one of here */
    const char *dir;       /* as given; from machine_look() on the absolute one */
    /* the program for it */
    int program_fd;
    uint64_t program_size;
    const char *hash; /* SHA-256 of it, hex */
    /* found by machine_look() */
    bool has_program;
    const char *client; /* address that the connection comes from, as seen there; "" unknown */
    const char *own;    /* and the one of its own that it came to; "" unknown */
    /* found by machine_start() */
    const char *kept;     /* "systemd" or "process" */
    const char *nolinger; /* the account whose services end with its last session; NULL: none */
};

/* Opens the program and hashes it; its descriptor is the caller's to close. */
int machine_program(struct machine *, const char *path, struct err *err);

int machine_look(struct machine *, struct err *err);
int machine_copy(struct machine *, struct err *err); /* nothing where has_program */
struct machine_conf {
    const char *const *places; /* "ADDR:PORT" */
    size_t n_places;
    const char *pin, *token, *node;
    const struct opt_list *labels; /* "K=V", or NULL */
    bool force;                    /* also where the host of another server runs */
};
int machine_configure(struct machine *, const struct machine_conf *, struct err *err);
int machine_start(struct machine *, struct err *err);
/* The last lines of its host's log since the start, in the arena; *lives: the host does. */
int machine_news(struct machine *, const char **lines, bool *lives, struct err *err);
/* Ends the host and removes the directory. *what: what there was, for people. */
int machine_leave(struct machine *, const char **what, struct err *err);

/* Why the host has not connected, by its last words; in the arena. */
const char *machine_why(struct arena *, const char *log, bool lives);
/* "[::]:6879" and "0.0.0.0:6879" are where a server listens, not where it is: client in its place;
 * NULL: not known. In the arena. */
const char *machine_place(struct arena *, const char *place, const char *client);

#endif
