/* What sbatch, squeue and scancel of scripts in jobs share, and what of them can be tried without a
 * server. */
#ifndef STEP_COMMANDS_H
#define STEP_COMMANDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* The value of an option, in its word or the next one, which i moves to then; NULL: word i is
 * another option. letter: "-j". */
const char *option_value(int argc, char **argv, int *i, const char *letter, const char *name);
/* The script with option lines behind its own, so that they win: n words of sbatch's command line,
 * with their values. */
void sbatch_insert(struct buf *out, const char *script, char *const *words, size_t n);
bool sbatch_names_job(const char *script);
bool sbatch_waits(const char *script); /* an option line of it says --wait */
struct text_node;
/* With what sbatch --wait ends for that job, as the server gives it with its tasks; -1: it has not
 * ended. */
int sbatch_code(const struct text_node *job);
/* Until it has ended; the code. */
int sbatch_wait(uint64_t number);
/* "2-03:04:05", "3:04:05", "4:05", as squeue writes a time of so many seconds. */
void squeue_time(struct buf *out, uint64_t seconds);
/* A line of that format, "%.18i %.9P", with its end; job NULL: the titles. */
void squeue_line(struct buf *out, const char *format, const struct text_node *job);
/* Whether squeue's list of states, "PD,running" or "all", has that state of muster's. */
bool squeue_lists(const char *list, const char *state);
bool squeue_knows(const char *list); /* it has nothing but states of Slurm */

#endif
