/* Members of arrays, a slice a tick: the array's own row acknowledges all of them, their rows
 * follow it, and what is commanded to all is told to one after the other. How far both are is in
 * the array's row, written with each slice, so that a server that starts goes on where the last one
 * was. */
#include "depend/members.h"

static bool to_tell(const struct live_array *array)
{
    return array->notes.commanded && array->notes.told < array_written(array);
}

static bool ends(enum array_command command)
{
    return command == ARRAY_STOP || command == ARRAY_STOP_NOW;
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
    row->state = array_first_state(array);
    row->reason = (struct sentence){ .text = array->notes.text };
    row->live = array->notes.live;
    row->started_ms = row->ended_ms = 0;
}

static void write_next(struct arrays *arrays, struct live_array *array)
{
    const struct arrays_config *config = arrays_config(arrays);
    struct job_row row;
    fill_row(array, array_written(array), &row);
    store_put_job(config->store, &row, NULL);
    array->notes.left--;
    config->core.enter(config->core.arg, array, &row);
}

/* ---- commands ---- */

static void tell(struct arrays *arrays, const struct live_array *array, uint32_t position)
{
    const struct arrays_core *core = &arrays_config(arrays)->core;
    core->command(core->arg, array->row.id + 1 + position, array->notes.by, array->notes.command);
}

/* Those that come last are stopped first, so that none is given what those before it leave; they
 * go on in their order. */
static void tell_next(struct arrays *arrays, struct live_array *array)
{
    struct array_progress *notes = &array->notes;
    uint32_t n = notes->told++, last = array_written(array) - 1;
    tell(arrays, array, notes->command == ARRAY_RESUME ? n : last - n);
}

/* Those that are written come first. One that is written later is told at once. */
static bool next(struct arrays *arrays, struct live_array *array, const struct members_work *work)
{
    if (to_tell(array)) {
        tell_next(arrays, array);
        return true;
    }
    if (!array->notes.left || !work->may_write)
        return false;
    write_next(arrays, array);
    if (array->notes.commanded) {
        tell(arrays, array, array_written(array) - 1);
        array->notes.told++;
    }
    return true;
}

static bool go_on(struct arrays *arrays, struct live_array *array, struct members_work *work)
{
    struct array_progress *notes = &array->notes;
    bool any = false;
    while (*work->rows > 0 && next(arrays, array, work)) {
        (*work->rows)--;
        any = true;
    }
    if (notes->commanded && notes->told == array->row.members) {
        notes->commanded = false;
        work->released = any = true;
    }
    if (any)
        array_record(arrays, array, NULL);
    array_put_off(arrays, array);
    return any;
}

void members_command(struct arrays *arrays, struct live_array *array, const char *owner,
                     enum array_command command, struct members_work *work)
{
    struct array_progress *notes = &array->notes;
    if (notes->commanded &&
        (notes->command == command || (ends(notes->command) && command != ARRAY_STOP_NOW)))
        return;
    notes->commanded = true;
    notes->command = command;
    notes->by = arena_strdup(array->arena, owner);
    notes->told = 0;
    array_record(arrays, array, NULL);
    go_on(arrays, array, work);
    arrays_settle(arrays); /* the answer says what became of it */
}

bool members_go_on(struct arrays *arrays, struct members_work *work)
{
    bool any = false;
    for (size_t n = arrays_unfinished(arrays); n > 0 && *work->rows > 0; n--) {
        struct live_array *array = arrays_take_unfinished(arrays);
        if (array)
            any |= go_on(arrays, array, work);
    }
    return arrays_unfinished(arrays) > 0 && (any || *work->rows == 0);
}

/* ---- reading ---- */

static bool is_coming(const struct live_array *array, uint64_t position)
{
    return position >= array_written(array) && position < array->row.members;
}

uint64_t members_find_coming(const struct arrays *arrays, uint64_t number)
{
    for (size_t i = 0; i < arrays_unfinished(arrays); i++) {
        const struct live_array *array = arrays_unfinished_at(arrays, i);
        if (array && number > array->row.number && is_coming(array, number - array->row.number - 1))
            return array->row.id + (number - array->row.number);
    }
    return 0;
}

bool members_coming(const struct arrays *arrays, uint64_t id, struct job_row *row)
{
    for (size_t i = 0; i < arrays_unfinished(arrays); i++) {
        const struct live_array *array = arrays_unfinished_at(arrays, i);
        if (!array || id <= array->row.id || !is_coming(array, id - array->row.id - 1))
            continue;
        fill_row(array, (uint32_t)(id - array->row.id - 1), row);
        return true;
    }
    return false;
}
