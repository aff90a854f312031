/* A job from a command line, without a file: `muster run --replicas 4 -- python train.py`. */
#ifndef CLI_MADE_JOB_H
#define CLI_MADE_JOB_H

#include "base/arena.h"
#include "base/err.h"
#include "text/tree.h"

#include <stdint.h>

struct line_job;
struct made_job {
    const char *name; /* NULL: after the program */
    const char *image;
    uint64_t replicas;              /* 0: one */
    const char *cpu, *memory, *gpu; /* as written, NULL: not said */
    const struct line_job *line;    /* the command, as it was read */
};
struct text_node *made_job_tree(struct arena *, const struct made_job *);
/* "train" of python train.py; letters, digits, . _ ~ - only. */
const char *made_job_name(struct arena *, int argc, const char *const *argv);

#endif
