/* Our part of job_spec.extra. The marks say which tasks of a canonical job were one role of DLC's,
 * so that the way back gives the roles that there were. */
#include "dialect/dlc/extra.h"

#include "dialect/dlc/types.h"
#include "text/tree.h"

#include <string.h>

static bool is_marked(const struct job_spec *job, const char *mark)
{
    return text_flag(text_get(job->extra, DLC_EXTRA), mark);
}

bool dlc_launcher_works(const struct job_spec *job)
{
    return is_marked(job, DLC_LAUNCHER_WORKS);
}

bool dlc_first_worker(const struct job_spec *job)
{
    return is_marked(job, DLC_FIRST_WORKER) || dlc_launcher_works(job);
}

const char *dlc_first_worker_mark(const struct dlc_type *type)
{
    return strcmp(type->framework, "mpi") == 0 ? DLC_LAUNCHER_WORKS : DLC_FIRST_WORKER;
}

const struct dlc_type *dlc_type_of(const struct job_spec *job)
{
    const struct text_node *ours = job->extra ? text_get(job->extra, DLC_EXTRA) : NULL;
    const struct text_node *type = ours ? text_get(ours, "JobType") : NULL;
    return type && type->kind == TEXT_STR ? dlc_type_find(type->str, false) : NULL;
}
