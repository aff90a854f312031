/* A text applied again: what it says beside the job that lives. A job is what it was submitted as;
 * only whether it is held can be changed, everything else that differs is named and refused. */
#include "ctl/update.h"

#include "submission/difference.h"

#include <string.h>

static int compared(struct ctl *ctl, const struct job_row *row, const struct job_spec *spec,
                    const struct job_spec *wanted, struct err *err)
{
    const char *difference = job_difference(ctl->scratch, spec, wanted);
    if (!difference)
        return 0;
    err_set(err, ERR_CONFLICT, "job %llu lives and differs in more than suspend: %s",
            (unsigned long long)row->number, difference);
    return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", (unsigned long long)row->number);
}

struct live_array *update_array_target(struct ctl *ctl, const char *owner,
                                       const struct job_spec *spec)
{
    struct live_array *array = array_named(ctl->arrays, spec->name);
    bool same = array && strcmp(array->row.project, spec->project ? spec->project : "") == 0 &&
                strcmp(array->row.owner, owner) == 0;
    return same ? array : NULL;
}

int update_array(struct ctl *ctl, struct live_array *array, const struct update *to,
                 struct err *err)
{
    if (compared(ctl, &array->row, array->spec, to->wanted, err))
        return -1;
    bool suspended = array->notes.commanded ? array->notes.command == ARRAY_SUSPEND
                                            : array->row.state == JOB_SUSPENDED;
    if (suspended == to->wanted->suspend)
        return 0;
    if (!to->dry_run)
        array_work_command(ctl, array, to->owner, to->wanted->suspend ? CTL_SUSPEND : CTL_RESUME);
    return 1;
}

struct live_job *update_target(struct ctl *ctl, const char *owner, const struct job_spec *spec)
{
    size_t cursor = 0;
    struct live_job *job, *newest = NULL;
    const char *project = spec->project ? spec->project : "";
    while (live_next(ctl->live, &cursor, &job))
        if (!job_state_final(job->row.state) && !job->row.array &&
            strcmp(job->row.name, spec->name) == 0 && strcmp(job->row.project, project) == 0 &&
            strcmp(job->row.owner, owner) == 0 && (!newest || job->row.id > newest->row.id))
            newest = job;
    return newest;
}

int update_job(struct ctl *ctl, struct live_job *job, const struct update *to, struct err *err)
{
    const struct job_spec *spec = core_spec(ctl, job);
    if (!spec)
        return err_set(err, ERR_SYSTEM, "the record of job %llu cannot be read",
                       (unsigned long long)job->row.number);
    if (compared(ctl, &job->row, spec, to->wanted, err))
        return -1;
    bool held = job->row.state == JOB_SUSPENDED || job->row.outcome == OUTCOME_SUSPENDED;
    if (held == to->wanted->suspend)
        return 0;
    if (to->dry_run)
        return 1;
    return command_suspend(ctl, job, to->owner, to->wanted->suspend, err) ? -1 : 1;
}
