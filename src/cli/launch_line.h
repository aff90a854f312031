/* What a launcher's command line says of a job: torchrun --nnodes=2:4 --nproc-per-node=8 train.py.
 * The launcher will run inside each task and meet the others through the server, so that what the
 * line says of the job becomes settings of the job, and what it says of the meeting is left out. */
#ifndef CLI_LAUNCH_LINE_H
#define CLI_LAUNCH_LINE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

struct launch_asked { /* beside the line, by options of the verb; NULL or 0: not said */
    uint64_t replicas;
    const char *cpu, *gpu;
};
struct launch_line {
    uint32_t min, max; /* tasks, one for each node of the line */
    struct launcher settings;
    const char *convention; /* names the launcher when settings say nothing; else NULL */
    const char *python;     /* interpreter of the ranks, NULL: the task's own */
    const char *script;     /* names the job */
    struct words argv;      /* what each task runs; from the script on as it was written */
    struct words said;      /* sentences for the user: what was left out, and why */
};
/* 1: *out is set, in arena and argv. 0: the command is no launcher's, *out has only what is to be
 * said about it. -1: the line is wrong. Looks whether a path exists, nothing else. */
int launch_line_read(struct arena *, int argc, char **argv, const struct launch_asked *,
                     struct launch_line *out, struct err *err);

#endif
