/* A job from a command line, without a file: `muster run --replicas 4 -- python train.py`. */
#ifndef CLI_MADE_JOB_H
#define CLI_MADE_JOB_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#include <stdint.h>

struct launch_line;
struct made_job {
    const char *name; /* NULL: after the program */
    const char *image;
    uint64_t replicas;              /* 0: one */
    const char *cpu, *memory, *gpu; /* as written, NULL: not said */
    int argc;
    char **argv;
    const struct launch_line *line; /* what a launcher's line says; NULL: a plain command */
};
struct text_node *made_job_tree(struct arena *, const struct made_job *);
/* "train" of python train.py; letters, digits, . _ ~ - only. */
const char *made_job_name(struct arena *, int argc, char **argv);

#endif
