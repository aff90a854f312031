/* Files of srun --multi-prog: which ranks run what. */
#ifndef STEP_MULTI_PROG_H
#define STEP_MULTI_PROG_H

#include "base/arena.h"
#include "base/err.h"
#include "job/words.h"

#include <stdint.h>

struct multi_line {
    struct words words;
    uint32_t number; /* in the file */
};
struct multi_prog {
    struct multi_line *lines;
    size_t n;
    uint32_t *line_of; /* of each rank */
    uint32_t *offset;  /* of each rank, in the ranks of its line */
};
/* -1: the file cannot be read, a line is wrong, or a rank below `tasks` has no program. */
int multi_prog_read(struct arena *, const char *path, uint32_t tasks, struct multi_prog *,
                    struct err *);
/* The program of a rank, with %t (rank) and %o (its place within the line's ranks) filled in. */
struct words multi_prog_of(struct arena *, const struct multi_prog *, uint32_t rank);

#endif
