/* What a placed task is told besides its conventions, and what its Python entry point is run by.
 * Pure. */
#ifndef CTL_TASK_ENV_H
#define CTL_TASK_ENV_H

#include "ctl/ctl.h"

/* Who the task is, whatever its conventions are: MUSTER_JOB_NAME, MUSTER_JOB_NUMBER, MUSTER_ROLE,
 * MUSTER_TASK_INDEX, MUSTER_TASK_NODE, MUSTER_TASK_ADDRESS, MUSTER_RESTART_COUNT; of a member of
 * an array MUSTER_ARRAY_JOB (number of the array), _INDEX, _COUNT, _FIRST, _LAST, _STEP; and where
 * it reaches the server: MUSTER_SERVER. Which launchers its commands find: MUSTER_LAUNCHERS (read
 * by the agent). What they take where their command line says nothing, when the role or a
 * convention asks for one: PET_*. The role's own env wins over all of it. */
struct words task_argv(struct arena *, const struct role *); /* of a role with an entry point */
void task_env(const struct ctl_config *, struct arena *, const struct dialect_task *,
              struct pairs *env);

#endif
