/* Events: the only functions that change the state of a job or a task. Each looks the pair up in
 * the transition table, moves the memory, writes the row and adds the event to the open
 * transaction; a pair that is not in the table is recorded and refused. Failed writes need no
 * handling here: the store remembers them and the commit fails. */
#include "ctl/core.h"
#include "ctl/tape.h"
#include "depend/array.h"
#include "depend/dependency.h"
#include "live/row_json.h"
#include "live/wording.h"
#include "rdzv/jobs/launcher_events.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void add_event(struct ctl *ctl, struct event_row *row, const char *state,
                      const struct sentence *said, struct text_node *body)
{
    row->at_ms = core_date(ctl);
    row->steady_ms = core_now(ctl);
    if (!store_keeps_details(ctl->config.store)) { /* nobody reads the words */
        store_add_event(ctl->config.store, row, NULL);
        return;
    }
    AUTO_FREE char *packed = named_job_pack(&said->named);
    struct text_node *map = body ? body : text_map(ctl->scratch, NULL, NULL);
    if (state)
        text_str(ctl->scratch, map, "state", state);
    if (said->text && *said->text)
        text_str(ctl->scratch, map, "text", said->text);
    row->body = map->count ? row_json_print(ctl->scratch, map) : NULL;
    row->named = packed;
    store_add_event(ctl->config.store, row, NULL);
}

static void add_plain(struct ctl *ctl, struct event_row *row, const char *state, const char *text,
                      struct text_node *body)
{
    const struct sentence said = { .text = text };
    add_event(ctl, row, state, &said, body);
}

void event_job_row(struct ctl *ctl, struct live_job *job)
{
    core_touch(ctl, job);
    job->notes.counted = job_state_final(job->row.state) && live_tally(job, &job->notes.ended);
    if (store_keeps_details(ctl->config.store)) /* else nothing is ever loaded again */
        job->row.live = row_json_of_job(ctl->scratch, &job->notes);
    store_update_job(ctl->config.store, &job->row, NULL);
    job->row.live = NULL;
}

static void refused(struct ctl *ctl, struct live_job *job, const char *event, const char *state)
{
    struct event_row row = { .job = job->row.id, .type = "refused" };
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    text_str(ctl->scratch, body, "event", event);
    core_touch(ctl, job);
    add_plain(ctl, &row, state, "this event is not possible in this state", body);
    log_warn("event.refused", "job=%llu event=%s state=%s", (unsigned long long)job->row.number,
             event, state);
}

/* The memory and the row of the job; its event is the caller's. */
static bool move_job(struct ctl *ctl, struct live_job *job, enum job_event event,
                     const struct sentence *said, bool with_row)
{
    enum job_state next = job_next_state(job->row.state, event);
    if (next == JOB_NONE) {
        refused(ctl, job, job_event_word(event), job_state_word(job->row.state));
        return false;
    }
    /* Queues count a job as a whole until then, later than its last place is given back. */
    ctl->plan_due |= job_state_holds(job->row.state) && !job_state_holds(next);
    job->row.state = next;
    live_set_active(ctl->live, job, job_state_holds(next));
    if (job->waits && next != JOB_QUEUED)
        live_wait_remove(ctl->live, job);
    if (said->text)
        live_set_sentence(job, said);
    if (with_row)
        event_job_row(ctl, job);
    else
        core_touch(ctl, job);
    return true;
}

/* Who else goes by the state of a job. */
static void tell_moved(struct ctl *ctl, struct live_job *job, enum job_event event,
                       enum job_state was, struct text_node *body)
{
    taped_event(ctl, job, job_event_word(event), body);
    array_moved(ctl->arrays, &job->row, was);
    if (job->row.state == JOB_QUEUED) {
        core_deadline(ctl, job, job->notes.pending_until_ms);
        core_deadline(ctl, job, job->row.not_before_ms);
        event_queued(ctl, job);
    }
}

static bool add_job_event(struct ctl *ctl, struct live_job *job, enum job_event event,
                          const struct sentence *said, struct text_node *body, bool with_row)
{
    enum job_state was = job->row.state;
    if (!move_job(ctl, job, event, said, with_row))
        return false;
    struct event_row row = { .job = job->row.id, .type = job_event_word(event) };
    add_event(ctl, &row, job_state_word(job->row.state), &job->row.reason, body);
    tell_moved(ctl, job, event, was, body);
    return true;
}

/* Nothing is said without a reason. */
static struct sentence said_of(struct draft *draft, const struct reason *reason)
{
    if (!reason)
        return (struct sentence){ .text = NULL };
    draft_reason(draft, reason);
    return draft_said(draft);
}

void event_say(struct live_job *job, const struct reason *reason)
{
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    live_set_sentence(job, &said);
}

bool event_job(struct ctl *ctl, struct live_job *job, enum job_event event,
               const struct reason *reason, struct text_node *body)
{
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    return add_job_event(ctl, job, event, &said, body, true);
}

bool event_new_job(struct ctl *ctl, struct live_job *job, enum job_event event,
                   const struct reason *reason, struct text_node *body)
{
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    return add_job_event(ctl, job, event, &said, body, false);
}

bool event_job_along(struct ctl *ctl, struct live_job *job, enum job_event event,
                     const struct reason *reason)
{
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    enum job_state was = job->row.state;
    if (!move_job(ctl, job, event, &said, true))
        return false;
    tell_moved(ctl, job, event, was, NULL);
    return true;
}

void event_queued(struct ctl *ctl, struct live_job *job)
{
    if (job->notes.has_after)
        depend_ask(ctl->dependencies, job->row.id);
    else if (!array_hold(ctl->arrays, &job->row))
        planning_join(ctl, job);
}

void event_array(struct ctl *ctl, const struct job_row *array, const char *type,
                 const struct sentence *said, struct text_node *body)
{
    struct event_row row = { .job = array->id, .type = type };
    store_update_job(ctl->config.store, array, NULL);
    add_event(ctl, &row, job_state_word(array->state), said, body);
}

bool event_task(struct ctl *ctl, struct live_job *job, uint32_t flat, enum task_event event)
{
    struct live_task *task = &job->tasks[flat];
    enum task_state from = task->state, next = task_next_state(from, event);
    if (next == TASK_NONE) {
        refused(ctl, job, task_event_word(event), task_state_word(from));
        return false;
    }
    live_set_state(job, task, next);
    core_touch(ctl, job);
    return true;
}

static struct task_ref ref_of(const struct live_task *task)
{
    return (struct task_ref){ .role = (uint16_t)task->place.role, .index = task->place.index };
}

void event_task_row(struct ctl *ctl, struct live_job *job, uint32_t flat)
{
    const struct live_task *task = &job->tasks[flat];
    if (!store_keeps_details(ctl->config.store))
        return;
    struct task_row row = { .job = job->row.id,
                            .ref = ref_of(task),
                            .state = task->state,
                            .attempt = task->attempt,
                            .live = row_json_of_task(ctl->scratch, task) };
    store_put_task(ctl->config.store, &row, NULL);
}

void event_task_note(struct ctl *ctl, struct live_job *job, uint32_t flat, const char *type,
                     const struct reason *reason, struct text_node *body)
{
    const struct live_task *task = &job->tasks[flat];
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    char name[64];
    snprintf(name, sizeof name, "task.%s", type);
    struct event_row row = { .job = job->row.id,
                             .type = name,
                             .has_task = true,
                             .task = ref_of(task),
                             .attempt = task->attempt };
    add_event(ctl, &row, task_state_word(task->state), &said, body);
}

void event_job_note(struct ctl *ctl, const struct live_job *job, const char *type,
                    const struct reason *reason)
{
    struct event_row row = { .job = job->row.id, .type = type };
    struct draft draft;
    const struct sentence said = said_of(&draft, reason);
    add_event(ctl, &row, NULL, &said, NULL);
}

void event_attempt_row(struct ctl *ctl, struct live_job *job, uint32_t flat,
                       const struct attempt_end *end)
{
    const struct live_task *task = &job->tasks[flat];
    if (!store_keeps_details(ctl->config.store))
        return;
    struct attempt_row row = { .job = job->row.id,
                               .ref = ref_of(task),
                               .attempt = task->attempt,
                               .generation = job->row.generation,
                               .state = task->attempt_state,
                               .node = task->place.node,
                               .place = row_json_of_place(ctl->scratch, task),
                               .placed_ms = task->placed_ms,
                               .started_ms = task->started_ms,
                               .pid = task->pid,
                               .log_end = task->log_end };
    if (end) {
        row.ended_ms = end->at_ms;
        row.ending = *end->ending;
        row.reason = words_beside(end->ending, end->remark);
    }
    store_put_attempt(ctl->config.store, &row, NULL);
}

uint64_t event_plain(struct ctl *ctl, uint64_t job, const char *type, struct text_node *body)
{
    struct event_row row = { .job = job, .type = type };
    add_plain(ctl, &row, NULL, NULL, body);
    return row.seq;
}

void event_note(struct ctl *ctl, const struct launcher_event *told, const char *type)
{
    struct event_row row = { .job = told->job,
                             .type = type,
                             .has_task = told->has_task,
                             .task = told->task,
                             .attempt = told->attempt };
    add_plain(ctl, &row, NULL, told->text, NULL);
}

void event_server(struct ctl *ctl, const char *type, const char *text)
{
    struct event_row row = { .type = type };
    add_plain(ctl, &row, NULL, text, NULL);
}

void ctl_server_event(struct ctl *ctl, const char *type, const char *text, ctl_done *done,
                      void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_EVENT, .name = type });
    turn_answer(ctl, done, arg)->writes = true;
    event_server(ctl, type, text);
}
