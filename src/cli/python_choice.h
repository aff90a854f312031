/* The Python of whoever submits: what --python names, else the environment that is active in this
 * shell, else the first python3 of its PATH. */
#ifndef CLI_PYTHON_CHOICE_H
#define CLI_PYTHON_CHOICE_H

#include "cli/cmd.h"

struct python_choice {
    const char *path; /* absolute; NULL: none, the server's is used */
    const char *from; /* "option", VIRTUAL_ENV, CONDA_PREFIX or PATH */
};
/* option: what --python says, or NULL. A server on another machine gets only that, unchecked. In
 * cli->arena. */
int python_choose(struct cli *, const char *option, struct python_choice *, struct err *err);
/* The program python of an environment's directory, in arena; NULL when there is none. */
const char *python_of_dir(struct arena *, const char *dir);
/* Is the server on this machine? */
bool python_is_local(const struct cli *);

#endif
