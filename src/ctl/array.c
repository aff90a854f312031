/* An array is a row and, while members live, an entry here; its members are jobs like others. What
 * it keeps is counted as they change state, so that neither a slot nor its own state needs a walk
 * over them. */
#include "ctl/array.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "ctl/after.h"
#include "store/find.h"

#include <stdio.h>
#include <string.h>

struct arrays {
    struct map *by_id;
    VEC(uint64_t) touched; /* in the open transaction */
};

struct arrays *arrays_create(void)
{
    struct arrays *arrays = mem_new(sizeof *arrays);
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
    free(arrays);
}

struct live_array *array_find(const struct ctl *ctl, uint64_t id)
{
    return id ? map_get(ctl->arrays->by_id, id) : NULL;
}

struct live_array *array_named(const struct ctl *ctl, const char *name)
{
    size_t cursor = 0;
    uint64_t id;
    void *value;
    struct live_array *newest = NULL;
    while (map_next(ctl->arrays->by_id, &cursor, &id, &value)) {
        struct live_array *array = value;
        if (strcmp(array->row.name, name) == 0 && (!newest || id > newest->row.id))
            newest = array;
    }
    return newest;
}

void array_touch(struct ctl *ctl, struct live_array *array)
{
    if (array->touched)
        return;
    array->touched = true;
    vec_push(&ctl->arrays->touched, array->row.id);
}

static void count_members(struct ctl *ctl, struct live_array *array)
{
    struct job_counts counts = { 0 };
    if (members_written(array))
        store_member_counts(ctl->config.store, &array->row, &counts, NULL);
    for (int state = JOB_NONE; state < JOB_STATE_N; state++)
        array->counts[state] = (uint32_t)counts.by_state[state];
    array->counts[members_first_state(array)] += array->notes.left;
}

/* What its row keeps of what is still to be done for its members. */
static void read_notes(struct ctl *ctl, struct live_array *array, const char *live)
{
    struct arena *scratch = arena_create();
    notes_read_array(array->arena, live, &array->notes);
    notes_read_job(array->arena, scratch, array->notes.live, &array->first);
    members_later(ctl, array);
    arena_destroy(scratch);
}

static void drop(struct ctl *ctl, struct live_array *array)
{
    map_remove(ctl->arrays->by_id, array->row.id);
    array_free(array);
}

struct live_array *array_open(struct ctl *ctl, const struct job_row *row)
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
    if (core_row(ctl, scratch, row->id, &stored) == 0) {
        array->spec = core_decode(array->arena, stored.spec);
        read_notes(ctl, array, stored.live);
    }
    arena_destroy(scratch);
    map_set(ctl->arrays->by_id, row->id, array);
    if (!array->spec || array->spec->array.count != row->members ||
        array->notes.left > row->members) {
        log_error("array.unreadable", "job=%llu", (unsigned long long)row->number);
        drop(ctl, array);
        return NULL;
    }
    count_members(ctl, array);
    return array;
}

void array_record(struct ctl *ctl, struct live_array *array, const char *type,
                  const struct sentence *said, struct text_node *body)
{
    array_touch(ctl, array);
    array->row.live = notes_of_array(ctl->scratch, &array->notes);
    if (type)
        event_array(ctl, &array->row, type, said, body);
    else
        store_update_job(ctl->config.store, &array->row, NULL);
    array->row.live = NULL;
}

/* ---- members ---- */

static void give_slot(struct live_array *array, struct live_job *job)
{
    array->slots += !job->slot;
    job->slot = true;
}

static void take_slot(struct live_array *array, struct live_job *job)
{
    array->slots -= job->slot;
    array->aside -= job->aside;
    job->slot = job->aside = false;
}

void array_joined(struct ctl *ctl, struct live_job *job)
{
    struct live_array *array = array_find(ctl, job->row.array);
    if (array && job_state_holds(job->row.state))
        give_slot(array, job);
}

void array_left(struct ctl *ctl, struct live_job *job)
{
    struct live_array *array = array_find(ctl, job->row.array);
    if (array)
        take_slot(array, job);
}

/* The first failure is what is told of the array at its end. */
static void note_failure(struct ctl *ctl, struct live_array *array, const struct live_job *job)
{
    struct draft why;
    draft_init(&why);
    draft_add(&why, "[%u] ", job->row.index);
    draft_sentence(&why, &job->row.reason);
    const struct sentence said = draft_said(&why);
    if (!*array->row.reason.text)
        array->row.reason = sentence_copy(array->arena, &said);
    array_record(ctl, array, "member.failed", &said, NULL);
}

void array_moved(struct ctl *ctl, struct live_job *job, enum job_state from)
{
    struct live_array *array = array_find(ctl, job->row.array);
    enum job_state to = job->row.state;
    if (!array)
        return;
    array->counts[from != JOB_NONE ? from : members_first_state(array)]--; /* NONE: as it came */
    array->counts[to]++;
    if (job_state_holds(to))
        give_slot(array, job);
    if (job->aside && to != JOB_QUEUED) {
        job->aside = false;
        array->aside--;
    }
    if (job_state_final(to) || to == JOB_SUSPENDED)
        take_slot(array, job);
    if (to == JOB_FAILED)
        note_failure(ctl, array, job);
    array_touch(ctl, array);
}

static uint32_t position_of(const struct live_array *array, const struct live_job *job)
{
    return (uint32_t)(job->row.id - array->row.id - 1);
}

bool array_hold(struct ctl *ctl, struct live_job *job)
{
    struct live_array *array = array_find(ctl, job->row.array);
    if (!array || array->spec->array.at_once == 0 || job->slot)
        return false;
    uint32_t position = position_of(array, job);
    array->aside += !job->aside;
    job->aside = true;
    array->next = position < array->next ? position : array->next;
    array_touch(ctl, array);
    return true;
}

/* ---- what follows ---- */

static void give_slots(struct ctl *ctl, struct live_array *array)
{
    uint32_t most = array->spec->array.at_once;
    while (!members_are_held(array) && array->aside && array->slots < most &&
           array->next < array->row.members) {
        struct live_job *job = live_find(ctl->live, array->row.id + 1 + array->next++);
        if (!job || !job->aside)
            continue;
        job->aside = false;
        array->aside--;
        give_slot(array, job);
        planning_join(ctl, job);
    }
}

static void say_end(const struct live_array *array, struct draft *why)
{
    char counts[JOB_ARRAY_TEXT];
    draft_init(why);
    draft_add(why, "%s", job_array_counts(counts, array->counts));
    if (array->row.state != JOB_FAILED || !*array->row.reason.text)
        return;
    draft_add(why, "; first ");
    draft_sentence(why, &array->row.reason);
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

static bool settle(struct ctl *ctl, struct live_array *array)
{
    struct draft why;
    enum job_state now = job_array_state(array->counts);
    give_slots(ctl, array);
    if (now == array->row.state)
        return false;
    array->row.state = now;
    if (now == JOB_RUNNING && !array->row.started_ms)
        array->row.started_ms = core_date(ctl);
    if (job_state_final(now)) {
        uint64_t keep = array->spec->limits.keep_ms.has ? array->spec->limits.keep_ms.value
                                                        : ctl->config.keep_ms;
        array->row.ended_ms = core_date(ctl);
        store_set_keep(ctl->config.store, array->row.id, keep ? core_now(ctl) + keep : 0, NULL);
    }
    say_end(array, &why);
    const struct sentence said = draft_said(&why);
    if (job_state_final(now))
        array->row.reason = sentence_copy(array->arena, &said);
    array_record(ctl, array, type_of(now), &said, NULL);
    if (job_state_final(now))
        after_ended(ctl, array->row.id);
    return true;
}

bool arrays_settle(struct ctl *ctl)
{
    bool any = false;
    for (size_t i = 0; i < ctl->arrays->touched.n; i++) {
        struct live_array *array = array_find(ctl, ctl->arrays->touched.at[i]);
        if (array)
            any |= settle(ctl, array);
    }
    return any;
}

void arrays_committed(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->arrays->touched.n; i++) {
        struct live_array *array = array_find(ctl, ctl->arrays->touched.at[i]);
        if (!array)
            continue;
        array->touched = false;
        if (job_state_final(array->row.state))
            drop(ctl, array);
    }
    vec_clear(&ctl->arrays->touched);
}

/* As the row has them; what members are written from does not change. */
static void restore_notes(struct ctl *ctl, struct live_array *array, struct arena *arena,
                          const char *live)
{
    struct array_notes *notes = &array->notes, stored;
    notes_read_array(arena, live, &stored);
    stored.live = notes->live;
    stored.text = notes->text;
    stored.by =
        strcmp(stored.by, notes->by) == 0 ? notes->by : arena_strdup(array->arena, stored.by);
    *notes = stored;
    members_later(ctl, array);
}

/* What is touched stays so: slots are given anew at the next settling. */
void arrays_undone(struct ctl *ctl)
{
    struct arena *arena = arena_create();
    for (size_t i = 0; i < ctl->arrays->touched.n; i++) {
        struct live_array *array = array_find(ctl, ctl->arrays->touched.at[i]);
        struct job_row row;
        if (!array)
            continue;
        if (core_row(ctl, arena, array->row.id, &row)) { /* it was submitted in this turn */
            drop(ctl, array);
            continue;
        }
        array->row.state = row.state;
        array->row.started_ms = row.started_ms;
        array->row.ended_ms = row.ended_ms;
        array->row.reason = sentence_copy(array->arena, &row.reason);
        restore_notes(ctl, array, arena, row.live);
        count_members(ctl, array);
    }
    arena_destroy(arena);
}

/* ---- reading ---- */

uint64_t array_number(const struct job_row *row)
{
    return row->array ? row->number - (row->id - row->array) : 0;
}

int array_refuse(const struct job_row *row, struct err *err)
{
    if (!row->members)
        return 0;
    err_set(err, ERR_CONFLICT, "%llu is an array of %u jobs", (unsigned long long)row->number,
            row->members);
    return err_hint(err, "name one of them by its index: %llu[3]", (unsigned long long)row->number);
}

void array_counts(struct ctl *ctl, const struct job_row *row, uint32_t counts[JOB_STATE_N])
{
    const struct live_array *array = array_find(ctl, row->id);
    struct job_counts stored = { 0 };
    if (!array)
        store_member_counts(ctl->config.store, row, &stored, NULL);
    for (int state = JOB_NONE; state < JOB_STATE_N; state++)
        counts[state] = array ? array->counts[state] : (uint32_t)stored.by_state[state];
}
