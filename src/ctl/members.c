/* Members of arrays, a slice a tick: the array's own row acknowledges all of them, their rows
 * follow it, and what is commanded to all is told to one after the other. How far both are is in
 * the array's row, written with each slice, so that a server that starts goes on where the last one
 * was. */
#include "ctl/array.h"
#include "ctl/packing.h"
#include "ctl/submit.h"

#include <string.h>

uint32_t members_written(const struct live_array *array)
{
    return array->row.members - array->notes.left;
}

enum job_state members_first_state(const struct live_array *array)
{
    return array->spec && array->spec->suspend ? JOB_SUSPENDED : JOB_QUEUED;
}

static bool to_tell(const struct live_array *array)
{
    return array->notes.commanded && array->notes.told < members_written(array);
}

void members_later(struct ctl *ctl, struct live_array *array)
{
    if (array->later || (!array->notes.left && !array->notes.commanded))
        return;
    array->later = true;
    vec_push(&ctl->slices.arrays, array->row.id);
}

static bool ends(enum ctl_verb verb)
{
    return verb == CTL_STOP || verb == CTL_STOP_NOW;
}

bool members_are_held(const struct live_array *array)
{
    return array->notes.commanded && array->notes.verb != CTL_RESUME;
}

bool members_held(const struct ctl *ctl, const struct live_job *job)
{
    const struct live_array *array = array_find(ctl, job->row.array);
    return array && members_are_held(array);
}

/* ---- rows ---- */

static void fill_row(const struct live_array *array, uint32_t position, struct job_row *row)
{
    *row = array->row;
    row->id += 1 + position;
    row->number += 1 + position;
    row->array = array->row.id;
    row->index = job_array_index(&array->spec->array, position);
    row->tasks /= row->members;
    row->gpu_milli /= row->members;
    row->members = 0;
    row->state = members_first_state(array);
    row->reason = (struct sentence){ .text = array->notes.text };
    row->live = array->notes.live;
    row->started_ms = row->ended_ms = 0;
}

static void write_next(struct ctl *ctl, struct live_array *array)
{
    struct job_row row;
    fill_row(array, members_written(array), &row);
    store_put_job(ctl->config.store, &row, NULL);
    array->notes.left--;
    submit_enter(ctl, &row,
                 &(struct entrant){
                     .notes = &array->first, .spec = array->spec, .text = array->notes.text });
}

/* ---- commands ---- */

/* Those that come last are stopped first, so that none is given what those before it leave; they
 * go on in their order. */
static void tell_next(struct ctl *ctl, struct live_array *array)
{
    struct array_notes *notes = &array->notes;
    uint32_t n = notes->told++, last = members_written(array) - 1;
    uint32_t position = notes->verb == CTL_RESUME ? n : last - n;
    struct live_job *job = live_find(ctl->live, array->row.id + 1 + position);
    if (job && !job_state_final(job->row.state))
        command_member(ctl, job, notes->by, notes->verb);
}

/* Those that are written come first. One that is written later is told at once. */
static bool next(struct ctl *ctl, struct live_array *array)
{
    if (to_tell(array)) {
        tell_next(ctl, array);
        return true;
    }
    if (!array->notes.left || ctl->unwritten)
        return false;
    write_next(ctl, array);
    if (array->notes.commanded) {
        struct live_job *job = live_find(ctl->live, array->row.id + members_written(array));
        command_member(ctl, job, array->notes.by, array->notes.verb);
        array->notes.told++;
    }
    return true;
}

static bool go_on(struct ctl *ctl, struct live_array *array)
{
    struct array_notes *notes = &array->notes;
    bool any = false;
    while (ctl->slices.rows > 0 && next(ctl, array)) {
        slices_spend(&ctl->slices.rows, 1);
        any = true;
    }
    if (notes->commanded && notes->told == array->row.members) {
        notes->commanded = false;
        ctl->plan_due = any = true; /* what was held may start now, or others in its place */
    }
    if (any)
        array_record(ctl, array, NULL, NULL, NULL);
    members_later(ctl, array);
    return any;
}

void members_command(struct ctl *ctl, struct live_array *array, const char *owner,
                     enum ctl_verb verb)
{
    struct array_notes *notes = &array->notes;
    if (notes->commanded && (notes->verb == verb || (ends(notes->verb) && verb != CTL_STOP_NOW)))
        return;
    notes->commanded = true;
    notes->verb = verb;
    notes->by = arena_strdup(array->arena, owner);
    notes->told = 0;
    array_record(ctl, array, NULL, NULL, NULL);
    go_on(ctl, array);
    arrays_settle(ctl); /* the answer says what became of it */
}

void members_go_on(struct ctl *ctl)
{
    bool any = false;
    for (size_t n = ctl->slices.arrays.n; n > 0 && ctl->slices.rows > 0; n--) {
        struct live_array *array = array_find(ctl, ctl->slices.arrays.at[0]);
        vec_remove(&ctl->slices.arrays, 0);
        if (!array)
            continue;
        array->later = false;
        any |= go_on(ctl, array);
    }
    if (ctl->slices.arrays.n > 0 && (any || ctl->slices.rows == 0))
        core_wake(ctl, core_now(ctl));
}

/* ---- reading ---- */

static bool is_coming(const struct live_array *array, uint64_t position)
{
    return position >= members_written(array) && position < array->row.members;
}

uint64_t members_find_coming(const struct ctl *ctl, uint64_t number)
{
    for (size_t i = 0; i < ctl->slices.arrays.n; i++) {
        const struct live_array *array = array_find(ctl, ctl->slices.arrays.at[i]);
        if (array && number > array->row.number && is_coming(array, number - array->row.number - 1))
            return array->row.id + (number - array->row.number);
    }
    return 0;
}

bool members_coming(const struct ctl *ctl, uint64_t id, struct job_row *row)
{
    for (size_t i = 0; i < ctl->slices.arrays.n; i++) {
        const struct live_array *array = array_find(ctl, ctl->slices.arrays.at[i]);
        if (!array || id <= array->row.id || !is_coming(array, id - array->row.id - 1))
            continue;
        fill_row(array, (uint32_t)(id - array->row.id - 1), row);
        return true;
    }
    return false;
}
