/* What jobs that wait for others have done by the core: names are looked up with their owner's
 * rights when they are submitted, and whoever is due joins the queue, goes on waiting or ends. */
#include "ctl/depend_work.h"

#include "account/rights.h"
#include "ctl/core.h"
#include "depend/bundle.h"
#include "depend/wording.h"

/* ---- what they ask for ---- */

static const struct job_row *live_row(const void *arg, uint64_t id)
{
    const struct ctl *ctl = arg;
    const struct live_job *job = live_find(ctl->live, id);
    return job ? &job->row : NULL;
}

/* Also one whose row is still to come. */
static uint64_t find(void *arg, const char *name)
{
    struct err err = { 0 };
    uint64_t id = 0;
    return ctl_find(arg, name, &id, &err) == 0 || err.code == ERR_UNAVAILABLE ? id : 0;
}

/* Rights are in no recording. */
static bool may_read(void *arg, const char *owner, const struct job_row *row)
{
    struct ctl *ctl = arg;
    return taped_right(ctl, user_may_read(ctl->accounts, owner, row) ? 0 : -1, NULL) == 0;
}

static bool is_called(const struct job_row *row, const char *owner, const char *name)
{
    return !job_state_final(row->state) && (!owner || strcmp(row->owner, owner) == 0) &&
           strcmp(row->name, name) == 0;
}

static void unended(void *arg, const char *owner, const char *name,
                    void (*each)(void *each_arg, const struct job_row *), void *each_arg)
{
    const struct ctl *ctl = arg;
    struct live_job *job;
    struct live_array *array;
    for (size_t cursor = 0; live_next(ctl->live, &cursor, &job);)
        if (!job->row.array && is_called(&job->row, owner, name))
            each(each_arg, &job->row);
    for (size_t cursor = 0; array_next(ctl->arrays, &cursor, &array);)
        if (is_called(&array->row, owner, name))
            each(each_arg, &array->row);
}

struct dependencies *core_dependencies(struct ctl *ctl)
{
    const struct dependencies_config config = { .store = ctl->config.store,
                                                .arrays = ctl->arrays,
                                                .core = { .arg = ctl,
                                                          .live = live_row,
                                                          .find = find,
                                                          .may_read = may_read,
                                                          .unended = unended } };
    return dependencies_create(&config);
}

/* ---- what the core asks of them ---- */

int depend_work_resolve(struct ctl *ctl, const char *owner, struct job_spec *spec,
                        struct report *report)
{
    report_dependencies(report, depend_resolve(ctl->dependencies, report->arena, owner, spec));
    return report_ok(report) ? 0 : -1;
}

static struct depend_job waits(const struct live_job *job)
{
    return (struct depend_job){ .row = &job->row, .spec = job->spec, .met = &job->notes.met };
}

bool depend_work_blocks(struct ctl *ctl, struct arena *arena, struct live_job *job,
                        struct depend_answer *answer)
{
    if (!job->notes.has_after || !core_spec(ctl, job))
        return false;
    const struct depend_job one = waits(job);
    *answer = depend_look(ctl->dependencies, arena, &one);
    return answer->kind != DEPEND_MET;
}

bool depend_work_would_block(const struct ctl *ctl, struct arena *arena,
                             const struct job_spec *spec, struct depend_answer *answer)
{
    const struct depend_job newcomer = { .row = &(struct job_row){ .number = 0 },
                                         .spec = spec,
                                         .met = &(struct words){ .n = 0 } };
    *answer = depend_look(ctl->dependencies, arena, &newcomer);
    return answer->kind != DEPEND_MET;
}

/* Of several jobs, those that have ended as wished: nobody looks at them again. */
static void note_met(struct ctl *ctl, struct live_job *job)
{
    const struct depend_job one = waits(job);
    const struct words met = depend_met(ctl->dependencies, job->arena, &one);
    if (met.n == job->notes.met.n)
        return;
    job->notes.met = met;
    event_job_row(ctl, job);
}

static void go_on_waiting(struct ctl *ctl, struct live_job *job, const struct depend_answer *answer)
{
    event_say(job, &(struct reason){ .kind = REASON_DEPENDS, .depend = answer });
    job->why = (struct live_why){ .why = WAIT_AFTER };
    depend_wait(ctl->dependencies, job->row.id, answer);
    if (job->spec->n_after > 1)
        note_met(ctl, job);
}

static void wait_no_longer(struct ctl *ctl, struct live_job *job)
{
    job->notes.has_after = false;
    job->notes.met = (struct words){ 0 };
    event_job_row(ctl, job);
    event_queued(ctl, job);
}

static void settle(struct ctl *ctl, struct live_job *job)
{
    if (!core_spec(ctl, job)) {
        settle_end(ctl, job, JOB_EV_FAIL, &(struct reason){ .kind = REASON_UNREADABLE });
        return;
    }
    struct arena *arena = arena_create();
    const struct depend_job one = waits(job);
    const struct depend_answer answer = depend_look(ctl->dependencies, arena, &one);
    if (depend_never(&answer))
        settle_end(ctl, job, JOB_EV_FAIL,
                   &(struct reason){ .kind = REASON_DEPENDS, .depend = &answer });
    else if (answer.kind == DEPEND_TO_END)
        go_on_waiting(ctl, job, &answer);
    else
        wait_no_longer(ctl, job);
    arena_destroy(arena);
}

bool depend_work_settle(struct ctl *ctl)
{
    bool any = false;
    uint64_t id;
    while (depend_take(ctl->dependencies, &id)) {
        struct live_job *job = live_find(ctl->live, id);
        any = true;
        if (job && job->row.state == JOB_QUEUED && job->notes.has_after)
            settle(ctl, job);
    }
    return any;
}
