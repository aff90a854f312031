/* Ranks of --run-path that have run their script wait for those of their node that have not, and
 * all exit together: torchrun keeps them so, and a process group that was not destroyed aborts the
 * interpreter of a rank whose peers are gone. */
#ifndef LAUNCH_EXIT_GATE_H
#define LAUNCH_EXIT_GATE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct exit_gate {
    int report[2], release[2]; /* pipes to and from the ranks, reading end first; -1: closed */
    bool *here;                /* of each local rank */
    uint32_t n, missing;
};
#define EXIT_GATE_NONE                                                                             \
    {                                                                                              \
        .report = { -1, -1 }, .release = { -1, -1 }                                                \
    }

/* For n ranks, whose list lives in the arena. -1: no pipes. */
int exit_gate_open(struct exit_gate *, struct arena *, uint32_t n, struct err *);
/* The variable that tells a rank its ends of the pipes (run_path.py takes it away again). */
const char *exit_gate_variable(const struct exit_gate *, struct arena *, uint32_t local_rank);
/* What the ranks keep over exec: two descriptors. */
void exit_gate_ends(const struct exit_gate *, int ends[2]);
void exit_gate_started(struct exit_gate *);      /* closes these here */
int exit_gate_reports(const struct exit_gate *); /* readable: exit_gate_read; -1: not open */
void exit_gate_read(struct exit_gate *);
/* A rank that ended without having waited is not waited for. */
void exit_gate_arrive(struct exit_gate *, uint32_t local_rank);
void exit_gate_release(struct exit_gate *); /* whoever is missing */
void exit_gate_close(struct exit_gate *);

#endif
