/* Why a rank ended, from what it left behind; and whether a program can be started at all. */
#ifndef LAUNCH_RANK_JUDGE_H
#define LAUNCH_RANK_JUDGE_H

#include "base/arena.h"
#include "launch/settings.h"

/* NULL: nothing speaks against starting it. Else the reason as one sentence, and the exit code that
 * Python or a shell gives for it. */
const char *rank_refusal(struct arena *, const struct settings *, int *code);
/* The same for an exec that failed. */
const char *rank_exec_failure(struct arena *, const char *program, int number, int *code);

/* Fills message, at_exit and spared of a death whose code, signal, error_file and tail are set. */
void rank_judge(struct arena *, const struct settings *, struct rdzv_death *);

#endif
