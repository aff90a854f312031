/* sbatch, squeue and scancel as scripts of Slurm call them, over muster's own verbs. */
#ifndef CLI_SLURM_COMMANDS_H
#define CLI_SLURM_COMMANDS_H

#include "base/buf.h"
#include "cli/cli.h"

/* argv[0] is the name. Each returns the exit status. */
int sbatch_main(const struct cli_host *, int argc, char **argv);
int squeue_main(const struct cli_host *, int argc, char **argv);
int scancel_main(const struct cli_host *, int argc, char **argv);

/* The script with option lines behind its own, so that they win: n words of sbatch's command line,
 * with their values. */
void sbatch_insert(struct buf *out, const char *script, char *const *words, size_t n);
/* "2-03:04:05", "3:04:05", "4:05", as squeue writes a time of so many seconds. */
void squeue_time(struct buf *out, uint64_t seconds);

#endif
