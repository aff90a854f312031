/* Commands on jobs: each is checked against state and rights, becomes an event (or
 * closing), and is answered after the commit. */
#include "access/task_entry.h"
#include "account/audit.h"
#include "account/redact.h"
#include "account/rights.h"
#include "ctl/allocations.h"
#include "ctl/core.h"
#include "ctl/results.h"
#include "inventory/away_view.h"
#include "rdzv/jobs/launcher_events.h"

#include "base/mem.h"
#include "depend/wording.h"
#include "store/deletion.h"

#include <stdio.h>
#include <string.h>

struct command {
    struct ctl *ctl;
    const char *owner;
    struct live_job *job; /* NULL: has ended */
    struct job_row row;   /* texts in the answer's arena */
};

typedef int verb_run(struct command *, struct err *);

static int ended(const struct command *c, struct err *err)
{
    err_set(err, ERR_CONFLICT, "job %llu has ended: %s", (unsigned long long)c->row.number,
            job_state_word(c->row.state));
    return err_remedy_of(err, REMEDY_SHOW_JOB, "%llu", (unsigned long long)c->row.number);
}

static int stop(struct command *c, struct err *err)
{
    struct live_job *job = c->job;
    if (!job)
        return ended(c, err);
    const struct reason why = { .kind = REASON_STOPPED, .text = c->owner };
    if (!job_state_holds(job->row.state)) {
        settle_end(c->ctl, job, JOB_EV_STOP, &why);
        return 0;
    }
    enum job_outcome was = job->row.outcome;
    if (was == OUTCOME_STOPPED)
        return 0;
    if (was == OUTCOME_SUCCEEDED ||
        was == OUTCOME_FAILED) { /* decided: only what is held is let go */
        job->notes.hold_until_ms = 0;
        event_job_row(c->ctl, job);
        return 0;
    }
    settle_close(c->ctl, job, OUTCOME_STOPPED, BY_USER, &why);
    return 0;
}

static int stop_now(struct command *c, struct err *err)
{
    if (stop(c, err))
        return -1;
    if (!job_state_final(c->job->row.state)) {
        c->job->notes.force = true;
        event_job_row(c->ctl, c->job);
    }
    return 0;
}

static int suspend(struct command *c, struct err *err)
{
    struct live_job *job = c->job;
    if (!job)
        return ended(c, err);
    const struct reason why = { .kind = REASON_SUSPENDED, .text = c->owner };
    if (job->row.state == JOB_SUSPENDED || job->row.outcome == OUTCOME_SUSPENDED)
        return 0;
    if (job->row.state == JOB_QUEUED)
        return event_job(c->ctl, job, JOB_EV_PAUSED, &why, NULL) ? 0 : -1;
    if (live_closing(job) && job->row.outcome != OUTCOME_REQUEUED) {
        struct reader reader = reader_of(c->ctl->accounts, c->ctl->scratch, c->owner);
        return err_set(err, ERR_CONFLICT, "job %llu is ending: %s",
                       (unsigned long long)c->row.number, reader_text(&reader, &job->row.reason));
    }
    settle_close(c->ctl, job, OUTCOME_SUSPENDED, BY_USER, &why);
    return 0;
}

static int resume(struct command *c, struct err *err)
{
    struct live_job *job = c->job;
    if (!job)
        return ended(c, err);
    const struct reason why = { .kind = REASON_RESUMED, .text = c->owner };
    if (job->row.state == JOB_SUSPENDED) {
        allocations_forget(c->ctl, job);
        job->notes.resumed_ms = core_date(c->ctl);
        job->refusal = (struct live_refusal){ .count = 0 };
        return event_job(c->ctl, job, JOB_EV_RESUMED, &why, NULL) ? 0 : -1;
    }
    if (job->row.outcome == OUTCOME_SUSPENDED) {
        err_set(err, ERR_CONFLICT, "job %llu is still being suspended",
                (unsigned long long)c->row.number);
        return err_hint(err, "again when it is");
    }
    return 0; /* it waits or runs: nothing to resume */
}

int command_suspend(struct ctl *ctl, struct live_job *job, const char *owner, bool hold,
                    struct err *err)
{
    struct command c = { .ctl = ctl, .owner = owner, .job = job, .row = job->row };
    return hold ? suspend(&c, err) : resume(&c, err);
}

static bool lives(const struct ctl *ctl, uint64_t array)
{
    const struct live_array *one = array_find(ctl->arrays, array);
    return one && !job_state_final(one->row.state);
}

/* Those who follow are told of what is gone. */
static void told_deleted(const struct command *c)
{
    struct arena *scratch = c->ctl->scratch;
    struct text_node *body = text_map(scratch, NULL, NULL);
    char id[JOB_ID_TEXT];
    text_str(scratch, body, "id", job_id_format(id, c->row.id));
    text_int(scratch, body, "number", (int64_t)c->row.number);
    text_str(scratch, body, "name", c->row.name);
    text_str(scratch, body, "owner", c->row.owner);
    text_str(scratch, body, "project", c->row.project);
    text_str(scratch, body, "state", job_state_word(c->row.state));
    event_plain(c->ctl, 0, "deleted", body);
}

static int delete (struct command *c, struct err *err)
{
    if (lives(c->ctl, c->row.array) || lives(c->ctl, c->row.id)) {
        unsigned long long number =
            c->row.array ? array_number(&c->row) : (unsigned long long)c->row.number;
        err_set(err, ERR_CONFLICT, "array %llu has not ended", number);
        return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", number);
    }
    if (c->job) {
        err_set(err, ERR_CONFLICT, "job %llu is %s", (unsigned long long)c->row.number,
                job_state_word(c->row.state));
        return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", (unsigned long long)c->row.number);
    }
    if (store_delete_job(c->ctl->config.store, c->row.id, err))
        return -1;
    told_deleted(c);
    vec_push(&c->ctl->doomed, c->row.number);
    c->ctl->slices.deleting = true;
    return 0;
}

/* settle_end() sees to the rest. */
static int drop(struct command *c, struct err *err)
{
    if (!c->job || c->row.array)
        return delete (c, err);
    c->job->notes.drop = true;
    return stop_now(c, err);
}

/* Planning looks at it from the next pass on; a promise that was made to another stays. */
static int set_priority(struct command *c, uint32_t priority, struct err *err)
{
    struct live_job *job = c->job;
    struct ctl *ctl = c->ctl;
    if (!job)
        return ended(c, err);
    if (array_refuse(&c->row, err))
        return -1;
    if (job->row.state != JOB_QUEUED && job->row.state != JOB_SUSPENDED) {
        err_set(err, ERR_CONFLICT, "job %llu is %s", (unsigned long long)c->row.number,
                job_state_word(job->row.state));
        return err_hint(err, "the priority of a job can be changed while it waits");
    }
    if (job->row.priority == priority)
        return 0;
    bool waits = job->waits;
    if (waits)
        live_wait_remove(ctl->live, job);
    job->row.priority = priority;
    if (job->spec)
        job->spec->priority = priority;
    if (waits)
        planning_join(ctl, job);
    ctl->plan_due = true;
    event_job_row(ctl, job);
    event_job_note(ctl, job, "priority",
                   &(struct reason){ .kind = REASON_PRIORITY, .n = priority, .text = c->owner });
    return 0;
}

static verb_run *const verbs[] = {
    [CTL_STOP] = stop,     [CTL_STOP_NOW] = stop_now, [CTL_SUSPEND] = suspend,
    [CTL_RESUME] = resume, [CTL_DELETE] = delete,     [CTL_DROP] = drop,
};
static const char *const actions[] = {
    [CTL_STOP] = "job.stop",         [CTL_STOP_NOW] = "job.stop", [CTL_SUSPEND] = "job.suspend",
    [CTL_RESUME] = "job.resume",     [CTL_DELETE] = "job.delete", [CTL_DROP] = "job.delete",
    [CTL_PRIORITY] = "job.priority",
};

void command_member(struct ctl *ctl, struct live_job *job, const char *owner, enum ctl_verb verb)
{
    struct command one = { .ctl = ctl, .owner = owner, .job = job, .row = job->row };
    struct err refused;
    verbs[verb](&one, &refused);
}

static int run_members(struct command *c, enum ctl_verb verb, struct err *err)
{
    if (!lives(c->ctl, c->row.id))
        return ended(c, err);
    array_work_command(c->ctl, array_find(c->ctl->arrays, c->row.id), c->owner, verb);
    return 0;
}

static int run(struct command *c, struct answer *answer, uint64_t id, enum ctl_verb verb,
               struct err *err)
{
    struct ctl *ctl = c->ctl;
    if (core_lean_row(ctl, answer->arena, id, &c->row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    if (taped_right(ctl, check_may_change(ctl->accounts, c->owner, &c->row, err), err))
        return -1;
    struct live_job *job = live_find(ctl->live, id);
    c->job = job && !job_state_final(job->row.state) ? job : NULL;
    if ((int)verb > CTL_PRIORITY)
        return set_priority(c, (uint32_t)verb - CTL_PRIORITY, err);
    return c->row.members && verb != CTL_DELETE && verb != CTL_DROP ? run_members(c, verb, err)
                                                                    : verbs[verb](c, err);
}

/* It is answered at the end of the turn: the job may be gone by then. */
static struct job_result *state_of(const struct command *c, struct arena *arena)
{
    char counts[JOB_ARRAY_TEXT];
    const struct live_array *array = array_find(c->ctl->arrays, c->row.id);
    const struct job_row *row = c->job ? &c->job->row : array ? &array->row : &c->row;
    struct reader reader = reader_of(c->ctl->accounts, arena, c->owner);
    const char *reason =
        array ? job_array_counts(counts, array->counts) : reader_text(&reader, &row->reason);
    struct job_result *job = ARENA_NEW(arena, struct job_result);
    *job = (struct job_result){ .id = row->id,
                                .number = row->number,
                                .name = arena_strdup(arena, row->name),
                                .owner = arena_strdup(arena, row->owner),
                                .state = row->state,
                                .outcome = row->outcome,
                                .reason = arena_strdup(arena, reason),
                                .array = array_number(row),
                                .has_index = row->array != 0,
                                .index = row->index,
                                .members = row->members,
                                .tasks = row->tasks,
                                .gpu_milli = row->gpu_milli,
                                .generation = row->generation,
                                .restarts = row->restarts };
    if (c->job)
        job->away = nodes_away_of(c->ctl->nodes, arena, c->job);
    return job;
}

void ctl_command(struct ctl *ctl, const char *owner, uint64_t job, enum ctl_verb verb,
                 ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_COMMAND, .owner = owner, .job = job, .what = verb });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct command c = { .ctl = ctl, .owner = owner };
    struct err err = { 0 };
    answer->writes = true;
    answer->job = job;
    if (run(&c, answer, job, verb, &err))
        answer->err = err;
    else
        answer->made.job = state_of(&c, answer->arena);
    audit_job(ctl->accounts, owner, actions[(int)verb < CTL_PRIORITY ? (int)verb : CTL_PRIORITY],
              &c.row, &answer->err);
}

/* ---- restarting ---- */

static struct reason restart_reason(const struct command *c, const struct ctl_restart *ask)
{
    if (ask->reason)
        return (struct reason){ .kind = REASON_SAID,
                                .text = arena_printf(c->ctl->scratch, "%.250s", ask->reason) };
    return (struct reason){ ask->how == RESTART_NEVER ? REASON_FAILED : REASON_RESTARTED,
                            .text = c->owner };
}

static int restart_job(struct command *c, const struct ctl_restart *ask, struct err *err)
{
    struct live_job *job = c->job;
    if (!job_state_holds(job->row.state) || live_closing(job))
        return err_set(err, ERR_CONFLICT, "job %llu is %s: nothing of it can be restarted",
                       (unsigned long long)c->row.number, job_state_word(job->row.state));
    const struct count most = job->spec->retry.unknown;
    const struct reason asked = restart_reason(c, ask);
    const struct reason spent = { .kind = REASON_SPENT,
                                  .because = &asked,
                                  .n = most.kind == COUNT_NUMBER ? most.n : 0 };
    bool again = ask->how != RESTART_NEVER;
    if (again && settle_restart(c->ctl, job, END_UNKNOWN, ask->how == RESTART_COUNTED, &asked))
        return 0;
    settle_close(c->ctl, job, OUTCOME_FAILED, BY_POLICY, again ? &spent : &asked);
    return 0;
}

#define NAMED_MAX 4u /* in the event, of the tasks that somebody has restarted */

/* Who asked, before what follows of it. */
static void note_restart(const struct command *c, const struct ctl_restart *ask)
{
    const struct words *tasks = &ask->tasks;
    AUTO_BUF struct buf text = BUF_INIT(4096);
    for (size_t i = 0; i < tasks->n && i < NAMED_MAX; i++)
        buf_addf(&text, "%s%.100s", i ? ", " : "", tasks->at[i]);
    if (tasks->n > NAMED_MAX)
        buf_addf(&text, " and %zu more", tasks->n - NAMED_MAX);
    if (ask->reason)
        buf_addf(&text, ": %.250s", ask->reason);
    else
        buf_addf(&text, ": restarted by %.100s", c->owner);
    event_note(c->ctl, &(struct launcher_event){ .job = c->job->row.id, .text = buf_str(&text) },
               "asked");
}

static int restart_tasks(struct command *c, const struct ctl_restart *ask, struct err *err)
{
    const struct words *tasks = &ask->tasks;
    struct live_job *job = c->job;
    uint32_t *flat = ARENA_ARRAY(c->ctl->scratch, tasks->n, uint32_t);
    for (size_t i = 0; i < tasks->n; i++) {
        flat[i] = task_find(job, tasks->at[i]);
        if (flat[i] == UINT32_MAX)
            return err_set(err, ERR_NOT_FOUND, "job %llu has no task \"%.100s\"",
                           (unsigned long long)c->row.number, tasks->at[i]);
    }
    if (!live_closing(job))
        note_restart(c, ask);
    for (size_t i = 0; i < tasks->n && !live_closing(job); i++)
        settle_turn(c->ctl, job, flat[i]);
    return 0;
}

static int restart(struct command *c, const struct ctl_restart *ask, struct answer *answer)
{
    struct err *err = &answer->err;
    if (core_lean_row(c->ctl, answer->arena, ask->job, &c->row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    if (array_refuse(&c->row, err))
        return -1;
    if (taped_right(c->ctl, check_may_change(c->ctl->accounts, c->owner, &c->row, err), err))
        return -1;
    struct live_job *job = live_find(c->ctl->live, ask->job);
    if (!job || job_state_final(job->row.state))
        return ended(c, err);
    c->job = job;
    if (!job->tasks || !core_spec(c->ctl, job))
        return err_set(err, ERR_CONFLICT, "job %llu is %s: it has not begun",
                       (unsigned long long)c->row.number, job_state_word(job->row.state));
    return ask->tasks.n ? restart_tasks(c, ask, err) : restart_job(c, ask, err);
}

void ctl_restart(struct ctl *ctl, const struct ctl_restart *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_RESTART, .restart = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct command c = { .ctl = ctl, .owner = ask->owner };
    answer->writes = true;
    answer->job = ask->job;
    if (restart(&c, ask, answer) == 0)
        answer->made.job = state_of(&c, answer->arena);
    audit_job(ctl->accounts, ask->owner, ask->how == RESTART_NEVER ? "job.fail" : "job.restart",
              &c.row, &answer->err);
}
