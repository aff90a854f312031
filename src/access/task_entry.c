/* Tasks of live jobs by name, and the way into a task that runs: commands inside it, signals to its
 * processes. */
#include "access/task_entry.h"

#include "account/audit.h"
#include "account/rights.h"
#include "depend/array.h"
#include "depend/wording.h"
#include "live/live.h"

#include "base/scan.h"

#include <string.h>

static uint32_t flat_of(const struct job_spec *spec, struct task_ref ref)
{
    if (ref.role >= spec->n_roles || ref.index >= spec->roles[ref.role].replicas)
        return UINT32_MAX;
    return job_task_flat(spec, ref.role, ref.index);
}

bool task_read_ref(const struct job_spec *spec, const char *text, struct task_ref *ref)
{
    char role[JOB_NAME_MAX + 1];
    uint32_t position;
    uint64_t index = 0;
    const char *slash = strrchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    if (len >= sizeof role || (slash && !scan_u64(slash + 1, 0, JOB_MAX_TASKS, &index)))
        return false;
    memcpy(role, text, len);
    role[len] = '\0';
    if (!job_role(spec, role, &position))
        return false;
    *ref = (struct task_ref){ .role = (uint16_t)position, .index = (uint32_t)index };
    return flat_of(spec, *ref) != UINT32_MAX;
}

uint32_t task_find(const struct live_job *job, const char *text)
{
    struct task_ref ref;
    return task_read_ref(job->spec, text, &ref) ? live_flat(job, ref) : UINT32_MAX;
}

/* It runs, or is held open after it failed. */
static bool can_be_entered(const struct live_job *job, const struct live_task *at)
{
    bool held = at->state == TASK_FAILED && job->notes.hold_until_ms > 0;
    return at->attempt_state == ATTEMPT_RUNNING || held;
}

static const struct live_task *only_task(const struct live_job *job, struct err *err)
{
    const struct live_task *found = NULL;
    const uint32_t n = job_task_count(job->spec);
    char name[160];
    for (uint32_t flat = 0; flat < n; flat++) {
        if (!can_be_entered(job, &job->tasks[flat]))
            continue;
        if (found) {
            err_set(err, ERR_INPUT, "job %llu has several tasks that run: say which",
                    (unsigned long long)job->row.number);
            err_hint(err, "for example %s", live_task_name(name, job, flat));
            return NULL;
        }
        found = &job->tasks[flat];
    }
    if (!found)
        err_set(err, ERR_CONFLICT, "no task of job %llu runs now",
                (unsigned long long)job->row.number);
    return found;
}

static const struct live_task *named_task(const struct live_job *job, const char *name,
                                          struct err *err)
{
    uint32_t flat = task_find(job, name);
    if (flat == UINT32_MAX) {
        err_set(err, ERR_NOT_FOUND, "job %llu has no task \"%.100s\"",
                (unsigned long long)job->row.number, name);
        return NULL;
    }
    if (can_be_entered(job, &job->tasks[flat]))
        return &job->tasks[flat];
    err_set(err, ERR_CONFLICT, "%.100s is %s", name, task_state_word(job->tasks[flat].state));
    return NULL;
}

/* The task where it runs, or is held open after it failed; NULL with err. action: for the audit
 * record. */
static const struct live_task *running_task(const struct job_access *access,
                                            const struct task_target *to, const char *action,
                                            struct live_job **out, struct err *err)
{
    struct live_job *job = live_find(access->live, to->job);
    const struct live_array *array = array_find(access->arrays, to->job);
    char id[JOB_ID_TEXT];
    *out = job;
    if (array) {
        array_refuse(&array->row, err);
        return NULL;
    }
    if (!job || !job_state_holds(job->row.state) || !access->spec(access->arg, job) ||
        !job->tasks) {
        err_set(err, ERR_CONFLICT, "the job runs nothing now");
        err_hint(err, "a failed task stays open with health.debug_hold");
        err_remedy_of(err, REMEDY_LOGS_OF, "%s", job_id_format(id, to->job));
        return NULL;
    }
    if (check_may_change(access->accounts, to->owner, &job->row, err)) {
        audit_job(access->accounts, to->owner, action, &job->row, err);
        return NULL;
    }
    return to->task ? named_task(job, to->task, err) : only_task(job, err);
}

int task_exec(const struct job_access *access, const struct task_target *to,
              struct engine_exec *exec, struct err *err)
{
    struct engine *engine = access->engine;
    struct live_job *job;
    const struct live_task *at = running_task(access, to, "job.exec", &job, err);
    if (!at)
        return -1;
    if (!(engine->ops->caps(engine) & ENGINE_EXEC) || !engine->ops->exec)
        return err_set(err, ERR_CANNOT, "the %s engine cannot run commands inside tasks",
                       engine->ops->name);
    exec->generation = (struct generation){ .job = to->job, .number = job->row.generation };
    exec->node = at->place.node;
    exec->task = (struct task_ref){ .role = (uint16_t)at->place.role, .index = at->place.index };
    exec->attempt = at->attempt;
    if (engine->ops->exec(engine, exec, err))
        return -1;
    audit_job(access->accounts, to->owner, "job.exec", &job->row, NULL);
    return 0;
}

int task_signal(const struct job_access *access, const struct task_signal *ask, struct err *err)
{
    struct engine *engine = access->engine;
    struct live_job *job;
    const struct live_task *at = running_task(access, &ask->to, "job.signal", &job, err);
    if (!at)
        return -1;
    if (!engine->ops->signal)
        return err_set(err, ERR_CANNOT, "the %s engine sends no signals", engine->ops->name);
    return engine->ops->signal(
        engine,
        &(struct engine_signal){
            .generation = { .job = ask->to.job, .number = job->row.generation },
            .node = at->place.node,
            .task = { .role = (uint16_t)at->place.role, .index = at->place.index },
            .attempt = at->attempt,
            .signal = ask->signal,
            .done = ask->done,
            .arg = ask->arg },
        err);
}
