/* Looking things up in a job: how many tasks, which of them, a role by its name. Tasks are counted
 * through the roles in their order. */
#include "job/spec.h"

#include <string.h>

uint32_t job_task_count(const struct job_spec *job)
{
    uint32_t n = 0;
    for (size_t i = 0; i < job->n_roles; i++)
        n += job->roles[i].replicas;
    return n;
}

uint32_t job_task_flat(const struct job_spec *job, uint32_t role, uint32_t index)
{
    uint32_t flat = index;
    for (uint32_t i = 0; i < role && i < job->n_roles; i++)
        flat += job->roles[i].replicas;
    return flat;
}

const struct role *job_role(const struct job_spec *job, const char *name, uint32_t *position)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        if (strcmp(job->roles[i].name, name) != 0)
            continue;
        if (position)
            *position = (uint32_t)i;
        return &job->roles[i];
    }
    return NULL;
}
