/* An array is a row and, while members live, an entry here; its members are jobs like others. What
 * it keeps is counted as they change state, so that neither a slot nor its own state needs a walk
 * over them. */
#include "depend/array.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/record.h"
#include "store/find.h"

#include <string.h>

/* Of a member in memory: it has one of the slots, or is queued and waits for one. */
#define HAS_SLOT  1u
#define WAITS_FOR 2u

struct arrays {
    struct arrays_config config;
    struct map *by_id;
    VEC(uint64_t) touched;    /* in the open transaction */
    VEC(uint64_t) unfinished; /* their members are not all written, or not all told */
};

struct arrays *arrays_create(const struct arrays_config *config)
{
    struct arrays *arrays = mem_new(sizeof *arrays);
    arrays->config = *config;
    arrays->by_id = map_create();
    return arrays;
}

static void array_free(void *freed)
{
    struct live_array *array = freed;
    arena_destroy(array->arena);
    free(array);
}

void arrays_destroy(struct arrays *arrays)
{
    if (!arrays)
        return;
    map_destroy_with(arrays->by_id, array_free);
    vec_fini(&arrays->touched);
    vec_fini(&arrays->unfinished);
    free(arrays);
}

const struct arrays_config *arrays_config(const struct arrays *arrays)
{
    return &arrays->config;
}

struct live_array *array_find(const struct arrays *arrays, uint64_t id)
{
    return id ? map_get(arrays->by_id, id) : NULL;
}

bool array_next(const struct arrays *arrays, size_t *cursor, struct live_array **array)
{
    uint64_t id;
    void *value;
    if (!map_next(arrays->by_id, cursor, &id, &value))
        return false;
    *array = value;
    return true;
}

struct live_array *array_named(const struct arrays *arrays, const char *name)
{
    struct live_array *newest = NULL, *array;
    for (size_t cursor = 0; array_next(arrays, &cursor, &array);)
        if (strcmp(array->row.name, name) == 0 && (!newest || array->row.id > newest->row.id))
            newest = array;
    return newest;
}

void array_touch(struct arrays *arrays, struct live_array *array)
{
    if (array->touched)
        return;
    array->touched = true;
    vec_push(&arrays->touched, array->row.id);
}

static void count_members(struct arrays *arrays, struct live_array *array)
{
    struct job_counts counts = { 0 };
    if (array_written(array))
        store_member_counts(arrays->config.store, &array->row, &counts, NULL);
    for (int state = JOB_NONE; state < JOB_STATE_N; state++)
        array->counts[state] = (uint32_t)counts.by_state[state];
    array->counts[array_first_state(array)] += array->notes.left;
}

static int read_row(const struct arrays *arrays, struct arena *arena, uint64_t id,
                    struct job_row *row)
{
    struct err err;
    int found = store_get_job(arrays->config.store, arena, id, row, &err);
    if (found < 0)
        log_error("store.read", "job=%llu: %s", (unsigned long long)id, err.what);
    return found == 1 ? 0 : -1;
}

static void drop(struct arrays *arrays, struct live_array *array)
{
    map_remove(arrays->by_id, array->row.id);
    array_free(array);
}

struct live_array *array_open(struct arrays *arrays, const struct job_row *row)
{
    struct live_array *array = mem_new(sizeof *array);
    struct arena *scratch = arena_create();
    struct job_row stored;
    array->arena = arena_create();
    array->row = *row;
    array->row.owner = arena_strdup(array->arena, row->owner);
    array->row.project = arena_strdup(array->arena, row->project);
    array->row.name = arena_strdup(array->arena, row->name);
    array->row.queue = arena_strdup(array->arena, row->queue);
    array->row.dialect = arena_strdup(array->arena, row->dialect);
    array->row.reason = sentence_copy(array->arena, &row->reason);
    array->row.spec = array->row.site = array->row.live = NULL;
    array->members = ARENA_ARRAY(array->arena, row->members, unsigned char);
    if (read_row(arrays, scratch, row->id, &stored) == 0) {
        array->spec = job_of_text(array->arena, stored.spec);
        array_progress_read(array->arena, stored.live, &array->notes);
        array_put_off(arrays, array);
    }
    arena_destroy(scratch);
    map_set(arrays->by_id, row->id, array);
    if (!array->spec || array->spec->array.count != row->members ||
        array->notes.left > row->members) {
        log_error("array.unreadable", "job=%llu", (unsigned long long)row->number);
        drop(arrays, array);
        return NULL;
    }
    count_members(arrays, array);
    return array;
}

void array_record(struct arrays *arrays, struct live_array *array, const struct array_event *event)
{
    const struct arrays_core *core = &arrays->config.core;
    struct arena *scratch = arena_create();
    array_touch(arrays, array);
    array->row.live = array_progress_print(scratch, &array->notes);
    if (event)
        core->record(core->arg, array, event);
    else
        store_update_job(arrays->config.store, &array->row, NULL);
    array->row.live = NULL;
    arena_destroy(scratch);
}

/* ---- members ---- */

uint32_t array_written(const struct live_array *array)
{
    return array->row.members - array->notes.left;
}

enum job_state array_first_state(const struct live_array *array)
{
    return array->spec && array->spec->suspend ? JOB_SUSPENDED : JOB_QUEUED;
}

bool array_is_held(const struct live_array *array)
{
    return array->notes.commanded && array->notes.command != ARRAY_RESUME;
}

bool array_holds(const struct arrays *arrays, const struct job_row *row)
{
    const struct live_array *array = array_find(arrays, row->array);
    return array && array_is_held(array);
}

/* The array that the row is a member of, and where in it; NULL: of none that lives. */
static struct live_array *array_of(const struct arrays *arrays, const struct job_row *row,
                                   uint32_t *position)
{
    struct live_array *array = array_find(arrays, row->array);
    uint64_t at = array ? row->id - array->row.id - 1 : 0;
    *position = (uint32_t)at;
    return array && at < array->row.members ? array : NULL;
}

static bool has_slot(const struct live_array *array, uint32_t position)
{
    return array->members[position] & HAS_SLOT;
}

static bool is_aside(const struct live_array *array, uint32_t position)
{
    return array->members[position] & WAITS_FOR;
}

static void no_longer_aside(struct live_array *array, uint32_t position)
{
    array->aside -= is_aside(array, position);
    array->members[position] &= (unsigned char)~WAITS_FOR;
}

static void give_slot(struct live_array *array, uint32_t position)
{
    array->slots += !has_slot(array, position);
    array->members[position] |= HAS_SLOT;
}

static void take_slot(struct live_array *array, uint32_t position)
{
    array->slots -= has_slot(array, position);
    no_longer_aside(array, position);
    array->members[position] = 0;
}

void array_joined(struct arrays *arrays, const struct job_row *row)
{
    uint32_t position;
    struct live_array *array = array_of(arrays, row, &position);
    if (array && job_state_holds(row->state))
        give_slot(array, position);
}

void array_left(struct arrays *arrays, const struct job_row *row)
{
    uint32_t position;
    struct live_array *array = array_of(arrays, row, &position);
    if (array)
        take_slot(array, position);
}

void array_moved(struct arrays *arrays, const struct job_row *row, enum job_state from)
{
    uint32_t position;
    struct live_array *array = array_of(arrays, row, &position);
    enum job_state to = row->state;
    if (!array)
        return;
    array->counts[from != JOB_NONE ? from : array_first_state(array)]--; /* NONE: as it came */
    array->counts[to]++;
    if (job_state_holds(to))
        give_slot(array, position);
    if (to != JOB_QUEUED)
        no_longer_aside(array, position);
    if (job_state_final(to) || to == JOB_SUSPENDED)
        take_slot(array, position);
    if (to == JOB_FAILED)
        array_record(arrays, array, &(struct array_event){ "member.failed", row });
    array_touch(arrays, array);
}

bool array_hold(struct arrays *arrays, const struct job_row *row)
{
    uint32_t position;
    struct live_array *array = array_of(arrays, row, &position);
    if (!array || array->spec->array.at_once == 0 || has_slot(array, position))
        return false;
    array->aside += !is_aside(array, position);
    array->members[position] |= WAITS_FOR;
    array->next = position < array->next ? position : array->next;
    array_touch(arrays, array);
    return true;
}

uint32_t array_bound(const struct arrays *arrays, const struct job_row *row)
{
    uint32_t position;
    const struct live_array *array = array_of(arrays, row, &position);
    return array && is_aside(array, position) ? array->spec->array.at_once : 0;
}

/* ---- what follows ---- */

static void give_slots(struct arrays *arrays, struct live_array *array)
{
    const struct arrays_core *core = &arrays->config.core;
    uint32_t most = array->spec->array.at_once;
    while (!array_is_held(array) && array->aside && array->slots < most &&
           array->next < array->row.members) {
        uint32_t position = array->next++;
        if (!is_aside(array, position))
            continue;
        no_longer_aside(array, position);
        give_slot(array, position);
        core->join(core->arg, array->row.id + 1 + position);
    }
}

static const char *type_of(enum job_state state)
{
    switch (state) {
    case JOB_RUNNING: return "started";
    case JOB_SUSPENDED: return "paused";
    case JOB_QUEUED: return "resumed";
    default: return job_state_word(state);
    }
}

static bool settle(struct arrays *arrays, struct live_array *array)
{
    const struct arrays_core *core = &arrays->config.core;
    enum job_state now = job_array_state(array->counts);
    give_slots(arrays, array);
    if (now == array->row.state)
        return false;
    array->row.state = now;
    if (now == JOB_RUNNING && !array->row.started_ms)
        array->row.started_ms = core->date(core->arg);
    if (job_state_final(now)) {
        uint64_t keep = array->spec->limits.keep_ms.has ? array->spec->limits.keep_ms.value
                                                        : arrays->config.keep_ms;
        array->row.ended_ms = core->date(core->arg);
        store_set_keep(arrays->config.store, array->row.id, keep ? core->now(core->arg) + keep : 0,
                       NULL);
    }
    array_record(arrays, array, &(struct array_event){ .type = type_of(now) });
    if (job_state_final(now))
        core->ended(core->arg, array->row.id);
    return true;
}

bool arrays_settle(struct arrays *arrays)
{
    bool any = false;
    for (size_t i = 0; i < arrays->touched.n; i++) {
        struct live_array *array = array_find(arrays, arrays->touched.at[i]);
        if (array)
            any |= settle(arrays, array);
    }
    return any;
}

void arrays_committed(struct arrays *arrays)
{
    for (size_t i = 0; i < arrays->touched.n; i++) {
        struct live_array *array = array_find(arrays, arrays->touched.at[i]);
        if (!array)
            continue;
        array->touched = false;
        if (job_state_final(array->row.state))
            drop(arrays, array);
    }
    vec_clear(&arrays->touched);
}

/* As the row has them; what members are written from does not change. */
static void restore_notes(struct arrays *arrays, struct live_array *array, struct arena *arena,
                          const char *live)
{
    struct array_progress *notes = &array->notes, stored;
    array_progress_read(arena, live, &stored);
    stored.live = notes->live;
    stored.text = notes->text;
    stored.by =
        strcmp(stored.by, notes->by) == 0 ? notes->by : arena_strdup(array->arena, stored.by);
    *notes = stored;
    array_put_off(arrays, array);
}

/* What is touched stays so: slots are given anew at the next settling. */
void arrays_undone(struct arrays *arrays)
{
    struct arena *arena = arena_create();
    for (size_t i = 0; i < arrays->touched.n; i++) {
        struct live_array *array = array_find(arrays, arrays->touched.at[i]);
        struct job_row row;
        if (!array)
            continue;
        if (read_row(arrays, arena, array->row.id, &row)) { /* it was submitted in this turn */
            drop(arrays, array);
            continue;
        }
        array->row.state = row.state;
        array->row.started_ms = row.started_ms;
        array->row.ended_ms = row.ended_ms;
        array->row.reason = sentence_copy(array->arena, &row.reason);
        restore_notes(arrays, array, arena, row.live);
        count_members(arrays, array);
    }
    arena_destroy(arena);
}

/* ---- unfinished ones ---- */

void array_put_off(struct arrays *arrays, struct live_array *array)
{
    if (array->unfinished || (!array->notes.left && !array->notes.commanded))
        return;
    array->unfinished = true;
    vec_push(&arrays->unfinished, array->row.id);
}

size_t arrays_unfinished(const struct arrays *arrays)
{
    return arrays->unfinished.n;
}

struct live_array *arrays_unfinished_at(const struct arrays *arrays, size_t i)
{
    return array_find(arrays, arrays->unfinished.at[i]);
}

struct live_array *arrays_take_unfinished(struct arrays *arrays)
{
    struct live_array *array = arrays_unfinished_at(arrays, 0);
    vec_remove(&arrays->unfinished, 0);
    if (array)
        array->unfinished = false;
    return array;
}

/* ---- reading ---- */

uint64_t array_number(const struct job_row *row)
{
    return row->array ? row->number - (row->id - row->array) : 0;
}

void array_counts(const struct arrays *arrays, const struct job_row *row,
                  uint32_t counts[JOB_STATE_N])
{
    const struct live_array *array = array_find(arrays, row->id);
    struct job_counts stored = { 0 };
    if (!array)
        store_member_counts(arrays->config.store, row, &stored, NULL);
    for (int state = JOB_NONE; state < JOB_STATE_N; state++)
        counts[state] = array ? array->counts[state] : (uint32_t)stored.by_state[state];
}
