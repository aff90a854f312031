/* What a command line says of a job: `torchrun --nnodes=2 train.py` is a job of two tasks. What the
 * line says of nodes, ranks and devices becomes settings of the job; what it says of how the nodes
 * find each other is left out, because the job's tasks are told that when they start. A line of
 * several nodes becomes a job of so many tasks, or is refused: it never becomes one task. */
#ifndef CLI_LINE_LINE_H
#define CLI_LINE_LINE_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/line/line_job.h"

/* *out in arena and argv. -1: the line is wrong, or cannot become a job (the hint says what to
 * write in its place). Looks whether a path exists and reads the files that the line names (a list
 * of hosts, a configuration), nothing else. */
int line_read(struct arena *, int argc, char **argv, const struct line_request *,
              struct line_job *out, struct err *err);

#endif
