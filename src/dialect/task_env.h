/* What a placed task is told besides its conventions, whatever format the job came in. Pure. */
#ifndef DIALECT_TASK_ENV_H
#define DIALECT_TASK_ENV_H

#include "dialect/dialect.h"

/* When `torchrun` in a task's command is muster's own: when the job says so, always, never. */
enum torchrun { TORCHRUN_JOB, TORCHRUN_ALWAYS, TORCHRUN_NEVER };

struct task_host { /* of the server that the task is started by */
    const struct dialects *dialects;
    const char *server; /* address by which its tasks reach it; NULL: none */
    enum torchrun torchrun;
    uint64_t gpu_memory; /* bytes, of the device of a task with a share; 0: not known */
    const char *gpu_mps; /* pipe directory of the MPS daemon for such tasks; NULL: none */
};
/* Adds who the task is, where it reaches the server, which launchers its commands find and what
 * these take where their command line says nothing, and its devices: the variables of
 * dialect/variables.h. The role's own env wins over all of it. */
void task_env(const struct task_host *, struct arena *, const struct dialect_task *,
              struct pairs *env);

#endif
