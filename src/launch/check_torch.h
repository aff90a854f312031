/* The job's own Python with check.py in it: the node check's part with PyTorch. */
#ifndef LAUNCH_CHECK_TORCH_H
#define LAUNCH_CHECK_TORCH_H

#include "launch/check_group.h"

#include <sys/types.h>

#define CHECK_LINE_MAX 2048

struct check_torch { /* zero: not started */
    pid_t pid;
    int in, out;               /* its stdin and stdout */
    char line[CHECK_LINE_MAX]; /* what it said last, and what came after that */
    size_t len, said;          /* bytes in it; of them those of the last line */
};
enum check_torch_answer {
    CHECK_TORCH_PROBED,  /* it has the devices, by the driver; torch is not imported yet */
    CHECK_TORCH_READY,   /* its own part is done */
    CHECK_TORCH_OK,      /* the part with the others is done */
    CHECK_TORCH_SELF,    /* a fault of this node */
    CHECK_TORCH_PAIR,    /* a fault with the others */
    CHECK_TORCH_ENDED,   /* it ended without an answer */
    CHECK_TORCH_LATE,    /* nothing in time */
    CHECK_TORCH_PARTNER, /* a partner said something first */
    CHECK_TORCH_N
};

/* -1: errno. Ends with this process (parent-death signal). */
int check_torch_start(struct check_torch *, const struct check_task *);
/* One line to it, with its end of line; one that has ended is found out by the next answer. */
void check_torch_tell(struct check_torch *, const char *line);
/* Its next line, within ms. *rest: what follows the word that tells its kind, in the line. With a
 * group also what a partner says first, which is left unread: *who is its index. */
enum check_torch_answer check_torch_hear(struct check_torch *, uint64_t ms, struct check_group *,
                                         const char **rest, uint32_t *who);
void check_torch_end(struct check_torch *); /* not started: nothing */

#endif
