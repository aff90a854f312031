/* A Python environment of a job on a node: cheap, first in PATH, sees everything of its base, takes
 * what pip installs. */
#ifndef NODE_PYENV_H
#define NODE_PYENV_H

#include "base/err.h"

/* Makes it in dir (absolute; made when missing) from the interpreter at base. No process is
 * started. Doing it again for the same dir is harmless. */
int pyenv_make(const char *dir, const char *base, struct err *);

#endif
