/* What a task of a step is started with: program, environment, processors. */
#ifndef STEP_TASK_ENV_H
#define STEP_TASK_ENV_H

#include "wire/step.h"

#include <sched.h>
#include <stdbool.h>

struct task_program {
    char **argv, **env; /* ends with NULL */
    cpu_set_t cpus;
    bool bound; /* to cpus */
};
/* Task `local` of the node. own: the environment of this node, which wins where the node matters
 * (devices, directories of the job here, PATH in front). */
void task_program_make(struct arena *, const struct step_start *, size_t local, char *const *own,
                       struct task_program *out);

/* "NAME" of a list of NAME=VALUE, as the value; NULL: it is not there. */
const char *task_env_get(char *const *env, const char *name);

#endif
