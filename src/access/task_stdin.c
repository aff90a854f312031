/* Who may be let at the stdin of which task, and what to do where nobody can: the refusal says
 * whether the job has no stdin, the task does not run, or somebody else may. */
#include "access/task_stdin.h"

#include "access/task_entry.h"
#include "account/audit.h"
#include "account/rights.h"
#include "depend/array.h"
#include "depend/wording.h"
#include "live/live.h"

static struct task_ref first_with_stdin(const struct job_spec *spec)
{
    for (size_t r = 0; r < spec->n_roles; r++)
        if (spec->roles[r].open_stdin)
            return (struct task_ref){ .role = (uint16_t)r };
    return (struct task_ref){ .role = 0 };
}

/* The job, when it lives and is the owner's. */
static struct live_job *attached_job(const struct job_access *access,
                                     const struct stdin_request *ask, struct err *err)
{
    const struct live_array *array = array_find(access->arrays, ask->job);
    struct live_job *job = live_find(access->live, ask->job);
    char id[JOB_ID_TEXT];
    if (array)
        array_refuse(&array->row, err);
    else if (!job || !access->spec(access->arg, job)) {
        err_set(err, ERR_CONFLICT, "the job has ended: there is no stdin to type into");
        err_remedy_of(err, REMEDY_LOGS_OF, "%s", job_id_format(id, ask->job));
    } else if (check_may_change(access->accounts, ask->owner, &job->row, err) == 0) {
        return job;
    } else {
        audit_job(access->accounts, ask->owner, "job.attach", &job->row, err);
    }
    return NULL;
}

/* The task, whose role keeps a stdin. */
static int attached_task(const struct live_job *job, const struct stdin_request *ask,
                         struct task_ref *ref, struct err *err)
{
    unsigned long long number = job->row.number;
    *ref = first_with_stdin(job->spec);
    if (ask->task && !task_read_ref(job->spec, ask->task, ref)) {
        err_set(err, ERR_NOT_FOUND, "job %llu has no task \"%.100s\"", number, ask->task);
        return err_remedy_of(err, REMEDY_SHOW_JOB, "%llu", number);
    }
    const struct role *role = &job->spec->roles[ref->role];
    if (role->open_stdin)
        return 0;
    err_set(err, ERR_CONFLICT, "%.100s/%u of job %llu keeps no stdin open", role->name, ref->index,
            number);
    err_remedy_of(err, REMEDY_RESUBMIT_STDIN, "%llu", number);
    return err_remedy_of(err, REMEDY_TASK_ENTER, "%llu\n%.100s/%u", number, role->name, ref->index);
}

static int refuse_idle(const struct live_job *job, struct task_ref ref, struct err *err)
{
    uint32_t flat = live_flat(job, ref);
    const struct live_task *at = flat != UINT32_MAX ? &job->tasks[flat] : NULL;
    const char *role = job->spec->roles[ref.role].name;
    unsigned long long number = job->row.number;
    if (at && task_state_final(at->state)) {
        err_set(err, ERR_CONFLICT, "%.100s/%u of job %llu has ended", role, ref.index, number);
        return err_remedy_of(err, REMEDY_LOGS_OF_TASK, "%llu\n%.100s/%u", number, role, ref.index);
    }
    err_set(err, ERR_CONFLICT, "%.100s/%u of job %llu does not run yet, the job is %s", role,
            ref.index, number, job_state_word(job->row.state));
    return err_remedy_of(err, REMEDY_SHOW_JOB, "%llu", number);
}

int task_attach(const struct job_access *access, struct stdin_request *ask,
                struct engine_attach *to, struct err *err)
{
    struct engine *engine = access->engine;
    struct live_job *job = attached_job(access, ask, err);
    struct task_ref ref;
    if (!job || attached_task(job, ask, &ref, err) < 0)
        return -1;
    uint32_t flat = live_flat(job, ref);
    const struct live_task *at = flat != UINT32_MAX ? &job->tasks[flat] : NULL;
    if (!at || at->attempt_state != ATTEMPT_RUNNING)
        return refuse_idle(job, ref, err);
    if (ask->attempt && ask->attempt != at->attempt)
        return err_set(err, ERR_CONFLICT, "attempt %u of that task has ended", ask->attempt);
    if (!engine->ops->attach)
        return err_set(err, ERR_CANNOT, "the %s engine lets nobody at the stdin of a task",
                       engine->ops->name);
    ask->role = job->spec->roles[ref.role].name;
    ask->tty = job->spec->roles[ref.role].tty;
    to->generation = (struct generation){ .job = ask->job, .number = job->row.generation };
    to->node = at->place.node;
    to->task = ref;
    to->attempt = at->attempt;
    if (engine->ops->attach(engine, to, err))
        return -1;
    audit_job(access->accounts, ask->owner, "job.attach", &job->row, NULL);
    return 0;
}
