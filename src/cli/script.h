/* A script in the place of a job file: muster run x.py --epochs 3. */
#ifndef CLI_SCRIPT_H
#define CLI_SCRIPT_H

#include "base/arena.h"

#include <stdbool.h>

/* A file that exists and is named as one, and is no batch script. */
bool script_is(const char *operand);
/* A file that says with #SBATCH lines what job it is: a job file, whatever it is called. */
bool script_is_batch(const char *operand);
/* The command that runs argv[0] with the arguments behind it: a .py by the job's Python, a .sh by
 * what its first line names, else /bin/sh. In arena; *argc changes with it. */
char **script_command(struct arena *, int *argc, char **argv);

#endif
