/* Names of scripts, by their ends. */
#ifndef BASE_SCRIPT_NAME_H
#define BASE_SCRIPT_NAME_H

#include <stdbool.h>

/* A file name as of a script that muster runs: x.py, x.sh, x.sbatch, x.slurm. */
bool script_is_name(const char *operand);

#endif
