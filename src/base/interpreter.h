/* Python interpreters of this machine. */
#ifndef BASE_INTERPRETER_H
#define BASE_INTERPRETER_H

#include "base/arena.h"

#include <stdbool.h>

/* The line of pyvenv.cfg in the environment of a job's tasks that names the interpreter it was made
 * from; Python knows no such key and leaves it alone. */
#define PYENV_BASE "muster-base = "

/* Runs the program for a moment and asks where its interpreter is: an absolute path in arena; NULL
 * when it is no Python, or has not answered after ten seconds. */
const char *interpreter_ask(struct arena *, const char *program);
/* A wrapper script (pyenv's shims, for one) is no interpreter to build environments on: it is asked
 * for the one it runs, NULL when it runs none. Any other program is given back as it is. */
const char *interpreter_behind(struct arena *, const char *program);
/* The first program `name` in a PATH, behind its wrapper; NULL when there is none. */
const char *interpreter_in_path(struct arena *, const char *path, const char *name);

#endif
