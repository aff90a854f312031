/* muster nodes add, rm and fence: machines reached by ssh as nodes of the server. */
#ifndef CLI_MACHINES_H
#define CLI_MACHINES_H

#include "cli/cmd.h"

struct machines_opts {
    const char *ssh;     /* "ssh -J gate"; NULL: ssh */
    const char *address; /* what other nodes call it; NULL: as its connection comes */
    const char *dir;     /* there, below the home directory when relative; NULL: .muster/NAME */
    const char *dial;    /* "ADDR:PORT", where the machine reaches the server; NULL: as that says */
    const char *reason;
    struct opt_list labels; /* "K=V" */
    uint64_t tunnel;  /* port there, by which ssh takes it to the server; 0: it dials itself */
    uint64_t wait_ms; /* for its host to connect; 0: a default */
    bool force, keep;
};

/* Does "add", "rm" or "fence" take that option? */
bool machines_takes(const char *sub, const char *option);

/* Exit status, or -1 with err: none was tried. */
int add_machines(struct cli *, const struct machines_opts *, int n, char **names, struct err *err);
int remove_machines(struct cli *, const struct machines_opts *, int n, char **names,
                    struct err *err);
int fence_machines(struct cli *, const struct machines_opts *, int n, char **names,
                   struct err *err);

#endif
