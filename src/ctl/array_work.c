/* What arrays have done by the core: their events, members that enter, wait for places and are
 * commanded, and how much of it one turn does. */
#include "ctl/core.h"
#include "ctl/submit.h"
#include "depend/members.h"
#include "depend/wording.h"
#include "live/row_json.h"

#include "base/mem.h"

static const enum ctl_verb verbs[] = { [ARRAY_STOP] = CTL_STOP,
                                       [ARRAY_STOP_NOW] = CTL_STOP_NOW,
                                       [ARRAY_SUSPEND] = CTL_SUSPEND,
                                       [ARRAY_RESUME] = CTL_RESUME };
static const enum array_command commands[] = { [CTL_STOP] = ARRAY_STOP,
                                               [CTL_STOP_NOW] = ARRAY_STOP_NOW,
                                               [CTL_SUSPEND] = ARRAY_SUSPEND,
                                               [CTL_RESUME] = ARRAY_RESUME };

/* ---- what arrays ask for ---- */

static uint64_t now(const void *ctl)
{
    return core_now(ctl);
}

static uint64_t date(const void *ctl)
{
    return core_date(ctl);
}

/* The first failure is what is told of the array at its end. */
static void record(void *ctl, struct live_array *array, const struct array_event *event)
{
    struct draft text;
    draft_array(&text, array, event);
    const struct sentence said = draft_said(&text);
    if (event->failed ? !*array->row.reason.text : job_state_final(array->row.state))
        array->row.reason = sentence_copy(array->arena, &said);
    event_array(ctl, &array->row, event->type, &said, NULL);
}

static void join(void *arg, uint64_t id)
{
    struct ctl *ctl = arg;
    struct live_job *job = live_find(ctl->live, id);
    if (job)
        planning_join(ctl, job);
}

/* All members begin with the same; of one that has not begun these have no texts. */
static const struct live_column *first_notes(const struct ctl *ctl, struct live_array *array)
{
    if (!array->first) {
        struct live_column *notes = ARENA_NEW(array->arena, struct live_column);
        row_json_read_job(array->arena, ctl->scratch, array->notes.live, notes);
        array->first = notes;
    }
    return array->first;
}

static void enter(void *ctl, struct live_array *array, struct job_row *row)
{
    submit_enter(ctl, row,
                 &(struct submitted_job){ .notes = first_notes(ctl, array),
                                          .spec = array->spec,
                                          .text = array->notes.text });
}

static void command(void *arg, uint64_t id, const char *by, enum array_command wanted)
{
    struct ctl *ctl = arg;
    struct live_job *job = live_find(ctl->live, id);
    if (job && !job_state_final(job->row.state))
        command_member(ctl, job, by, verbs[wanted]);
}

static void ended(void *arg, uint64_t array)
{
    const struct ctl *ctl = arg;
    depend_ended(ctl->dependencies, array);
}

struct arrays *core_arrays(struct ctl *ctl)
{
    const struct arrays_config config = {
        .store = ctl->config.store,
        .keep_ms = ctl->config.keep_ms,
        .core = { .arg = ctl,
                  .now = now,
                  .date = date,
                  .record = record,
                  .join = join,
                  .enter = enter,
                  .command = command,
                  .ended = ended },
    };
    return arrays_create(&config);
}

/* ---- slices ---- */

static struct members_work work_of(struct ctl *ctl)
{
    return (struct members_work){ .rows = &ctl->slices.rows, .may_write = !ctl->unwritten };
}

void array_work_go_on(struct ctl *ctl)
{
    struct members_work work = work_of(ctl);
    if (members_go_on(ctl->arrays, &work))
        core_wake(ctl, core_now(ctl));
    ctl->plan_due |= work.released;
}

void array_work_command(struct ctl *ctl, struct live_array *array, const char *owner,
                        enum ctl_verb verb)
{
    struct members_work work = work_of(ctl);
    members_command(ctl->arrays, array, owner, commands[verb], &work);
    ctl->plan_due |= work.released;
}
